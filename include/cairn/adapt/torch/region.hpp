#pragma once
/// \file region.hpp  A part of a computation that keeps its inputs instead of what autograd saves, and runs again when backward asks for that.
#include <cstddef>
#include <initializer_list>
#include <memory>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>
#include <ATen/core/Tensor.h>
#include <torch/arg.h>
#include <torch/nn/module.h>
#include <cairn/adapt/torch/ambient.hpp>
#include <cairn/adapt/torch/determinism.hpp>
#include <cairn/adapt/torch/region_frame.hpp>
#include <cairn/adapt/torch/saved_hooks.hpp>
#include <cairn/adapt/torch/tensor_state.hpp>
#include <cairn/core/refused.hpp>

namespace cairn {

/// How a region is checkpointed.
struct CheckpointOptions {
  /// Whether a second run ends with the last tensor that backward wants. What the function does behind that is then done once only.
  TORCH_ARG(bool, early_stop) = true;
  /// Whether the second run draws the random numbers of the first.
  TORCH_ARG(Rng, rng) = Rng::Preserve;
  /// How closely what the second run saves is compared with the first.
  TORCH_ARG(Check, determinism) = Check::Metadata;
  /// Tensors that the function changes in place, such as running means: a second run leaves them as they were.
  TORCH_ARG(std::vector<at::Tensor>, buffers) = {};

 public:
  /// All buffers of a module.
  CheckpointOptions& module(torch::nn::Module const& of) { return buffers(of.buffers()); }
};

namespace detail {

inline constexpr char const* region_name = "cairn::checkpoint";

/// Whether f takes the elements of a tuple as its arguments.
template <class F, class Tuple>
inline constexpr bool takes_elements = false;
template <class F, class Tuple>
  requires requires { std::tuple_size<Tuple>::value; }
inline constexpr bool takes_elements<F, Tuple> = []<std::size_t... K>(std::index_sequence<K...>) {
  return std::is_invocable_v<F&, std::tuple_element_t<K, Tuple> const&...>;
}(std::make_index_sequence<std::tuple_size_v<Tuple>>{});

template <class F, class Inputs>
decltype(auto) call_region(F& f, Inputs const& inputs) {
  if constexpr (takes_elements<F, Inputs>) return std::apply(f, inputs);
  else return f(inputs);
}

}  // namespace detail

/// Calls `f(inputs)` and keeps nothing of what autograd saves in it but the inputs; backward runs it again, when it first asks, under the generators and
/// automatic casts of the first time. Regions nest, and retain_graph, autograd::grad and double backward work as without. Gradients have the same bits.
/// What f captures by reference counts as in the plain call. Without grad mode it is the plain call.
/// \param f  a function of its inputs alone, copied; it must not catch what it does not know
/// \param inputs  see `tensor_state`: f's argument, or its arguments where that is a tuple, a pair or an array and f takes its elements. Tensors may be
///        undefined. Where it has `tensor_traits` of your own, `like` holds undefined tensors when it is put together again
/// \returns what f returns
/// \throws invalid_call   under an engine that is not LibTorch's own, and in backward where an input, a parameter or a saved tensor was changed in place
/// \throws recompute_mismatch   in backward where the second run saves other tensors
template <class F, class Inputs>
auto checkpoint(F f, Inputs const& inputs, CheckpointOptions const& options = {}) {
  constexpr bool is_state = tensor_state<Inputs>;
  static_assert(is_state, "cairn: the inputs must be a tensor, tuples, vectors or dictionaries of tensors, or a type with cairn::tensor_traits; let the function capture what else it needs");
  if constexpr (!is_state) return detail::refused{};
  else {
    constexpr bool is_called = detail::takes_elements<F, Inputs> || std::is_invocable_v<F&, Inputs const&>;
    static_assert(is_called, "cairn: the function must be callable with its inputs, or with the elements of a tuple of inputs");
    if constexpr (!is_called) return detail::refused{};
    else {
      if (!at::GradMode::is_enabled()) return detail::call_region(f, inputs);
      detail::need_saved_hooks(detail::region_name);
      auto const parts = detail::tensors_of(inputs);
      auto again = [f, like = detail::state_of(inputs, tensor_list(parts.size()))](tensor_list const& leaves) mutable {
        (void)detail::call_region(f, detail::state_of(like, leaves));
      };
      auto const frame = std::make_shared<detail::region_frame>(
          std::move(again), parts, detail::region_frame::settings{options.early_stop(), options.rng(), options.determinism(), options.buffers(), detail::region_name});
      detail::saved_hooks_scope const hooks{frame->first_run()};
      return detail::call_region(f, inputs);
    }
  }
}
/// The same for `{x, z}`: f takes a std::vector.
template <class F>
auto checkpoint(F f, std::initializer_list<at::Tensor> inputs, CheckpointOptions const& options = {}) {
  return checkpoint(std::move(f), tensor_list(inputs), options);
}
/// Refused in a sentence: each input as an argument of its own.
template <class F, tensor_state First, tensor_state Second, class... More>
auto checkpoint(F const&, First const&, Second const&, More const&...) {
  constexpr bool is_one = std::is_void_v<First>;
  static_assert(is_one, "cairn: several inputs are one argument, as in checkpoint(f, std::tuple{x, z})");
  return detail::refused{};
}

}  // namespace cairn
