// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file step_identity.hpp  Identifies the step that a loop runs, as far as possible.
#include <concepts>
#include <cstdint>
#include <memory>
#include <type_traits>
#include <typeinfo>
#include <torch/nn/module.h>
#include <torch/nn/pimpl.h>
#include <cairn/adapt/torch/state/detail/plan_key.hpp>

namespace cairn::libtorch::detail {

/// A key for a step.
struct step_identity : plan_key {
  /// Whether no other step has this key. Objects with captures, and functions, share the key of their class.
  bool is_known = false;

  template <class Type>
  void add_type() {
    add(reinterpret_cast<std::intptr_t>(&typeid(Type)));
  }
  /// A module with all its children, modes and parameters.
  void add_whole(torch::nn::Module const& module) {
    add_module(module);
    modules.push_back(std::const_pointer_cast<torch::nn::Module>(module.weak_from_this().lock()));
    for (auto const& one : module.modules(false)) {
      add_module(*one);
      modules.push_back(one);
    }
    add_parameters(module);
  }
};

/// A step of cairn's own that identifies itself.
template <class Step>
concept step_with_identity = requires(Step const& step) {
  { step.identity() } -> std::convertible_to<step_identity>;
};

template <class Step>
[[nodiscard]] step_identity identity_of(Step const& step) {
  step_identity found;
  if constexpr (step_with_identity<Step>) found = step.identity();
  found.add_type<Step>();
  if constexpr (torch::detail::is_module_holder<Step>::value) {
    if (step.is_empty()) return found;
    found.add_whole(*step);
    found.is_known = true;
  }
  return found;
}

}  // namespace cairn::libtorch::detail
