// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file step_shape.hpp  Finds the form of a step. The forms are tried in this order: (x, i), (x), (x, x1, i), (x, x1).
/// The index is passed as a temporary, so that `auto& x1` cannot bind to it. x is not const, because the body of
/// `[](auto& x, auto i)` would not compile for a const x. Parameters `P...` of the loop, if any, come before the index.
#include <cstdint>
#include <type_traits>
#include <cairn/core/action.hpp>
#include <cairn/core/sweep_bytes.hpp>
#include <cairn/door/detail/callable.hpp>
#include <cairn/door/detail/signature.hpp>
#include <cairn/door/detail/user_function.hpp>
#include <cairn/rules/frames_needed.hpp>

namespace cairn::detail {

/// A function with a declared form.
template <auto Form, class Fn>
struct tagged {
  [[no_unique_address]] Fn call;
  template <class... Args>
  requires calls<Fn, Args...>
  constexpr decltype(auto) operator()(Args&&... all) { return call(std::forward<Args>(all)...); }
  template <class... Args>
  requires calls<Fn const, Args...>
  constexpr decltype(auto) operator()(Args&&... all) const { return call(std::forward<Args>(all)...); }
};
struct unnamed_form {};
template <class Fn>
inline constexpr auto form_said = unnamed_form{};
template <auto Form, class Fn>
inline constexpr auto form_said<tagged<Form, Fn>> = Form;
template <auto Form, class Fn>
inline constexpr auto form_said<tagged<Form, Fn> const> = Form;
template <class Fn>
struct untagged {
  using type = Fn;
};
template <auto Form, class Fn>
struct untagged<tagged<Form, Fn>> {
  using type = std::remove_reference_t<Fn>;
};
template <auto Form, class Fn>
struct untagged<tagged<Form, Fn> const> {
  using type = std::remove_reference_t<Fn const>;
};
/// A std::reference_wrapper, recognised without including `<functional>`; it is read as the function it refers to.
template <class Fn>
concept reference_to = requires(Fn& f) {
  requires std::is_same_v<decltype(f.get()), typename Fn::type&>;
  requires std::is_convertible_v<Fn&, typename Fn::type&>;
};
/// What a std::reference_wrapper refers to; anything else itself.
template <class Fn>
[[nodiscard]] constexpr auto& referred_to(Fn& f) noexcept {
  if constexpr (reference_to<Fn>) return f.get();
  else return f;
}
/// Passed before the first step of a loop to steps that accept it: those that keep a record of the loop, as `adaptive`
/// does, or check whether the loop is long enough, as `with_jumps` does.
struct loop_begins {
  step_index steps = -1;  ///< length of the loop; -1 if it is not known yet
  step_index leaf = 1;    ///< most steps that one adjoint call of its plan reverses
  bool anew = false;      ///< a new loop follows, whatever the last one recorded
  wide leaf_bytes = unknown_bytes;  ///< what a budget leaves for what a leaf holds
};
/// Asks a step that repeats what it recorded to choose anew.
struct chosen_anew {};
template <class Step>
concept begins_loops = requires(Step& step) { step.begin(loop_begins{}); };
template <class Step>
constexpr void begin_loop(Step& step, loop_begins loop = {}) {
  if constexpr (!std::is_same_v<typename untagged<Step>::type, Step>) begin_loop(step.call, loop);
  else if constexpr (reference_to<Step>) begin_loop(step.get(), loop);
  else if constexpr (begins_loops<Step>) step.begin(loop);
}
template <class Fn, class Form>
concept named_as = std::is_same_v<std::remove_const_t<decltype(form_said<Fn>)>, Form>;

struct step_shape {
  step_form form = step_form::none;
  bool indexed = true;
  bool stops = false;  ///< in place, returns bool; only for `checkpointed_while`
  fault wrong = fault::shape;
  [[nodiscard]] constexpr bool is(fault what) const noexcept { return wrong == what; }
};
/// A function of the library whose form is known.
template <class Fn, class Shape>
concept bound_as = std::is_same_v<std::remove_const_t<decltype(Fn::bound_shape)>, Shape>;
consteval step_shape no_step(fault wrong) { return {step_form::none, true, false, wrong}; }

/// Callable with a temporary index and with a const one.
template <class Fn, class... Before>
concept calls_with_index = calls<Fn, Before..., step_index> && calls<Fn, Before..., step_index const&>;

/// A step called as f(x, p..., i...).
template <class Fn, class State, class... Params, class... Index>
consteval step_shape step_on_one(arguments<Params...>, arguments<Index...>) {
  constexpr bool indexed = sizeof...(Index) > 0;
  using Result = call_result<Fn, State&, Params..., Index...>;
  constexpr bool reads = only_reads<Fn, Result, State, arguments<>, Params..., Index...>;
  constexpr bool writes = !reads || forwards<Fn, State, arguments<>, Params..., Index...>;
  constexpr bool stops = std::is_same_v<Result, bool> && writes && !std::is_same_v<State, bool>;
  constexpr auto found = fault_of_call<Fn>(call_with<may_change<State>>{} + given_params(arguments<Params...>{}) +
                                           counts_in(arguments<Index...>{}));
  if constexpr (found != fault::none) return no_step(found);
  else if constexpr (std::is_void_v<Result> || stops)
    return writes ? step_shape{step_form::in_place, indexed, stops, fault::none} : no_step(fault::unchanged);
  else if constexpr (!reads) return no_step(fault::both);
  else
    return gives<Result, State> ? step_shape{step_form::by_value, indexed, false, fault::none} : no_step(fault::result);
}
/// A step called as f(x, x1, p..., i...).
template <class Fn, class State, class... Params, class... Index>
consteval step_shape step_on_two(arguments<Params...>, arguments<Index...>) {
  constexpr bool indexed = sizeof...(Index) > 0;
  if constexpr (!calls<Fn, State const&, State&, Params..., Index...>) return no_step(fault::shape);
  else if constexpr (constexpr auto found =
                         fault_of_call<Fn>(call_with<reads<State>, changes<State>>{} +
                                           given_params(arguments<Params...>{}) + counts_in(arguments<Index...>{}));
                     found != fault::none)
    return no_step(found);
  else if constexpr (!calls_void<Fn, State const&, State&, Params..., Index...>) return no_step(fault::both);
  else return {step_form::out_of_place, indexed, false, fault::none};
}

/// Whether f can be read as f(x, p, i...), where p is const. A generic f that takes p by value most likely means the
/// index by it, `auto i`; one that takes it by `auto&` most likely means the next state, and its body need not compile.
template <class Fn, class State, class Params, class... Index>
inline constexpr bool reads_one_with = [] {
  if constexpr (!generic<std::remove_cv_t<Fn>>) return calls<Fn, State&, Params const&, Index...>;
  else if constexpr (generic_by_value<Fn, 1, State&, Params const&, Index...>) return false;
  else if constexpr (winner<rival<std::remove_cv_t<Fn>, State&, Params const&, Index const&...>, State&, Params&,
                            Index...>() != contest::tie)
    return calls<Fn, State&, Params const&, Index...>;
  else if constexpr (!calls<Fn, State&, Params, Index...>) return false;  // its parameter is `auto&`, and not `auto&&`
  else return calls<Fn, State&, Params const&, Index...>;
}();
/// The same as f(x, x1, p, i...).
template <class Fn, class State, class Params, class... Index>
inline constexpr bool reads_two_with = [] {
  if constexpr (mutable_takes_auto<std::remove_cv_t<Fn>, 2, State const&, State&, Params const&, Index...>())
    return false;
  else if constexpr (generic_by_value<Fn, 1, State const&, State&, Params const&, Index...>) return false;
  else if constexpr (generic_by_value<Fn, 2, State const&, State&, Params const&, Index...>) return false;
  else return calls<Fn, State const&, State&, Params const&, Index...>;
}();

struct stranger {};
/// A forwarding function object that accepts only arguments it can use, such as the result of std::bind_front.
template <class Fn>
consteval bool selective() {
  return winner<rival<Fn, stranger&, stranger const&>, stranger&, stranger>() == contest::rival;
}

enum class second_parameter : std::uint8_t { plain, next_state, anything };
/// What the second parameter of a step is. In `[](auto const& x, auto&& y)` y can only be the next state; in `[](auto&
/// x, auto&& y)` it may be anything. Both accept an index, and on a scalar state they would silently pass for (x, i).
/// Selective function objects need no such distinction.
template <class Fn, class State>
consteval second_parameter second_of() {
  using enum second_parameter;
  if constexpr (!generic<Fn>) return plain;
  else {
    constexpr auto who = winner<rival<Fn, State&, step_index const&>, State&, step_index>();
    if constexpr (who == contest::rival) return plain;
    else if constexpr (who == contest::function) {  // no const call operator: a mutable lambda
      if constexpr (winner<const_rival<Fn, State&, step_index const&> const, State&, step_index>() == contest::rival)
        return anything;
      else return selective<Fn>() ? plain : anything;
    } else if constexpr (winner<rival<Fn, State&&, step_index const&>, State, step_index>() == contest::rival)
      return anything;  // its parameter is `auto& x`
    else if constexpr (!forwards<Fn, State, arguments<>, step_index>) return next_state;
    else return selective<Fn>() ? plain : anything;
  }
}

/// The form that a tag declares, or the fault that prevents it.
template <class Fn, class State, step_form Form, class... Params>
consteval step_shape step_said() {
  if constexpr (Form == step_form::out_of_place) {
    if constexpr (calls_with_index<Fn, State const&, State&, Params...>)
      return step_on_two<Fn, State>(arguments<Params...>{}, arguments<step_index>{});
    else return step_on_two<Fn, State>(arguments<Params...>{}, arguments<>{});
  } else {
    constexpr auto read = [] {
      if constexpr (calls_with_index<Fn, State&, Params...>)
        return step_on_one<Fn, State>(arguments<Params...>{}, arguments<step_index>{});
      else if constexpr (calls<Fn, State&, Params...>)
        return step_on_one<Fn, State>(arguments<Params...>{}, arguments<>{});
      else return step_shape{};
    }();
    return read.wrong == fault::none && read.form != Form ? no_step(fault::result) : read;
  }
}

/// The form of `Fn` as a step on states `State`; `none` if something is wrong.
template <class Fn, class State>
consteval step_shape shape_of_step() {
  if constexpr (bound_as<Fn, step_shape>) return Fn::bound_shape;
  else if constexpr (reference_to<Fn>) return shape_of_step<typename Fn::type, State>();
  else if constexpr (named_as<Fn, step_form>) return step_said<typename untagged<Fn>::type, State, form_said<Fn>>();
  else if constexpr (!named_as<Fn, unnamed_form>) return {};
  else {
    constexpr auto second = second_of<std::remove_cv_t<Fn>, State>();
    constexpr arguments<step_index> index;
    if constexpr (second == second_parameter::anything) return no_step(fault::two_readings);
    else if constexpr (second == second_parameter::next_state)
      return step_on_two<Fn, State>(arguments<>{}, arguments<>{});
    else if constexpr (calls_with_index<Fn, State&>) return step_on_one<Fn, State>(arguments<>{}, index);
    else if constexpr (calls<Fn, State&>) return step_on_one<Fn, State>(arguments<>{}, arguments<>{});
    else if constexpr (calls_with_index<Fn, State const&, State&>) return step_on_two<Fn, State>(arguments<>{}, index);
    else return step_on_two<Fn, State>(arguments<>{}, arguments<>{});
  }
}
/// A step made of other functions, as `nested` makes one: it is called as `run<State>(p, i, x...)`, with `no_params` in a
/// loop that has none. What fits its parts is known only to itself.
template <class Fn, class State, class Params>
concept binds_step = requires { Fn::template step_with<State, Params>(); };

/// A step made of others that cannot do without the parameters of a loop.
template <class Fn>
concept needs_params = Fn::needs_params;

/// The same for a step that takes the parameters of the loop, `p`, before its index.
template <class Fn, class State, class Params>
consteval step_shape shape_of_step_with() {
  constexpr arguments<Params const&> p;
  constexpr arguments<step_index> index;
  if constexpr (reference_to<Fn>) return shape_of_step_with<typename Fn::type, State, Params>();
  else if constexpr (binds_step<Fn, State, Params>) return Fn::template step_with<State, Params>();
  else if constexpr (named_as<Fn, step_form>)
    return step_said<typename untagged<Fn>::type, State, form_said<Fn>, Params const&>();
  else if constexpr (!named_as<Fn, unnamed_form>) return {};
  else if constexpr (reads_one_with<Fn, State, Params, step_index>) return step_on_one<Fn, State>(p, index);
  else if constexpr (reads_one_with<Fn, State, Params>) return step_on_one<Fn, State>(p, arguments<>{});
  else if constexpr (reads_two_with<Fn, State, Params, step_index>) return step_on_two<Fn, State>(p, index);
  else if constexpr (reads_two_with<Fn, State, Params>) return step_on_two<Fn, State>(p, arguments<>{});
  else return {};
}

}  // namespace cairn::detail
