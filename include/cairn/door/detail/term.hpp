// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file term.hpp  A term of an objective: the ways to write it and its derivative, and what may be wrong with them.
#include <cstdint>
#include <type_traits>
#include <utility>
#include <cairn/core/action.hpp>
#include <cairn/door/detail/member_function.hpp>
#include <cairn/door/forms.hpp>
#include <cairn/door/wrt.hpp>

namespace cairn {

/// The derivative of a term is found by a tool.
struct no_derivative {};

namespace detail {

/// Whether f(before..., p, i...) can be called and means p by that place: it does not cut p to a narrower number, and
/// takes it by reference if it is generic. What it means otherwise is most likely an index.
template <class Fn, class Params, class Before, class... Index> inline constexpr bool means_p = false;
template <class Fn, class Params, class... Before, class... Index>
inline constexpr bool means_p<Fn, Params, arguments<Before...>, Index...> = [] {
  if constexpr (no_p<Params>) return calls<Fn, Before..., Params const&, Index...>;
  else if constexpr (narrows<Fn, Params, arguments<Before...>, Index...>) return false;
  else if constexpr (generic_by_value<Fn, sizeof...(Before), Before..., Params const&, Index...>) return false;
  else return calls<Fn, Before..., Params const&, Index...>;
}();

/// The ways to write a term of a state. `with_p_index`: f(x, p, i). Without parameters p may be left out.
enum class term_form : std::uint8_t { none, with_p_index, with_index, with_p, alone };
template <class Fn, class State, class Params>
consteval term_form form_of_term() {
  using x = arguments<State const&>;
  if constexpr (means_p<Fn const, Params, x, step_index>) return term_form::with_p_index;
  else if constexpr (no_p<Params> && calls<Fn const, State const&, step_index> &&
                     !floating_index<Fn const, State const&>)
    return term_form::with_index;
  else if constexpr (means_p<Fn const, Params, x>) return term_form::with_p;
  else if constexpr (calls<Fn const, State const&>) return term_form::alone;
  else return term_form::none;
}
/// The value of the term.
template <class Fn, class State, class Params>
decltype(auto) call_term(Fn const& f, State const& x, Params const& p, step_index i) {
  constexpr auto form = form_of_term<Fn, State, Params>();
  if constexpr (form == term_form::with_p_index) return f(x, p, i);
  else if constexpr (form == term_form::with_index) return f(x, i);
  else if constexpr (form == term_form::with_p) return f(x, p);
  else return f(x);
}
template <class Fn, class State, class Params>
concept has_term = form_of_term<Fn, State, Params>() != term_form::none;
template <class Fn, class State, class Params>
using term_result = std::remove_cvref_t<decltype(call_term(std::declval<Fn const&>(), std::declval<State const&>(),
                                                          std::declval<Params const&>(), step_index{}))>;

/// The ways to write the derivative of a term: df(x, bar, p, dp, i), or with less. It adds to bar and dp.
template <class DF, class State, class Bar, class Params, class DP>
consteval term_form form_of_derivative() {
  using before = arguments<State const&, Bar&>;
  if constexpr (no_p<Params>) {
    if constexpr (calls<DF const, State const&, Bar&, step_index>) return term_form::with_index;
    else if constexpr (calls<DF const, State const&, Bar&>) return term_form::alone;
    else return term_form::none;
  } else if constexpr (reads_before<DF const, before, Params const&, DP&>::template before<step_index>)
    return term_form::with_p_index;
  else if constexpr (reads_before<DF const, before, Params const&, DP&>::template before<>) return term_form::with_p;
  else if constexpr (calls<DF const, State const&, Bar&>) return term_form::alone;
  else return term_form::none;
}
template <class DF, class State, class Bar, class Params, class DP>
decltype(auto) call_derivative(DF const& df, State const& x, Bar& bar, Params const& p,
                               DP& dp, step_index i) {
  constexpr auto form = form_of_derivative<DF, State, Bar, Params, DP>();
  if constexpr (form == term_form::with_p_index) return df(x, bar, p, dp, i);
  else if constexpr (form == term_form::with_index) return df(x, bar, i);
  else if constexpr (form == term_form::with_p) return df(x, bar, p, dp);
  else return df(x, bar);
}
/// It returns a value, which would be lost.
template <class DF, class State, class Bar, class Params, class DP>
consteval bool derivative_returns() {
  return !std::is_void_v<decltype(call_derivative(std::declval<DF const&>(), std::declval<State const&>(),
                                                  std::declval<Bar&>(), std::declval<Params const&>(),
                                                  std::declval<DP&>(), step_index{}))>;
}

/// An object with `value(x, p, i)` and `add_gradient(x, bar, p, dp, i)`, as a function and its derivative.
template <class T> using value_of = member_as_function<member_value, T const>;
template <class T> using gradient_of = member_as_function<member_add_gradient, T const>;

/// The arguments of a term, or of its derivative if `Head` has bar.
template <term_form Form, class Params, class Head>
consteval auto call_of_term(Head head) {
  if constexpr (Form == term_form::with_p_index) return head + given_params(Params{}) + counts_in(arguments<step_index>{});
  else if constexpr (Form == term_form::with_p) return head + given_params(Params{});
  else if constexpr (Form == term_form::with_index) return head + counts_in(arguments<step_index>{});
  else return head;
}
/// What is wrong with the value of a term, which has a form.
template <class Fn, class State, class Params>
consteval fault fault_of_value() {
  using of_value = std::conditional_t<no_p<Params>, arguments<>, arguments<Params const&>>;
  constexpr auto form = form_of_term<Fn, State, Params>();
  constexpr auto found = fault_of_call<Fn const>(call_of_term<form, of_value>(call_with<reads<State>>{}));
  if constexpr (found != fault::none) return found;
  else return std::is_same_v<term_result<Fn, State, Params>, bool> ? fault::both : fault::none;
}
/// What is wrong with a term and its derivative.
template <class Fn, class DF, class State, class Bar, class Params, class DP>
consteval fault fault_of_term() {
  constexpr auto back = form_of_derivative<DF, State, Bar, Params, DP>();
  if constexpr (!has_term<Fn, State, Params> || back == term_form::none) return fault::shape;
  else if constexpr (fault_of_value<Fn, State, Params>() != fault::none) return fault_of_value<Fn, State, Params>();
  else {
    using of_back = std::conditional_t<no_p<Params>, arguments<>, arguments<Params const&, DP&>>;
    constexpr auto in_back = fault_of_call<DF const>(call_of_term<back, of_back>(call_with<reads<State>, changes<Bar>>{}));
    if constexpr (in_back != fault::none) return in_back;
    else return derivative_returns<DF, State, Bar, Params, DP>() ? fault::result : fault::none;
  }
}
/// Whether the term is a number. A tool's expression is refused: it would refer to objects that no longer exist. For a
/// tool's numbers nothing else may be wrong.
template <class Fn, class State, class Params, class Scalar>
consteval bool is_term() {
  if constexpr (!has_term<Fn, State, Params>) return false;
  else {
    using term = term_result<Fn, State, Params>;
    if constexpr (!std::is_same_v<term, Scalar> && !std::is_arithmetic_v<term>) return false;
    else return std::is_same_v<Scalar, double> || fault_of_value<Fn, State, Params>() == fault::none;
  }
}

/// Whether the term takes the number of its state.
template <class Fn, class State, class Params>
inline constexpr bool has_indexed_term = form_of_term<Fn, State, Params>() == term_form::with_p_index ||
                                         form_of_term<Fn, State, Params>() == term_form::with_index;

/// A term and its derivative, or `no_derivative`.
template <class Fn, class DF>
struct term {
  Fn f;
  [[no_unique_address]] DF df;
  static constexpr bool has_derivative = !std::is_same_v<DF, no_derivative>;
  template <class State, class Params>
  [[nodiscard]] decltype(auto) value(State const& x, Params const& p, step_index i) const {
    return call_term(f, x, p, i);
  }
  template <class State, class Bar, class Params, class DP>
  void add_gradient(State const& x, Bar& bar, Params const& p, DP& dp, step_index i) const {
    call_derivative(df, x, bar, p, dp, i);
  }
  template <class State, class Params, class Scalar>
  static constexpr bool fits = is_term<Fn, State, Params, Scalar>();
  template <class State, class Params>
  static constexpr bool indexed = has_indexed_term<Fn, State, Params>;
  template <class State, class Bar, class Params, class DP>
  static constexpr fault wrong = fault_of_term<Fn, DF, State, Bar, Params, DP>();
  template <class Look>
  void each_function(Look const& look) const { look(f), look(df); }
};
/// An object with `value` and `add_gradient`.
template <class T>
struct term_of_object {
  using both = term<value_of<T>, gradient_of<T>>;
  T object;
  static constexpr bool has_derivative = true;
  template <class State, class Params>
  [[nodiscard]] decltype(auto) value(State const& x, Params const& p, step_index i) const {
    return call_term(value_of<T>{object}, x, p, i);
  }
  template <class State, class Bar, class Params, class DP>
  void add_gradient(State const& x, Bar& bar, Params const& p, DP& dp, step_index i) const {
    call_derivative(gradient_of<T>{object}, x, bar, p, dp, i);
  }
  template <class State, class Params, class Scalar>
  static constexpr bool fits = both::template fits<State, Params, Scalar>;
  template <class State, class Params>
  static constexpr bool indexed = both::template indexed<State, Params>;
  template <class State, class Bar, class Params, class DP>
  static constexpr fault wrong = both::template wrong<State, Bar, Params, DP>;
  template <class Look>
  void each_function(Look const& look) const { look(object); }
};
/// An object with a member `add_gradient`, which is a template or overloaded in most cases: its name alone is looked
/// for, by a base that has the same name.
struct other_add_gradient { void add_gradient(); };
template <class T> struct with_other_add_gradient : T, other_add_gradient {};
template <class T>
concept has_add_gradient = std::is_class_v<T> && !std::is_final_v<T> &&
                           !requires { &with_other_add_gradient<T>::add_gradient; };
template <class T>
using term_for = std::conditional_t<has_add_gradient<T>, term_of_object<T>, term<T, no_derivative>>;
template <class Fn, class DF> struct term_of_functions { using type = term<Fn, DF>; };
template <class Fn> struct term_of_functions<Fn, no_derivative> { using type = term_for<Fn>; };
/// In the place of a derivative that was left out in another order, so that there is one error.
struct any_derivative {
  template <class... Args>
  void operator()(Args&&...) const {}
};
/// The term of a function, or of an object with both, and of a derivative if it is given apart.
template <class Fn, class DF> using term_of = typename term_of_functions<Fn, DF>::type;
template <class T>
[[nodiscard]] constexpr term_for<T> as_term(T given) {
  if constexpr (has_add_gradient<T>) return {std::move(given)};
  else return {std::move(given), {}};
}

}  // namespace detail
}  // namespace cairn
