// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file stage_signature.hpp  The types of state and adjoint that the functions of a stage take, if their signatures
/// show them.
#include <type_traits>
#include <cairn/core/detail/signature.hpp>

namespace cairn::detail {

/// The types of the first and of the last parameter, without const and reference; void if unknown.
template <class First, class Last>
struct parameter_ends {
  using first = First;
  using last = Last;
};
template <class... Args> struct ends_of_list : parameter_ends<void, void> {};
template <class Args>
struct ends_of_list<Args> : parameter_ends<std::remove_cvref_t<Args>, std::remove_cvref_t<Args>> {};
template <class Args, class... Rest>
struct ends_of_list<Args, Rest...> : parameter_ends<std::remove_cvref_t<Args>, typename ends_of_list<Rest...>::last> {};

/// The same for a list from `parameters_of`.
template <class List> struct ends_of_parameters : parameter_ends<void, void> {};
template <class... Args> struct ends_of_parameters<arguments<Args...>> : ends_of_list<Args...> {};
template <class Fn>
[[nodiscard]] consteval auto ends_of() {
  return ends_of_parameters<typename decltype(parameters_of<Fn>())::type>{};
}

/// The state that a stage takes; void if unknown.
template <class Stage>
[[nodiscard]] consteval auto told_state() {
  if constexpr (requires { &Stage::forward; })
    return std::type_identity<typename decltype(ends_of<decltype(&Stage::forward)>())::first>{};
  else return std::type_identity<void>{};
}
/// The adjoint that its backward takes; void if unknown.
template <class Stage>
[[nodiscard]] consteval auto told_adjoint() {
  if constexpr (requires { &Stage::backward; })
    return std::type_identity<typename decltype(ends_of<decltype(&Stage::backward)>())::last>{};
  else return std::type_identity<void>{};
}
/// The argument that a seed takes; void if unknown.
template <class Seed>
[[nodiscard]] consteval auto told_argument() {
  return std::type_identity<typename decltype(ends_of<std::remove_cv_t<Seed>>())::first>{};
}

}  // namespace cairn::detail
