// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file step_shape.hpp  Finds the form of a step. The forms are tried in this order: (x, i), (x), (x, x1, i), (x, x1).
/// The index is passed as a temporary, so that `auto& x1` cannot bind to it. x is not const, because the body of
/// `[](auto& x, auto i)` would not compile for a const x. Parameters `P...` of the loop, if any, come before the index.
#include <cstdint>
#include <type_traits>
#include <cairn/core/action.hpp>
#include <cairn/core/detail/callable.hpp>
#include <cairn/core/detail/signature.hpp>
#include <cairn/core/frames_needed.hpp>

namespace cairn::detail {

/// A function with a declared form.
template <auto Form, class F>
struct tagged {
  [[no_unique_address]] F call;
  template <class... A>
  requires calls<F, A...>
  constexpr decltype(auto) operator()(A&&... all) { return call(std::forward<A>(all)...); }
  template <class... A>
  requires calls<F const, A...>
  constexpr decltype(auto) operator()(A&&... all) const { return call(std::forward<A>(all)...); }
};
struct untold {};
template <class F>
inline constexpr auto form_said = untold{};
template <auto Form, class F>
inline constexpr auto form_said<tagged<Form, F>> = Form;
template <auto Form, class F>
inline constexpr auto form_said<tagged<Form, F> const> = Form;
template <class F>
struct untagged {
  using type = F;
};
template <auto Form, class F>
struct untagged<tagged<Form, F>> {
  using type = std::remove_reference_t<F>;
};
template <auto Form, class F>
struct untagged<tagged<Form, F> const> {
  using type = std::remove_reference_t<F const>;
};
/// A std::reference_wrapper, recognised without including `<functional>`; it is read as the function it refers to.
template <class F>
concept reference_to = requires(F& f) {
  requires std::is_same_v<decltype(f.get()), typename F::type&>;
  requires std::is_convertible_v<F&, typename F::type&>;
};
/// Passed before the first step of a loop to steps that accept it: those that keep a record of the loop, as `adaptive`
/// does, or check whether the loop is long enough, as `with_jumps` does.
struct loop_begins {
  step_index steps = -1;  ///< length of the loop; -1 if it is not known yet
};
template <class Step>
concept told_of_loops = requires(Step& step) { step.begin(loop_begins{}); };
template <class Step>
constexpr void begin_loop([[maybe_unused]] Step& step, [[maybe_unused]] loop_begins loop = {}) {
  if constexpr (!std::is_same_v<typename untagged<Step>::type, Step>) begin_loop(step.call, loop);
  else if constexpr (told_of_loops<Step>) step.begin(loop);
}
template <class F, class Form>
concept said_as = std::is_same_v<std::remove_const_t<decltype(form_said<F>)>, Form>;

/// What is wrong with a step or an adjoint.
enum class fault : std::uint8_t {
  none,
  shape,         ///< no form fits its parameters
  result,        ///< it returns something other than the state (the adjoint)
  unchanged,     ///< it returns nothing and cannot change the state (the adjoint)
  both,          ///< it returns something and also takes the state (the adjoint) in order to change it
  narrow,        ///< a parameter is too narrow for the number it receives
  params,        ///< it cuts the parameters p, or their gradient dp, to a narrower number: most likely an index
  sum,           ///< it cannot change dp
  floating,      ///< its index is a floating-point number
  two_readings,  ///< fits (x, i) and (x, x1), or (x, bar, first, last) and (x, x1, bar, i)
  tape,          ///< `record` and `reverse` do not fit together
  refers         ///< the tape refers into another object
};

struct step_shape {
  step_form form = step_form::none;
  bool indexed = true;
  bool stops = false;  ///< in place, returns bool; only for `checkpointed_while`
  fault wrong = fault::shape;
};
[[nodiscard]] consteval step_shape no_step(fault wrong) { return {step_form::none, true, false, wrong}; }

/// Callable with a temporary index and with a const one.
template <class F, class... Before>
concept calls_with_index = calls<F, Before..., step_index> && calls<F, Before..., step_index const&>;

/// Whether f would cut one of the parameters `P...` to a narrower number, where `Before...` come before them.
template <class F, class... Before, class... After>
[[nodiscard]] consteval bool cuts_params(arguments<Before...>, arguments<>, arguments<After...>) { return false; }
template <class F, class... Before, class P, class... Rest, class... After>
[[nodiscard]] consteval bool cuts_params(arguments<Before...>, arguments<P, Rest...>, arguments<After...> after) {
  return narrows<F, std::remove_cvref_t<P>, arguments<Before...>, Rest..., After...> ||
         cuts_params<F>(arguments<Before..., P>{}, arguments<Rest...>{}, after);
}
/// A step called as f(x, p..., i...).
template <class F, class S, class... P, class... Index>
[[nodiscard]] consteval step_shape step_on_one(arguments<P...>, arguments<Index...>) {
  constexpr bool indexed = sizeof...(Index) > 0;
  using R = call_result<F, S&, P..., Index...>;
  constexpr bool reads = only_reads<F, R, S, arguments<>, P..., Index...>;
  constexpr bool writes = !reads || forwards<F, S, arguments<>, P..., Index...>;
  constexpr bool stops = std::is_same_v<R, bool> && writes && !std::is_same_v<S, bool>;
  if constexpr (indexed && floating_index<F, S&, P...>) return no_step(fault::floating);
  else if constexpr (narrows<F, S, arguments<>, P..., Index...>) return no_step(fault::narrow);
  else if constexpr (cuts_params<F>(arguments<S&>{}, arguments<P...>{}, arguments<Index...>{}))
    return no_step(fault::params);
  else if constexpr (std::is_void_v<R> || stops)
    return writes ? step_shape{step_form::in_place, indexed, stops, fault::none} : no_step(fault::unchanged);
  else if constexpr (!reads) return no_step(fault::both);
  else return gives<R, S> ? step_shape{step_form::by_value, indexed, false, fault::none} : no_step(fault::result);
}
/// A step called as f(x, x1, p..., i...).
template <class F, class S, class... P, class... Index>
[[nodiscard]] consteval step_shape step_on_two(arguments<P...>, arguments<Index...>) {
  constexpr bool indexed = sizeof...(Index) > 0;
  if constexpr (!calls<F, S const&, S&, P..., Index...>) return no_step(fault::shape);
  else if constexpr (indexed && floating_index<F, S const&, S&, P...>) return no_step(fault::floating);
  else if constexpr (narrows<F, S, arguments<>, S&, P..., Index...>) return no_step(fault::narrow);
  else if constexpr (cuts_params<F>(arguments<S const&, S&>{}, arguments<P...>{}, arguments<Index...>{}))
    return no_step(fault::params);
  else if constexpr (!calls_void<F, S const&, S&, P..., Index...>) return no_step(fault::both);
  else if constexpr (only_reads<F, void, S, arguments<S const&>, P..., Index...> &&
                     !forwards<F, S, arguments<S const&>, P..., Index...>)
    return no_step(fault::unchanged);
  else return {step_form::out_of_place, indexed, false, fault::none};
}

/// Whether f can be read as f(x, p, i...), where p is const. A generic f that takes p by value most likely means the
/// index by it, `auto i`; one that takes it by `auto&` most likely means the next state, and its body need not compile.
template <class F, class S, class P, class... Index>
inline constexpr bool reads_one_with = [] {
  if constexpr (!generic<std::remove_cv_t<F>>) return calls<F, S&, P const&, Index...>;
  else if constexpr (generic_by_value<F, 1, S&, P const&, Index...>) return false;
  else if constexpr (winner<rival<std::remove_cv_t<F>, S&, P const&, Index const&...>, S&, P&, Index...>() !=
                     contest::tie)
    return calls<F, S&, P const&, Index...>;
  else if constexpr (!calls<F, S&, P, Index...>) return false;  // its parameter is `auto&`, and not `auto&&`
  else return calls<F, S&, P const&, Index...>;
}();
/// The same as f(x, x1, p, i...).
template <class F, class S, class P, class... Index>
inline constexpr bool reads_two_with = [] {
  if constexpr (generic_by_value<F, 2, S const&, S&, P const&, Index...>) return false;
  else return calls<F, S const&, S&, P const&, Index...>;
}();

struct stranger {};
/// A forwarding function object that accepts only arguments it can use, such as the result of std::bind_front.
template <class F>
[[nodiscard]] consteval bool selective() {
  return winner<rival<F, stranger&, stranger const&>, stranger&, stranger>() == contest::rival;
}

enum class second_parameter : std::uint8_t { plain, next_state, anything };
/// What the second parameter of a step is. In `[](auto const& x, auto&& y)` y can only be the next state; in `[](auto&
/// x, auto&& y)` it may be anything. Both accept an index, and on a scalar state they would silently pass for (x, i).
/// Selective function objects need no such distinction.
template <class F, class S>
[[nodiscard]] consteval second_parameter second_of() {
  using enum second_parameter;
  if constexpr (!generic<F>) return plain;
  else {
    constexpr auto who = winner<rival<F, S&, step_index const&>, S&, step_index>();
    if constexpr (who == contest::rival) return plain;
    else if constexpr (who == contest::function) {  // no const call operator: a mutable lambda
      if constexpr (winner<const_rival<F, S&, step_index const&> const, S&, step_index>() == contest::rival)
        return anything;
      else return selective<F>() ? plain : anything;
    } else if constexpr (winner<rival<F, S&&, step_index const&>, S, step_index>() == contest::rival)
      return anything;  // its parameter is `auto& x`
    else if constexpr (!forwards<F, S, arguments<>, step_index>) return next_state;
    else return selective<F>() ? plain : anything;
  }
}

/// The form that a tag declares, or the fault that prevents it.
template <class F, class S, step_form Form, class... P>
[[nodiscard]] consteval step_shape step_said() {
  if constexpr (Form == step_form::out_of_place) {
    if constexpr (calls_with_index<F, S const&, S&, P...>)
      return step_on_two<F, S>(arguments<P...>{}, arguments<step_index>{});
    else return step_on_two<F, S>(arguments<P...>{}, arguments<>{});
  } else if constexpr (calls_with_index<F, S&, P...>) {
    constexpr auto read = step_on_one<F, S>(arguments<P...>{}, arguments<step_index>{});
    return read.wrong == fault::none && read.form != Form ? no_step(fault::result) : read;
  } else if constexpr (calls<F, S&, P...>) {
    constexpr auto read = step_on_one<F, S>(arguments<P...>{}, arguments<>{});
    return read.wrong == fault::none && read.form != Form ? no_step(fault::result) : read;
  } else return {};
}

/// The form of `F` as a step on states `S`; `none` if something is wrong.
template <class F, class S>
[[nodiscard]] consteval step_shape shape_of_step() {
  if constexpr (reference_to<F>) return shape_of_step<typename F::type, S>();
  else if constexpr (said_as<F, step_form>) return step_said<typename untagged<F>::type, S, form_said<F>>();
  else if constexpr (!said_as<F, untold>) return {};
  else {
    constexpr auto second = second_of<std::remove_cv_t<F>, S>();
    constexpr arguments<step_index> index;
    if constexpr (second == second_parameter::anything) return no_step(fault::two_readings);
    else if constexpr (second == second_parameter::next_state) return step_on_two<F, S>(arguments<>{}, arguments<>{});
    else if constexpr (calls_with_index<F, S&>) return step_on_one<F, S>(arguments<>{}, index);
    else if constexpr (calls<F, S&>) return step_on_one<F, S>(arguments<>{}, arguments<>{});
    else if constexpr (calls_with_index<F, S const&, S&>) return step_on_two<F, S>(arguments<>{}, index);
    else return step_on_two<F, S>(arguments<>{}, arguments<>{});
  }
}
/// The same for a step that takes the parameters of the loop, `p`, before its index.
template <class F, class S, class P>
[[nodiscard]] consteval step_shape shape_of_step_with() {
  constexpr arguments<P const&> p;
  constexpr arguments<step_index> index;
  if constexpr (reference_to<F>) return shape_of_step_with<typename F::type, S, P>();
  else if constexpr (said_as<F, step_form>) return step_said<typename untagged<F>::type, S, form_said<F>, P const&>();
  else if constexpr (!said_as<F, untold>) return {};
  else if constexpr (reads_one_with<F, S, P, step_index>) return step_on_one<F, S>(p, index);
  else if constexpr (reads_one_with<F, S, P>) return step_on_one<F, S>(p, arguments<>{});
  else if constexpr (reads_two_with<F, S, P, step_index>) return step_on_two<F, S>(p, index);
  else if constexpr (reads_two_with<F, S, P>) return step_on_two<F, S>(p, arguments<>{});
  else return {};
}

}  // namespace cairn::detail
