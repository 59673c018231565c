// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file region.hpp  A part of a computation that keeps its inputs instead of the tensors that autograd saves, which
/// are made again when backward needs them; and parts of it that are held all the same.
#include <cairn/language.hpp>  // first: an older language gets its message
#include <concepts>
#include <cstddef>
#include <functional>
#include <initializer_list>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>
#include <ATen/core/Tensor.h>
#include <ATen/core/grad_mode.h>
#include <torch/arg.h>
#include <torch/csrc/jit/frontend/tracer.h>
#include <torch/nn/module.h>
#include <torch/nn/modules/container/any.h>
#include <torch/nn/pimpl.h>
#include <cairn/adapt/torch/checkpoint/checkpoint_policy.hpp>
#include <cairn/adapt/torch/record/detail/call_contents.hpp>
#include <cairn/adapt/torch/record/detail/call_record.hpp>
#include <cairn/adapt/torch/record/detail/record_scope.hpp>
#include <cairn/adapt/torch/state/tensor_state.hpp>
#include <cairn/door/detail/refused.hpp>

namespace cairn::libtorch {

namespace detail {

/// A module whose forward is called: a holder such as `torch::nn::Linear`, or a std::shared_ptr to a module.
template <class Fn>
concept pointed_module = torch::detail::is_module_holder<Fn>::value || requires {
  requires std::same_as<Fn, std::shared_ptr<typename Fn::element_type>>;
  requires std::derived_from<typename Fn::element_type, torch::nn::Module>;
};
template <class Fn>
concept callable_module = pointed_module<Fn> || std::same_as<Fn, torch::nn::AnyModule>;

template <class Fn, class... Arguments>
concept calls_with = (pointed_module<Fn> &&
                      requires(Fn & f, Arguments const&... arguments) { f->forward(arguments...); }) ||
                     std::same_as<Fn, torch::nn::AnyModule> ||
                     (!callable_module<Fn> && std::is_invocable_v<Fn&, Arguments const&...>);
template <class Fn, class... Arguments>
decltype(auto) call_with(Fn& f, Arguments const&... arguments) {
  if constexpr (pointed_module<Fn>) return f->forward(arguments...);
  else if constexpr (callable_module<Fn>) return f.forward(arguments...);
  else return std::invoke(f, arguments...);
}
/// Whether f takes the elements of a tuple as separate arguments.
template <class Fn, class Tuple>
inline constexpr bool takes_elements = false;
template <class Fn, class Tuple>
  requires requires { std::tuple_size<Tuple>::value; }
inline constexpr bool takes_elements<Fn, Tuple> = []<std::size_t... Places>(std::index_sequence<Places...>) {
  return calls_with<Fn, std::tuple_element_t<Places, Tuple>...>;
}(std::make_index_sequence<std::tuple_size_v<Tuple>>{});
/// Whether a single tuple is taken apart: a function gets its elements if it takes them; a module gets the tuple if it
/// takes that.
template <class Fn, class... Arguments>
inline constexpr bool is_unpacked = false;
template <class Fn, class Tuple>
inline constexpr bool is_unpacked<Fn, Tuple> =
    takes_elements<Fn, Tuple> && !(callable_module<Fn> && calls_with<Fn, Tuple>);

template <class Fn, class... Arguments>
decltype(auto) call_region(Fn& f, Arguments const&... arguments) {
  if constexpr (is_unpacked<Fn, Arguments...>)
    return std::apply([&](auto const&... element) -> decltype(auto) { return call_with(f, element...); }, arguments...);
  else return call_with(f, arguments...);
}

template <class Result, class... Plan>
std::type_identity<Result> declared_result(Result (*)(Plan...));
template <class Result, class Of, class... Plan>
std::type_identity<Result> declared_result(Result (Of::*)(Plan...));
template <class Result, class Of, class... Plan>
std::type_identity<Result> declared_result(Result (Of::*)(Plan...) const);
/// The declared result of a function, or of a module's forward, independent of its arguments; void if it has more than
/// one signature.
template <class Fn>
struct result_said { using type = void; };
template <class Fn>
  requires requires(Fn f) { declared_result(f); }
struct result_said<Fn> : decltype(declared_result(std::declval<Fn>())) {};
template <class Fn>
  requires(!std::derived_from<Fn, torch::nn::Module> && !pointed_module<Fn> &&
           requires { declared_result(&Fn::operator()); })
struct result_said<Fn> : decltype(declared_result(&Fn::operator())) {};
template <class Fn>
  requires(std::derived_from<Fn, torch::nn::Module> && requires { declared_result(&Fn::forward); })
struct result_said<Fn> : decltype(declared_result(&Fn::forward)) {};
template <class Fn>
  requires(pointed_module<Fn> && requires(Fn& f) { typename result_said<std::remove_cvref_t<decltype(*f)>>::type; })
struct result_said<Fn> : result_said<std::remove_cvref_t<decltype(*std::declval<Fn&>())>> {};

/// The likely result type of a refused region: the declared result of f, or the type of the first argument with
/// tensors, or a tensor.
  template <class Fn, class... Arguments>
  using refused_region =
      typename cairn::detail::first_returned<std::remove_cvref_t<typename result_said<Fn>::type>,
                                             std::conditional_t<tensor_state<Arguments>, Arguments, void>...,
                                             at::Tensor>::type;

/// The result type of f, or the likely one if f is refused.
template <class Fn>
struct kept_call : result_said<std::decay_t<Fn>> {};
template <class Fn>
  requires std::is_invocable_v<Fn&>
struct kept_call<Fn> : std::invoke_result<Fn&> {};

/// During its lifetime, what operators of the region make is held.
class kept_part {
 public:
  explicit kept_part(call_record& of) : of_{of} { of_.in_force.in_kept_part = true; }
  kept_part(kept_part const&) = delete;
  kept_part& operator=(kept_part const&) = delete;
  ~kept_part() { of_.in_force.in_kept_part = false; }

