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

[[nodiscard]] inline std::vector<at::Tensor> region_inputs(at::Tensor const& one) { return {one}; }
[[nodiscard]] inline std::vector<at::Tensor> region_inputs(std::vector<at::Tensor> const& list) { return list; }
template <class Tuple>
  requires requires { std::tuple_size<Tuple>::value; }
[[nodiscard]] std::vector<at::Tensor> region_inputs(Tuple const& tuple) {
  return std::apply([](auto const&... one) {
    static_assert((std::is_same_v<std::remove_cvref_t<decltype(one)>, at::Tensor> && ...), "cairn: a tuple of inputs holds tensors alone; let the function capture what else it needs");
    return std::vector<at::Tensor>{one...};
  }, tuple);
}
/// Calls f with tensors in the shape of `Inputs`.
template <class Inputs, class F>
decltype(auto) call_region(F& f, std::vector<at::Tensor> const& inputs) {
  if constexpr (std::is_same_v<Inputs, at::Tensor>) return f(inputs[0]);
  else if constexpr (std::is_same_v<Inputs, std::vector<at::Tensor>>) return f(inputs);
  else return [&]<std::size_t... K>(std::index_sequence<K...>) -> decltype(auto) { return f(inputs[K]...); }(std::make_index_sequence<std::tuple_size_v<Inputs>>{});
}

}  // namespace detail

/// Calls `f(inputs)` and keeps nothing of what autograd saves in it but the inputs; backward runs it again, when it first asks, under the generators and
/// automatic casts of the first time. Regions nest, and retain_graph, autograd::grad and double backward work as without. Gradients have the same bits.
/// What f captures by reference counts as in the plain call. Without grad mode it is the plain call.
/// \param f  a function of its inputs alone, copied; it must not catch what it does not know
/// \param inputs  a tensor, a std::vector of them, or a tuple whose elements are f's arguments; may be undefined
/// \returns what f returns
/// \throws invalid_call   under an engine that is not LibTorch's own, and in backward where an input, a parameter or a saved tensor was changed in place
/// \throws recompute_mismatch   in backward where the second run saves other tensors
template <class F, class Inputs>
auto checkpoint(F f, Inputs const& inputs, CheckpointOptions const& options = {}) {
  auto const list = detail::region_inputs(inputs);
  if (!at::GradMode::is_enabled()) return detail::call_region<Inputs>(f, list);
  detail::need_saved_hooks(detail::region_name);
  auto const frame = std::make_shared<detail::region_frame>(
      [f](std::vector<at::Tensor> const& again) mutable { (void)detail::call_region<Inputs>(f, again); }, list,
      detail::region_frame::settings{options.early_stop(), options.rng(), options.determinism(), options.buffers(), detail::region_name});
  detail::saved_hooks_scope const hooks{frame->first_run()};
  return detail::call_region<Inputs>(f, list);
}
/// The same for `{x, z}`: f takes a std::vector.
template <class F>
auto checkpoint(F f, std::initializer_list<at::Tensor> inputs, CheckpointOptions const& options = {}) {
  return checkpoint(std::move(f), std::vector<at::Tensor>(inputs), options);
}

}  // namespace cairn
