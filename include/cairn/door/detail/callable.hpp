// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file callable.hpp  Questions about a function object that can be answered without compiling its body.
/// Overload resolution alone does not compile the body of a generic lambda. Choosing the lambda does, and an error in
/// the body ends the compilation. So a *rival* overload is added to the user's function. Whether the rival wins or the
/// call is ambiguous shows what the user's parameters are. Rivals differ from these only in reference and const: if a
/// rival needs worse conversions, nvcc's front end prefers the user's function where the standard sees an ambiguity.
#include <cstdint>
#include <type_traits>
#include <utility>
#include <cairn/language.hpp>

namespace cairn::detail {

/// Call syntax only: a pointer to a member is neither step nor adjoint.
template <class Fn, class... Args>
concept calls = requires(Fn& f) { f(std::declval<Args>()...); };
template <class Fn, class... Args>
using call_result = decltype(std::declval<Fn&>()(std::declval<Args>()...));
template <class Fn, class... Args>
concept calls_void = calls<Fn, Args...> && std::is_void_v<call_result<Fn, Args...>>;

/// The result is a T itself, not an expression, a reference or another number that happens to convert to T.
template <class Result, class T>
concept gives = std::is_same_v<std::remove_const_t<Result>, T>;

/// A function, or an object with a single call operator that is not a template. Asking whether it can be called
/// compiles no body.
template <class Fn>
concept one_signature = std::is_pointer_v<Fn> || std::is_function_v<Fn> || requires { &Fn::operator(); };

struct other_call { void operator()(); };
template <class Fn> struct with_other_call : Fn, other_call {};
/// A generic lambda, or an object with several call operators.
template <class Fn>
concept generic = std::is_class_v<Fn> && !std::is_final_v<Fn> && !one_signature<Fn> && !requires {
  &with_other_call<Fn>::operator();
};

struct rival_won {};
template <class Fn, class... Taken> struct rival : Fn { using Fn::operator(); rival_won operator()(Taken...); };
template <class Fn, class... Taken>
struct const_rival : Fn {
  using Fn::operator();
  rival_won operator()(Taken...) const;
};

enum class contest : std::uint8_t { rival, tie, function };
/// Which overload `r(A...)` calls. A `rival` that is not const is preferred to a const call operator, whose body is
/// then not compiled. The call operator of a mutable lambda can win, and then its body is compiled for `A...`. A
/// function object that deletes all calls it does not accept, such as std::bind_front of g++ 14, also deletes a call
/// without arguments; this counts as a win of the rival.
template <class Result, class... Args>
consteval contest winner() {
  using enum contest;
  if constexpr (!calls<Result, Args...>) return calls<const_rival<Result>> ? tie : rival;
  else if constexpr (std::is_same_v<call_result<Result, Args...>, rival_won>) return rival;
  else return function;
}

/// A list of argument types.
template <class... T> struct arguments {};

/// In `f(Before..., T, After...)` the parameter of a generic f for T is `auto&&`.
template <class Fn, class T, class Before, class... After> inline constexpr bool forwards = false;
template <class Fn, class T, class... Before, class... After>
  requires generic<std::remove_cv_t<Fn>>
  inline constexpr bool forwards<Fn, T, arguments<Before...>, After...> =
      winner<rival<std::remove_cv_t<Fn>, Before..., T const&, After const&...>, Before..., T, After const&...>() !=
      contest::rival;