 private:
  call_record& of_;
};

/// Calls the part that is to be kept.   \param name  null if it has none
template <class Fn>
auto keep_part(Fn&& f, std::string_view const* name = nullptr) {
  using result = std::remove_cvref_t<typename kept_call<Fn>::type>;
  constexpr bool is_called = std::is_invocable_v<Fn&>;
  static_assert(is_called,
                "cairn: keep takes a function without arguments that captures what it reads; a tensor has already been "
                "computed");
  constexpr bool is_state = tensor_state<result>;
  static_assert(!is_called || is_state,
                "cairn: what is kept must be a tensor, tuples, vectors or dictionaries of tensors, or a type with "
                "cairn::libtorch::tensor_traits");
  constexpr bool is_right = is_called && is_state;
  if constexpr (!is_right)
    return cairn::detail::refuse<typename cairn::detail::first_returned<result, at::Tensor>::type>();
  else {
    if (!at::GradMode::is_enabled()) return result(f());
    auto* const record = call_record::of_call();
    if (record == nullptr || !record->drops_parts()) return result(f());
    auto const& rules = record->in_force;
    bool const is_left_out = name != nullptr && rules.names != nullptr && !is_among(*rules.names, *name);
    if (rules.in_kept_part || is_left_out) return result(f());
    kept_part const part{*record};
    auto made = result(f());
    for (auto const& t : tensors_of(made)) record->keep(t);
    return made;
  }
}

}  // namespace detail

/// Calls `f()` inside a region or a block of an `HCModule`: its result, and what autograd saves in it, are held as in
/// the plain call, and not made again. Useful for the part that takes the most time and saves the least, such as a
/// product of large matrices. Elsewhere, and without grad mode, it is the plain call. A region around this one drops
/// them, and makes them again once for this one.
/// \param f  called without arguments; for its possible results see `tensor_state`
/// Cost: the bytes of the result and of what f saves
template <class Fn>
auto keep(Fn&& f) { return detail::keep_part(f); }
/// The same for a named part: it is kept if `CheckpointOptions::kept_names` of the region has the name or is not set;
/// otherwise it is a plain part of the function.
template <class Fn>
auto keep(std::string_view name, Fn&& f) { return detail::keep_part(f, &name); }

/// Says that something which is no operator has written to a tensor: a raw pointer, a kernel of another library. In a
/// region, and in a call within a limit or by blocks, what the tensor holds is held until backward, and not made again.
/// Call it after the write. Outside of such calls it does nothing.   \returns the tensor
inline at::Tensor pin(at::Tensor t) {
  if (auto* const record = detail::call_record::of_call(); record != nullptr) record->pin(t);
  return t;
}

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
  else return detail::run_region(std::move(f), std::get<sizeof...(More)>(all), detail::all_but_last(all));
}
/// The same for `{x, z}`: f takes a std::vector.
template <class Fn>
auto checkpoint(Fn f, std::initializer_list<at::Tensor> inputs, CheckpointOptions const& options = {}) {
  return checkpoint(std::move(f), tensor_list(inputs), options);
}

}  // namespace cairn::libtorch
