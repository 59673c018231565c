#pragma once
/// \file stage_signature.hpp  The parameter types of a function that is neither overloaded nor a template.
#include <type_traits>
#include <utility>
#include <cairn/core/callable.hpp>

namespace cairn::detail {

/// The types of the first and of the last parameter, without const and reference; void where they cannot be told.
template <class First, class Last>
struct parameter_ends {
  using first = First;
  using last = Last;
};
template <class... A> struct ends_of_list : parameter_ends<void, void> {};
template <class A> struct ends_of_list<A> : parameter_ends<std::remove_cvref_t<A>, std::remove_cvref_t<A>> {};
template <class A, class... Rest> struct ends_of_list<A, Rest...> : parameter_ends<std::remove_cvref_t<A>, typename ends_of_list<Rest...>::last> {};

template <class F> struct ends_of_function : parameter_ends<void, void> {};
template <class R, class... A> struct ends_of_function<R(A...)> : ends_of_list<A...> {};
template <class R, class... A> struct ends_of_function<R(A...) const> : ends_of_list<A...> {};
template <class R, class... A> struct ends_of_function<R(A...) noexcept> : ends_of_list<A...> {};
template <class R, class... A> struct ends_of_function<R(A...) const noexcept> : ends_of_list<A...> {};

template <class F> struct function_within { using type = F; };
template <class F, class C> struct function_within<F C::*> { using type = F; };

/// Of a member function, of a member that is a function object, of a function object or of a function.
template <class F>
[[nodiscard]] consteval auto ends_of() {
  if constexpr (std::is_member_pointer_v<F>) return ends_of<typename function_within<F>::type>();
  else if constexpr (std::is_function_v<F>) return ends_of_function<F>{};
  else if constexpr (std::is_pointer_v<F>) return ends_of<std::remove_pointer_t<F>>();
  else if constexpr (std::is_class_v<F> && one_signature<F>) return ends_of<decltype(&F::operator())>();
  else return parameter_ends<void, void>{};
}

/// The state that a stage takes; void where it cannot be told.
template <class Stage>
[[nodiscard]] consteval auto told_state() {
  if constexpr (requires { &Stage::forward; }) return std::type_identity<typename decltype(ends_of<decltype(&Stage::forward)>())::first>{};
  else return std::type_identity<void>{};
}
/// The adjoint that its way back takes; void where it cannot be told.
template <class Stage>
[[nodiscard]] consteval auto told_adjoint() {
  if constexpr (requires { &Stage::backward; }) return std::type_identity<typename decltype(ends_of<decltype(&Stage::backward)>())::last>{};
  else return std::type_identity<void>{};
}
/// What a seed takes; void where it cannot be told.
template <class Seed>
[[nodiscard]] consteval auto told_argument() {
  return std::type_identity<typename decltype(ends_of<std::remove_cv_t<Seed>>())::first>{};
}

}  // namespace cairn::detail