  /// `f(Before..., x, After...)` with x of type T has the result R even if x cannot be changed. The x tried is const;
  /// for generic functions it is an rvalue, because `auto& x` would bind to a const x, and the body would then not
  /// compile.
  template <class Fn, class Result, class T, class Before, class... After>
  inline constexpr bool only_reads = false;
  template <class Fn, class Result, class T, class... Before, class... After>
  requires calls<Fn, Before..., std::conditional_t<one_signature<Fn>, T const&, T>, After...>
inline constexpr bool only_reads<Fn, Result, T, arguments<Before...>, After...> =
    std::is_same_v<call_result<Fn, Before..., std::conditional_t<one_signature<Fn>, T const&, T>, After...>, Result>;

/// `f(First const&, Rest...)` fits the parameters. If a generic f takes its first parameter by value, its body is
/// compiled.
template <class Fn, class First, class... Rest>
consteval bool fits() {
  if constexpr (!generic<std::remove_cv_t<Fn>>) return calls<Fn, First const&, Rest...>;
  else if constexpr (winner<rival<std::remove_cv_t<Fn>, First const volatile&, Rest&&...>, First const&, Rest...>() !=
                     contest::rival)
    return true;
  else return calls<Fn, First const&, Rest...>;
}

/// In `f(Before..., Only, After...)` an Only converts to the parameter's type. Of a function that is generic or has
/// several call operators only parameters of a type that is not deduced are asked: these alone take a list in braces.
template <class Fn, class Only, class Before, class... After> inline constexpr bool takes_only = false;
template <class Fn, class Only, class... Before, class... After>
inline constexpr bool takes_only<Fn, Only, arguments<Before...>, After...> = [] {
  if constexpr (one_signature<Fn>) return calls<Fn, Before..., Only, After...>;
  else return requires(Fn& f) { f(std::declval<Before>()..., {std::declval<Only>()}, std::declval<After>()...); };
}();

/// An argument in place of a number that only parameters of some types accept, as Accepts says.
template <template <class> class Accepts>
struct only_for {
  template <class T>
    requires Accepts<T>::value
  operator T() const;
};
template <class T> struct is_index : std::bool_constant<std::is_integral_v<T> && (sizeof(T) >= sizeof(int))> {};
/// In `f(Before..., i, After...)` the index would become a floating-point number, or something too short for it.
template <class Fn, class Before, class... After>
inline constexpr bool floats_index = takes_only<Fn, only_for<std::is_floating_point>, Before, After...> &&
                                     !takes_only<Fn, only_for<is_index>, Before, After...>;
template <class Fn, class Before, class... After>
inline constexpr bool shortens_index = takes_only<Fn, only_for<std::is_integral>, Before, After...> &&
                                       !takes_only<Fn, only_for<is_index>, Before, After...>;
/// A function that takes the index, its last argument, as a floating-point number. Most likely it means something else
/// by that parameter.
template <class Fn, class... Before>
concept floating_index = floats_index<Fn, arguments<Before...>>;

/// An argument in place of a number of type T that only a parameter too narrow for T accepts, and one that only a T does.
template <class T>
struct narrowed {
  template <class U>
    requires(std::is_arithmetic_v<U> && !requires(T x) { U{x}; })
  operator U() const;
};
template <class T>
struct same_number {
  template <class U>
    requires std::is_same_v<U, T>
  operator U() const;
};
/// A parameter for T in `f(Before..., T, After...)` is a number too narrow for it.
template <class Fn, class T, class Before, class... After> inline constexpr bool narrows = false;
template <class Fn, class T, class... Before, class... After>
  requires std::is_arithmetic_v<T>
inline constexpr bool narrows<Fn, T, arguments<Before...>, After...> =
    takes_only<Fn, narrowed<T>, arguments<Before...>, After...> &&
    !takes_only<Fn, same_number<T>, arguments<Before...>, After...>;

/// Whether f would cut one of the parameters `P...` to a narrower number, where `Before...` come before them.
template <class Fn, class... Before, class... After>
consteval bool cuts_params(arguments<Before...>, arguments<>, arguments<After...>) { return false; }
template <class Fn, class... Before, class Params, class... Rest, class... After>
consteval bool cuts_params(arguments<Before...>, arguments<Params, Rest...>, arguments<After...> after) {
  return narrows<Fn, std::remove_cvref_t<Params>, arguments<Before...>, Rest..., After...> ||
         cuts_params<Fn>(arguments<Before..., Params>{}, arguments<Rest...>{}, after);
}

}  // namespace cairn::detail
