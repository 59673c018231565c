// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file step_shape.hpp  Finds the form of a step. The forms are tried in this order: (x, i), (x), (x, x1, i), (x, x1).
/// The index is passed as a temporary, so that `auto& x1` cannot bind to it. x is not const, because the body of
/// `[](auto& x, auto i)` would not compile for a const x.
#include <cstdint>
#include <type_traits>
#include <cairn/core/action.hpp>
#include <cairn/core/detail/callable.hpp>
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

/// A step called as f(x, i...).
template <class F, class S, class... Index>
[[nodiscard]] consteval step_shape step_on_one() {
  constexpr bool indexed = sizeof...(Index) > 0;
  using R = call_result<F, S&, Index...>;
  constexpr bool reads = only_reads<F, R, S, arguments<>, Index...>;
  constexpr bool writes = !reads || forwards<F, S, arguments<>, Index...>;
  constexpr bool stops = std::is_same_v<R, bool> && writes && !std::is_same_v<S, bool>;
  if constexpr (indexed && floating_index<F, S&>) return no_step(fault::floating);
  else if constexpr (narrows<F, S, arguments<>, Index...>) return no_step(fault::narrow);
  else if constexpr (std::is_void_v<R> || stops)
    return writes ? step_shape{step_form::in_place, indexed, stops, fault::none} : no_step(fault::unchanged);
  else if constexpr (!reads) return no_step(fault::both);
  else return gives<R, S> ? step_shape{step_form::by_value, indexed, false, fault::none} : no_step(fault::result);
}
/// A step called as f(x, x1, i...).
template <class F, class S, class... Index>
[[nodiscard]] consteval step_shape step_on_two() {
  constexpr bool indexed = sizeof...(Index) > 0;
  if constexpr (!calls<F, S const&, S&, Index...>) return no_step(fault::shape);
  else if constexpr (indexed && floating_index<F, S const&, S&>) return no_step(fault::floating);
  else if constexpr (narrows<F, S, arguments<>, S&, Index...>) return no_step(fault::narrow);
  else if constexpr (!calls_void<F, S const&, S&, Index...>) return no_step(fault::both);
  else if constexpr (only_reads<F, void, S, arguments<S const&>, Index...> &&
                     !forwards<F, S, arguments<S const&>, Index...>)
    return no_step(fault::unchanged);
  else return {step_form::out_of_place, indexed, false, fault::none};
}

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
template <class F, class S, step_form Form>
[[nodiscard]] consteval step_shape step_said() {
  if constexpr (Form == step_form::out_of_place) {
    if constexpr (calls_with_index<F, S const&, S&>) return step_on_two<F, S, step_index>();
    else return step_on_two<F, S>();
  } else if constexpr (calls_with_index<F, S&>) {
    constexpr auto read = step_on_one<F, S, step_index>();
    return read.wrong == fault::none && read.form != Form ? no_step(fault::result) : read;
  } else if constexpr (calls<F, S&>) {
    constexpr auto read = step_on_one<F, S>();
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
    if constexpr (second == second_parameter::anything) return no_step(fault::two_readings);
    else if constexpr (second == second_parameter::next_state) return step_on_two<F, S>();
    else if constexpr (calls_with_index<F, S&>) return step_on_one<F, S, step_index>();
    else if constexpr (calls<F, S&>) return step_on_one<F, S>();
    else if constexpr (calls_with_index<F, S const&, S&>) return step_on_two<F, S, step_index>();
    else return step_on_two<F, S>();
  }
}

}  // namespace cairn::detail
