// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file callable.hpp  Questions about a function object that can be answered without compiling its body.
/// Overload resolution alone does not compile the body of a generic lambda. Choosing the lambda does, and an error in
/// the body ends the compilation. So a *rival* overload is added to the user's function. Whether the rival wins or the
/// call is ambiguous shows what the user's parameters are. Rivals differ from these only in reference and const: if a
/// rival needs worse conversions, nvcc's front end prefers the user's function where the standard sees an ambiguity.
#include <concepts>
#include <cstdint>
#include <type_traits>
#include <utility>
#include <cairn/language.hpp>

namespace cairn::detail {

/// Call syntax only: a pointer to a member is neither step nor adjoint.
template <class F, class... A>
concept calls = requires(F& f) { f(std::declval<A>()...); };
template <class F, class... A>
using call_result = decltype(std::declval<F&>()(std::declval<A>()...));
template <class F, class... A>
concept calls_void = calls<F, A...> && std::is_void_v<call_result<F, A...>>;

/// The result is a T itself, not an expression, a reference or another number that happens to convert to T.
template <class R, class T>
concept gives = std::is_same_v<std::remove_const_t<R>, T>;

/// A function, or an object with a single call operator that is not a template. Asking whether it can be called
/// compiles no body.
template <class F>
concept one_signature = std::is_pointer_v<F> || std::is_function_v<F> || requires { &F::operator(); };

struct other_call { void operator()(); };
template <class F> struct with_other_call : F, other_call {};
/// A generic lambda, or an object with several call operators.
template <class F>
concept generic = std::is_class_v<F> && !std::is_final_v<F> && !one_signature<F> && !requires {
  &with_other_call<F>::operator();
};

struct rival_won {};
template <class F, class... P> struct rival : F { using F::operator(); rival_won operator()(P...); };
template <class F, class... P> struct const_rival : F { using F::operator(); rival_won operator()(P...) const; };

enum class contest : std::uint8_t { rival, tie, function };
/// Which overload `r(A...)` calls. A `rival` that is not const is preferred to a const call operator, whose body is
/// then not compiled. The call operator of a mutable lambda can win, and then its body is compiled for `A...`. A
/// function object that deletes all calls it does not accept, such as std::bind_front of g++ 14, also deletes a call
/// without arguments; this counts as a win of the rival.
template <class R, class... A>
[[nodiscard]] consteval contest winner() {
  using enum contest;
  if constexpr (!calls<R, A...>) return calls<const_rival<R>> ? tie : rival;
  else if constexpr (std::is_same_v<call_result<R, A...>, rival_won>) return rival;
  else return function;
}

/// A list of argument types.
template <class... T> struct arguments {};

/// In `f(Before..., T, After...)` the parameter of a generic f for T is `auto&&`.
template <class F, class T, class Before, class... After> inline constexpr bool forwards = false;
template <class F, class T, class... Before, class... After>
  requires generic<std::remove_cv_t<F>>
  inline constexpr bool forwards<F, T, arguments<Before...>, After...> =
      winner<rival<std::remove_cv_t<F>, Before..., T const&, After const&...>, Before..., T, After const&...>() !=
      contest::rival;

  /// `f(Before..., x, After...)` with x of type T has the result R even if x cannot be changed. The x tried is const;
  /// for generic functions it is an rvalue, because `auto& x` would bind to a const x, and the body would then not
  /// compile.
  template <class F, class R, class T, class Before, class... After>
  inline constexpr bool only_reads = false;
  template <class F, class R, class T, class... Before, class... After>
  requires calls<F, Before..., std::conditional_t<one_signature<F>, T const&, T>, After...>
inline constexpr bool only_reads<F, R, T, arguments<Before...>, After...> =
    std::is_same_v<call_result<F, Before..., std::conditional_t<one_signature<F>, T const&, T>, After...>, R>;

/// `f(First const&, Rest...)` fits the parameters. If a generic f takes its first parameter by value, its body is
/// compiled.
template <class F, class First, class... Rest>
[[nodiscard]] consteval bool fits() {
  if constexpr (!generic<std::remove_cv_t<F>>) return calls<F, First const&, Rest...>;
  else if constexpr (winner<rival<std::remove_cv_t<F>, First const volatile&, Rest&&...>, First const&, Rest...>() !=
                     contest::rival)
    return true;
  else return calls<F, First const&, Rest...>;
}

/// An argument in place of an index that only a floating-point parameter accepts.
struct floating_only {
  template <class T>
    requires std::is_floating_point_v<T>
  operator T() const;
};
/// A function with a single signature that would convert the index, its last argument, to a floating-point number. Most
/// likely it means something else by that parameter.
template <class F, class... Before>
concept floating_index = one_signature<F> && calls<F, Before..., floating_only>;

/// An argument in place of a number of type T that only a parameter too narrow for T accepts.
template <class T>
struct narrowed {
  template <class U>
    requires(std::is_arithmetic_v<U> && !requires(T x) { U{x}; })
  operator U() const;
};
/// A single signature whose parameter for T in `f(Before..., T, After...)` is a number too narrow for it.
template <class F, class T, class Before, class... After> inline constexpr bool narrows = false;
template <class F, class T, class... Before, class... After>
  requires(one_signature<F> && std::is_arithmetic_v<T>)
inline constexpr bool narrows<F, T, arguments<Before...>, After...> = calls<F, Before..., narrowed<T>, After...>;

}  // namespace cairn::detail
