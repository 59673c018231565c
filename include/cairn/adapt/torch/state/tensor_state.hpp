// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file tensor_state.hpp  States made of tensors: how they are taken apart into a list, and rebuilt from it.
#include <array>
#include <concepts>
#include <cstddef>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>
#include <ATen/core/Tensor.h>
#include <torch/ordered_dict.h>

namespace cairn::libtorch {

/// The tensors of a state, in order, including undefined ones.
using tensor_list = std::vector<at::Tensor>;

/// Returns the tensors from which a state is rebuilt, in the order in which it was taken apart.
class tensor_reader {
 public:
  /// \param parts  must outlive the reader
  explicit tensor_reader(at::TensorList parts) : parts_{parts} {}
  /// The next tensor.   \pre there is one
  [[nodiscard]] at::Tensor const& next() { return parts_[next_++]; }

 private:
  at::TensorList parts_;
  std::size_t next_ = 0;
};

/// Specialise it for your own state type: `static void flatten(State const& x, tensor_list& parts)` appends the tensors
/// of x, and `static State unflatten(State const& like, tensor_reader& from)` makes a state from the next ones;
/// everything that is not a tensor is as in `like`, the initial state. `append_tensors` and `read_tensors` do the same
/// for a part. An optional `static bool same_structure(State const&, State const&)` returns whether two states have the
/// same parts.
template <class State>
struct tensor_traits {};

/// The state of a `checkpointed_loop`: a tensor, or tuples, pairs, arrays, vectors, optionals and ordered dictionaries
/// of states, nested in any way, or a type with `tensor_traits`.
template <class State>
concept tensor_state = requires(State const& x, tensor_list& parts, tensor_reader& from) {
  tensor_traits<State>::flatten(x, parts);
  { tensor_traits<State>::unflatten(x, from) } -> std::same_as<State>;
};

/// Appends the tensors of a state, or of a part of one, to a list.
template <tensor_state State>
void append_tensors(State const& x, tensor_list& parts) { tensor_traits<State>::flatten(x, parts); }
/// A state like `like`, made from the next tensors.
template <tensor_state State>
[[nodiscard]] State read_tensors(State const& like, tensor_reader& from) {
  return tensor_traits<State>::unflatten(like, from);
}

namespace detail {

template <class State>
[[nodiscard]] bool same_structure(State const& x, State const& y) {
  if constexpr (requires {
                  { tensor_traits<State>::same_structure(x, y) } -> std::convertible_to<bool>;
                })
    return tensor_traits<State>::same_structure(x, y);
  else return true;
}

/// For types that `std::get` takes apart.
template <class Tuple>
struct tuple_tensor_traits {
  static constexpr auto places = std::make_index_sequence<std::tuple_size_v<Tuple>>{};
  static void flatten(Tuple const& x, tensor_list& parts) {
    std::apply([&](auto const&... part) { (append_tensors(part, parts), ...); }, x);
  }
  static Tuple unflatten(Tuple const& like, tensor_reader& from) {
    // Braces evaluate from left to right.
    return std::apply([&](auto const&... part) { return Tuple{read_tensors(part, from)...}; }, like);
  }
  static bool same_structure(Tuple const& x, Tuple const& y) {
    return [&]<std::size_t... Place>(std::index_sequence<Place...>) {
      return (detail::same_structure(std::get<Place>(x), std::get<Place>(y)) && ...);
    }
    (places);
  }
};

}  // namespace detail

/// One tensor.
template <>
struct tensor_traits<at::Tensor> {
  static void flatten(at::Tensor const& x, tensor_list& parts) { parts.push_back(x); }  ///< appends the tensor
  static at::Tensor unflatten(at::Tensor const&, tensor_reader& from) { return from.next(); }  ///< the next tensor
};
/// A tuple of states.
template <tensor_state... Part>
struct tensor_traits<std::tuple<Part...>> : detail::tuple_tensor_traits<std::tuple<Part...>> {};
/// A pair of states.
template <tensor_state First, tensor_state Second>
struct tensor_traits<std::pair<First, Second>> : detail::tuple_tensor_traits<std::pair<First, Second>> {};
/// An array of states.
template <tensor_state Part, std::size_t Count>
struct tensor_traits<std::array<Part, Count>> : detail::tuple_tensor_traits<std::array<Part, Count>> {};
/// A vector of states, of the same length in each step.
template <tensor_state Part>
struct tensor_traits<std::vector<Part>> {
  static void flatten(std::vector<Part> const& x, tensor_list& parts) {  ///< appends the tensors of each
    for (auto const& part : x) append_tensors(part, parts);
  }
  /// As many elements as in `like`.
  static std::vector<Part> unflatten(std::vector<Part> const& like, tensor_reader& from) {
    std::vector<Part> x;
    x.reserve(like.size());
    for (auto const& part : like) x.push_back(read_tensors(part, from));
    return x;
  }
  /// Whether both have the same length and the same structure.
  static bool same_structure(std::vector<Part> const& x, std::vector<Part> const& y) {
    bool same = x.size() == y.size();
    for (std::size_t k = 0; same && k < x.size(); ++k) same = detail::same_structure(x[k], y[k]);
    return same;
  }
};
namespace detail {

/// std::optional, or c10's in LibTorch 1, which has its own.
template <class T>
concept optional_value = requires(T const& x) {
  typename T::value_type;
  { x.has_value() } -> std::same_as<bool>;
  { x.value() } -> std::same_as<typename T::value_type const&>;
} && std::is_default_constructible_v<T>;

}  // namespace detail

/// A state that may be absent, either in every step or in none.
template <detail::optional_value Optional>
  requires tensor_state<typename Optional::value_type>
struct tensor_traits<Optional> {
  static void flatten(Optional const& x, tensor_list& parts) {  ///< appends its tensors if it has a value
    if (x.has_value()) append_tensors(x.value(), parts);
  }
  static Optional unflatten(Optional const& like, tensor_reader& from) {  ///< has a value if `like` has
    if (!like.has_value()) return {};
    return Optional{read_tensors(like.value(), from)};
  }
  static bool same_structure(Optional const& x, Optional const& y) {  ///< whether both have a value and the same
                                                                      ///< structure, or neither has a value
    return x.has_value() == y.has_value() && (!x.has_value() || detail::same_structure(x.value(), y.value()));
  }
};
/// An ordered dictionary of states, with the same keys in the same order in each step.
template <class Key, tensor_state Part>
struct tensor_traits<torch::OrderedDict<Key, Part>> {
  using dictionary = torch::OrderedDict<Key, Part>;  ///< the state
  static void flatten(dictionary const& x, tensor_list& parts) {  ///< appends the tensors of each value
    for (auto const& item : x) append_tensors(item.value(), parts);
  }
  static dictionary unflatten(dictionary const& like, tensor_reader& from) {  ///< with the keys of `like`
    dictionary x;
    for (auto const& item : like) x.insert(item.key(), read_tensors(item.value(), from));
    return x;
  }
  /// Whether they have the same keys in the same order.
  static bool same_structure(dictionary const& x, dictionary const& y) {
    bool same = x.size() == y.size();
    for (std::size_t k = 0; same && k < x.size(); ++k)
      same = x[k].key() == y[k].key() && detail::same_structure(x[k].value(), y[k].value());
    return same;
  }
};

namespace detail {

template <tensor_state State>
[[nodiscard]] tensor_list tensors_of(State const& x) {
  tensor_list parts;
  append_tensors(x, parts);
  return parts;
}
template <tensor_state State>
[[nodiscard]] State state_of(State const& like, at::TensorList parts) {
  tensor_reader from{parts};
  return read_tensors(like, from);
}

/// A state that shares only its tensors with x, even if a copy of x would share more.
template <tensor_state State>
[[nodiscard]] State own_state(State const& x) { return state_of(x, tensors_of(x)); }

/// The first place of the tensor at `place` in the list.
[[nodiscard]] inline std::size_t first_place(at::TensorList parts, std::size_t place) {
  std::size_t first = 0;
  while (!parts[first].is_same(parts[place])) ++first;
  return first;
}
/// The same values without history. Equal tensors become one tensor again: its gradients are then summed as in a plain
/// loop.
[[nodiscard]] inline tensor_list detached(at::TensorList parts) {
  tensor_list plain;
  plain.reserve(parts.size());
  for (std::size_t k = 0; k < parts.size(); ++k) {
    auto const first = first_place(parts, k);
    plain.push_back(first < k ? plain[first] : parts[k].defined() ? parts[k].detach() : at::Tensor{});
  }
  return plain;
}

/// The device of the first defined part; the CPU without one.
[[nodiscard]] inline c10::Device device_of(at::TensorList parts) {
  for (auto const& part : parts) if (part.defined()) return part.device();
  return c10::Device(c10::kCPU);
}
/// Waits until a device has computed these tensors.
inline void wait_for(at::TensorList parts) {
  for (auto const& part : parts)
    if (part.defined() && !part.is_cpu() && part.numel() > 0) return (void)part.detach().as_strided({1}, {1}).cpu();
}
/// Which tensors require a gradient.
using part_flags = std::vector<bool>;
[[nodiscard]] inline part_flags require_gradients(at::TensorList parts) {
  part_flags flags;
  for (auto const& part : parts) flags.push_back(part.defined() && part.requires_grad());
  return flags;
}

}  // namespace detail
}  // namespace cairn::libtorch
