#pragma once
/// \file callable.hpp  Questions about a function object that can be asked without compiling its body.
/// Overload resolution alone does not compile a generic lambda's body; being chosen by it does, and an error in there
/// is no answer but the end of the compilation. So a *rival* overload stands beside the user's: either it wins or the
/// call is ambiguous, and which of the two tells what the user's parameters are. Rivals differ from them in reference
/// and const only: given worse conversions than that, nvcc's front end prefers the user's function where the standard
/// sees an ambiguity.
#include <concepts>
#include <cstdint>
#include <type_traits>
#include <utility>

namespace cairn::detail {

/// Call syntax: a pointer to a member is no step and no adjoint.
template <class F, class... A>
concept calls = requires(F& f) { f(std::declval<A>()...); };
template <class F, class... A>
using call_result = decltype(std::declval<F&>()(std::declval<A>()...));
template <class F, class... A>
concept calls_void = calls<F, A...> && std::is_void_v<call_result<F, A...>>;

/// The result is the thing itself, not an expression, a reference or another number that happens to convert to it.
template <class R, class T>
concept gives = std::is_same_v<std::remove_const_t<R>, T>;

/// A function, or an object with a single call operator that is no template: asking whether it can be called compiles
/// no body.
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
/// Who is called by `r(A...)`. A `rival` that is not const is ahead of a const call operator, which thus cannot win; a
/// mutable lambda's can, and then its body is compiled for `A...`.
template <class R, class... A>
[[nodiscard]] consteval contest winner() {
  if constexpr (!calls<R, A...>) return contest::tie;
  else if constexpr (std::is_same_v<call_result<R, A...>, rival_won>) return contest::rival;
  else return contest::function;
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

  /// `f(Before..., x, After...)` with x of type T has the result R also where x may not be changed. The x tried is
  /// const, or for generic functions an rvalue, since `auto& x` would take a const one, too, and then not compile.
  template <class F, class R, class T, class Before, class... After>
  inline constexpr bool only_reads = false;
  template <class F, class R, class T, class... Before, class... After>
  requires calls<F, Before..., std::conditional_t<one_signature<F>, T const&, T>, After...>
inline constexpr bool only_reads<F, R, T, arguments<Before...>, After...> =
    std::is_same_v<call_result<F, Before..., std::conditional_t<one_signature<F>, T const&, T>, After...>, R>;

/// `f(First const&, Rest...)` fits the parameters; where a generic f takes its first one by value, the body is
/// compiled.
template <class F, class First, class... Rest>
[[nodiscard]] consteval bool fits() {
  if constexpr (!generic<std::remove_cv_t<F>>) return calls<F, First const&, Rest...>;
  else if constexpr (winner<rival<std::remove_cv_t<F>, First const volatile&, Rest&&...>, First const&, Rest...>() !=
                     contest::rival)
    return true;
  else return calls<F, First const&, Rest...>;
}

/// Stands where an index is due, and fits a floating-point parameter only.
struct floating_only {
  template <class T>
    requires std::is_floating_point_v<T>
  operator T() const;
};
/// A single signature that would turn the index, the last argument, into a floating-point number: most likely it means
/// something else.
template <class F, class... Before>
concept floating_index = one_signature<F> && calls<F, Before..., floating_only>;

/// Stands where a number of type T is due, and fits only parameters that would cut it.
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
