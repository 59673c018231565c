// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file sequential_forms.hpp  Lists of modules and of functions under checkpoints, like a Sequential.
#include <cairn/language.hpp>  // first: an older language gets its message
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <type_traits>
#include <utility>
#include <vector>
#include <ATen/core/Tensor.h>
#include <torch/nn/modules/container/any.h>
#include <torch/nn/modules/container/functional.h>
#include <torch/nn/modules/container/modulelist.h>
#include <torch/nn/modules/container/sequential.h>
#include <cairn/adapt/torch/checkpoint/detail/region_call.hpp>
#include <cairn/adapt/torch/record/sequential.hpp>
#include <cairn/core/error.hpp>

namespace cairn::libtorch {
namespace detail {

/// The module inside a holder, or the module itself.
template <class Module>
struct module_inside { using type = Module; };
template <class Module>
  requires pointed_module<Module>
struct module_inside<Module> { using type = typename Module::ContainedType; };

/// A possible element of a list.
template <class Fn>
concept chain_element = callable_module<Fn> || std::is_invocable_r_v<at::Tensor, Fn&, at::Tensor const&>;

template <chain_element Fn>
[[nodiscard]] torch::nn::Sequential sequential_of(std::vector<Fn> list) {
  torch::nn::Sequential chain;
  for (auto& one : list) {
    if constexpr (callable_module<Fn>) {
      chain->push_back(one);
    } else {
      auto const held = std::make_shared<Fn>(std::move(one));  // std::function needs a copyable one
      chain->push_back(
          torch::nn::Functional([held](at::Tensor const& x) -> at::Tensor { return std::invoke(*held, x); }));
    }
  }
  return chain;
}
template <class Module>
[[nodiscard]] bool push_as(torch::nn::Sequential& chain, std::shared_ptr<torch::nn::Module> const& one) {
  auto const known = std::dynamic_pointer_cast<Module>(one);
  if (known) chain->push_back(known);
  return known != nullptr;
}
template <class... Modules>
[[nodiscard]] torch::nn::Sequential sequential_of(torch::nn::ModuleList const& list) {
  torch::nn::Sequential chain;
  std::size_t number = 0;
  for (auto const& one : *list) {
    if (!(push_as<typename module_inside<Modules>::type>(chain, one) || ...))
      throw invalid_call{
          "cairn::libtorch::checkpoint_sequential",
          "a module of the list has none of the named types",
          {{"module", number}},
          "name the types of all, as in checkpoint_sequential<torch::nn::Linear, torch::nn::Tanh>(list, segments, x)"};
    ++number;
  }
  return chain;
}

}  // namespace detail

/// The same for a list of modules or functions that take a tensor and return one: holders, std::shared_ptr to modules,
/// AnyModule, std::function ...
/// \param list  is copied, or moved
template <class Fn>
[[nodiscard]] at::Tensor checkpoint_sequential(std::vector<Fn> list, std::int64_t segments, at::Tensor const& x,
                                               CheckpointedSequentialOptions const& options = {}) {
  constexpr bool is_chain = detail::chain_element<Fn>;
  static_assert(is_chain, "cairn: the list must be of modules or functions that take a tensor and return one");
  if constexpr (!is_chain) return {};
  else return checkpoint_sequential(detail::sequential_of(std::move(list)), segments, x, options);
}
/// The same for a ModuleList, which does not know the types of its modules: `checkpoint_sequential<torch::nn::Linear,
/// Block>(list, segments, x)`.
/// \tparam Modules  the types of all modules in it, as holders or as modules; the first type that fits is used
/// \throws invalid_call   if a module has none of these types
template <class... Modules>
[[nodiscard]] at::Tensor checkpoint_sequential(torch::nn::ModuleList const& list, std::int64_t segments,
                                               at::Tensor const& x, CheckpointedSequentialOptions const& options = {}) {
  constexpr bool has_types = sizeof...(Modules) > 0;
  static_assert(has_types,
                "cairn: a ModuleList does not know what its modules take; name their types, as in "
                "checkpoint_sequential<torch::nn::Linear>(list, segments, x)");
  if constexpr (!has_types) return {};
  else return checkpoint_sequential(detail::sequential_of<Modules...>(list), segments, x, options);
}

}  // namespace cairn::libtorch
