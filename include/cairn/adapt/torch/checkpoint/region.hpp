// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file region.hpp  A part of a computation that keeps its inputs instead of the tensors that autograd saves, and runs
/// again when backward needs these tensors.
#include <cstddef>
#include <initializer_list>
#include <memory>
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
#include <cairn/adapt/torch/checkpoint/checkpoint_guards.hpp>
#include <cairn/adapt/torch/checkpoint/checkpoint_policy.hpp>
#include <cairn/adapt/torch/checkpoint/detail/region_call.hpp>
#include <cairn/adapt/torch/checkpoint/detail/region_frame.hpp>
#include <cairn/adapt/torch/checkpoint/detail/saved_hooks.hpp>
#include <cairn/adapt/torch/state/determinism.hpp>
#include <cairn/adapt/torch/state/rng.hpp>
#include <cairn/adapt/torch/state/tensor_state.hpp>
#include <cairn/door/detail/refused.hpp>

namespace cairn::libtorch {

/// Options of a region.
struct CheckpointOptions {
  /// Whether recomputation ends with the last tensor that backward needs. Later side effects of the function then
  /// happen only once.
  TORCH_ARG(bool, early_stop) = true;
  /// Whether the recomputation draws the same random numbers.
  TORCH_ARG(Rng, rng) = Rng::Preserve;
  /// How closely the tensors saved by the recomputation are compared with the first ones.
  TORCH_ARG(Check, determinism) = Check::Metadata;
  /// Whether the error for a differing recomputation lists the operations of both runs; each operation then takes some
  /// microseconds more.
  TORCH_ARG(bool, debug) = false;
  /// Whether recomputed tensors that a backward pass has not used stay for the next pass, instead of being freed when
  /// the pass ends.
  TORCH_ARG(bool, keep_leftovers) = false;
  /// Tensors that the function changes other than by operators in its own thread. What operators change, such as
  /// running means, is found without being named. Recomputation begins with it as it was, and leaves it as it is.
  TORCH_ARG(std::vector<at::Tensor>, buffers) = {};
  /// Which operators keep their results for the recomputation; by default none.
  TORCH_ARG(checkpoint_policy, policy) = {};

 public:
  /// Adds all buffers of a module to `buffers`.
  CheckpointOptions& module(torch::nn::Module const& of) { return buffers(of.buffers()); }
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

inline constexpr char const* region_name = "cairn::libtorch::checkpoint";

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

template <class Fn, class... Arguments>
auto run_region(Fn f, CheckpointOptions const& options, std::tuple<Arguments const&...> const& arguments) {
  constexpr bool is_function = !std::is_base_of_v<torch::nn::Module, Fn>;
  static_assert(is_function,
                "cairn: the function is a module itself, which would be copied; give its holder, such as "
                "torch::nn::Linear, or a std::shared_ptr to it");
  constexpr bool are_inputs = (region_argument<Arguments> && ...);
  static_assert(!is_function || are_inputs,
                "cairn: the inputs must be tensors, tuples, vectors, dictionaries or optionals of tensors, types with "
                "cairn::libtorch::tensor_traits, or scalars; let the function capture what else it needs");
  if constexpr (!is_function || !are_inputs) return cairn::detail::refuse<refused_region<Fn, Arguments...>>();
  else {
    constexpr bool is_called = is_unpacked<Fn, Arguments...> || calls_with<Fn, Arguments...>;
    static_assert(is_called,
                  "cairn: the function must be callable with its inputs, or with the elements of a tuple of inputs");
    if constexpr (!is_called) return cairn::detail::refuse<refused_region<Fn, Arguments...>>();
    else {
      auto const call = [&](Fn& function) {
        return std::apply([&](auto const&... one) { return call_region(function, one...); }, arguments);
      };
      if (!at::GradMode::is_enabled() || torch::jit::tracer::isTracing()) return call(f);
      need_saved_hooks(region_name);
      tensor_list parts;
      std::apply([&](auto const&... one) { (append_argument(one, parts), ...); }, arguments);
      std::tuple<Arguments...> const all{arguments};
      // If the function can be copied, each recomputation starts with its original by-value captures.
      constexpr bool copies = std::is_copy_constructible_v<Fn>;
      std::shared_ptr<Fn> held;
      if constexpr (copies) held = std::make_shared<Fn>(f);
      else held = std::make_shared<Fn>(std::move(f));
      auto again = [held, like = read_arguments(all, tensor_list(parts.size()))](tensor_list const& leaves) {
        auto const run = [&](Fn& once) {
          std::apply([&](auto const&... one) { (void)call_region(once, one...); }, read_arguments(like, leaves));
        };
        if constexpr (copies) {
          auto once = *held;
          run(once);
        } else {
          run(*held);
        }
      };
      auto const frame = std::make_shared<region_frame>(
          std::move(again), parts,
          region_frame::settings{options.early_stop(), options.rng(), options.determinism(), options.buffers(),
                                 buffers_of_function(f), region_name, options.debug(), options.keep_leftovers(),
                                 options.kept_names(), options.policy()});
      region_frame::first_run first{frame, parts};
      auto& function = [&]() -> Fn& {
        if constexpr (copies) return f;
        else return *held;
      }();
      if constexpr (std::is_void_v<decltype(call(function))>) {
        call(function);
        first.check();
      } else {
        auto result = call(function);
        first.check();
        return result;
      }
    }
  }
}

}  // namespace detail

/// Calls `f(inputs...)` and keeps only its inputs, not what autograd saves in it. Backward runs f again when it first
/// needs a saved tensor, with the generators and automatic casts of the first run. Regions nest, and retain_graph,
/// autograd::grad and double backward work as without a region. Gradients have the same bits. Captures of f by
/// reference behave as in the plain call. Without grad mode it is the plain call.
/// \param f  a function of its inputs alone, or a module: a holder such as `torch::nn::Linear`, a Sequential, a
///   std::shared_ptr to a module, an AnyModule. It must not catch exceptions that it does not know. It is copied, or
///   moved if it cannot be copied. What it changes outside itself, such as running means, changes once
/// \param first, more  f's arguments: each a `tensor_state`, such as a tensor or an optional tensor, or a number,
///   enumerator, string, at::Scalar or at::Device. A single tuple, pair or array is taken apart if f takes its
///   elements. Tensors may be undefined. A type with your own `tensor_traits` is rebuilt from a `like` with undefined
///   tensors. A last argument of type `CheckpointOptions` is for the region, not for f
/// \returns the result of f
/// \throws invalid_call   under an engine that is not LibTorch's own; if f drew random numbers while another thread ran
///   a region or a loop that preserves them; and in backward, also if an input, a parameter or a saved tensor was
///   changed in place
/// \throws recompute_mismatch   in backward, if the recomputation saves different tensors
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
