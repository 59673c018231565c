// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file region.hpp  A part of a computation that keeps its inputs instead of the tensors that autograd saves, which
/// are made again when backward needs them.
#include <cairn/language.hpp>  // first: an older language gets its message
#include <cstddef>
#include <initializer_list>
#include <optional>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>
#include <ATen/core/Tensor.h>
#include <ATen/core/grad_mode.h>
#include <torch/arg.h>
#include <torch/csrc/jit/frontend/tracer.h>
#include <torch/nn/module.h>
#include <cairn/adapt/torch/checkpoint/checkpoint_policy.hpp>
#include <cairn/adapt/torch/checkpoint/detail/region_call.hpp>
#include <cairn/adapt/torch/record/detail/call_record.hpp>
#include <cairn/adapt/torch/record/detail/record_scope.hpp>
#include <cairn/adapt/torch/state/tensor_state.hpp>
#include <cairn/door/detail/refused.hpp>

namespace cairn::libtorch {

/// Options of a region.
struct CheckpointOptions {
  /// Whether each saved tensor that is made again is compared with what it was, by a sum of 64 bits. For the first runs
  /// of a program.
  TORCH_ARG(bool, verify) = false;
  /// Whether tensors that were made again and that a backward pass has not used stay for the next pass, instead of
  /// being freed when the pass ends.
  TORCH_ARG(bool, keep_leftovers) = false;
  /// Which operators' results are held; by default none.
  TORCH_ARG(checkpoint_policy, policy) = {};

 public:
  /// Names of the parts that `cairn::libtorch::keep(name, f)` keeps; `*` matches any characters. By default all are
  /// kept.
  CheckpointOptions& kept_names(std::vector<std::string> names) {
    kept_names_ = std::move(names);
    return *this;
  }
  /// The names, if they were set.
  [[nodiscard]] std::optional<std::vector<std::string>> const& kept_names() const noexcept { return kept_names_; }

 private:
  std::optional<std::vector<std::string>> kept_names_;
};

namespace detail {

/// Whether the last of the arguments after the function is the options.
template <class... Arguments>
inline constexpr bool ends_in_options =
    std::is_same_v<std::tuple_element_t<sizeof...(Arguments) - 1, std::tuple<Arguments...>>, CheckpointOptions>;

/// The arguments before the options.
template <class... Arguments>
[[nodiscard]] auto all_but_last(std::tuple<Arguments const&...> const& all) {
  return [&]<std::size_t... Places>(std::index_sequence<Places...>) {
    return std::tie(std::get<Places>(all)...);
  }(std::make_index_sequence<sizeof...(Arguments) - 1>{});
}

template <class T>
void append_input(T const& argument, tensor_list& inputs) {
  if constexpr (tensor_state<T>) append_tensors(argument, inputs);
}

template <class Fn, class... Arguments>
auto run_region(Fn f, CheckpointOptions const& options, std::tuple<Arguments const&...> const& arguments) {
  constexpr bool is_function = !std::is_base_of_v<torch::nn::Module, Fn>;
  static_assert(is_function,
                "cairn: the function is a module itself, which would be copied; give its holder, such as "
                "torch::nn::Linear, or a std::shared_ptr to it");
  if constexpr (!is_function) return cairn::detail::refuse<refused_region<Fn, Arguments...>>();
  else {
    constexpr bool is_called = is_unpacked<Fn, Arguments...> || calls_with<Fn, Arguments...>;
    static_assert(is_called,
                  "cairn: the function must be callable with its inputs, or with the elements of a tuple of inputs");
    if constexpr (!is_called) return cairn::detail::refuse<refused_region<Fn, Arguments...>>();
    else {
      auto const call = [&] {
        return std::apply([&](auto const&... one) { return call_region(f, one...); }, arguments);
      };
      if (!at::GradMode::is_enabled() || torch::jit::tracer::isTracing()) return call();
      tensor_list inputs;
      std::apply([&](auto const&... one) { (append_input(one, inputs), ...); }, arguments);
      call_record::rules const rules{options.policy() ? &options.policy() : nullptr, &options.kept_names(),
                                     options.verify()};
      region_scope const region{rules, options.keep_leftovers(), inputs};
      return call();
    }
  }
}

}  // namespace detail

/// Calls `f(inputs...)`, and holds its inputs instead of what autograd saves in it. When backward first needs a saved
/// tensor, it is made again from the operators that f ran, with all that the region still wants; f itself runs once.
/// Regions nest, and retain_graph, autograd::grad and double backward work as without a region. Gradients have the
/// same bits, random numbers and changes in place included. Without grad mode it is the plain call.
/// \param f  a function, or a module: a holder such as `torch::nn::Linear`, a Sequential, a std::shared_ptr to a
///   module, an AnyModule
/// \param first, more  f's arguments, of any types. A single tuple, pair or array is taken apart if f takes its
///   elements. Tensors may be undefined. A last argument of type `CheckpointOptions` is for the region, not for f
/// \returns the result of f
/// \throws invalid_call   under an engine that is not LibTorch's own; and in backward, if what is made again needs an
///   input or a parameter that was changed in place after the region
template <class Fn, class First, class... More>
auto checkpoint(Fn f, First const& first, More const&... more) {
  auto const all = std::tie(first, more...);
  if constexpr (sizeof...(More) == 0 || !detail::ends_in_options<First, More...>)
    return detail::run_region(std::move(f), CheckpointOptions{}, all);
  else
    return detail::run_region(std::move(f), std::get<sizeof...(More)>(all), detail::all_but_last(all));
}
/// The same for `{x, z}`: f takes a std::vector.
template <class Fn>
auto checkpoint(Fn f, std::initializer_list<at::Tensor> inputs, CheckpointOptions const& options = {}) {
  return checkpoint(std::move(f), tensor_list(inputs), options);
}

}  // namespace cairn::libtorch
