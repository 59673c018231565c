// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file adjoint_shape.hpp  Finds the form of an adjoint. The forms are tried in this order: record and reverse, (x,
/// bar, i), (x, bar), (x, bar, first, last), (x, x1, bar, i).
#include <type_traits>
#include <utility>
#include <cairn/core/action.hpp>
#include <cairn/core/state_traits.hpp>
#include <cairn/door/detail/step_shape.hpp>
#include <cairn/door/library_bar.hpp>
#include <cairn/rules/frames_needed.hpp>

namespace cairn::detail {

/// The state as the adjoint receives it. An object is passed non-const: the sweep does not return to this state, so the
/// adjoint may change it.
template <class State>
using lent_state = std::conditional_t<saved_state<State>, State&, State const&>;

struct adjoint_shape {
  adjoint_form form = adjoint_form::none;
  bool indexed = true;           ///< the `record` of `recorded` takes the index
  bool ambiguous = false;        ///< fits both (x, bar, first, last) and (x, x1, bar, i)
  bool by_value = false;         ///< returns the new adjoint
  bool reverse_indexed = false;  ///< the `reverse` of `recorded` takes the index
  fault wrong = fault::shape;
  [[nodiscard]] constexpr bool is(fault what) const noexcept { return wrong == what; }
};
/// That of an adjoint made of another one, which takes p and dp for it, and an index.
[[nodiscard]] constexpr adjoint_shape made_adjoint(adjoint_form form, fault wrong = fault::none) {
  return {form, true, false, false, false, wrong};
}
consteval adjoint_shape no_adjoint(fault wrong) {
  return {adjoint_form::none, true, wrong == fault::two_readings, false, false, wrong};
}

/// Whether f can be called as f(before..., p, dp, i...): a generic f takes p and dp by reference; what it takes by value
/// there is most likely its index. Without `P...`: as f(before..., i...).
template <class Fn, class Before, class... ParamsGiven> struct reads_before;
template <class Fn, class... Before>
struct reads_before<Fn, arguments<Before...>> {
  template <class... Index> static constexpr bool before = calls<Fn, Before..., Index...>;
};
template <class Fn, class... Before, class ParamsGiven, class... Sum>
struct reads_before<Fn, arguments<Before...>, ParamsGiven, Sum...> {
  template <class... Index>
  static constexpr bool before = [] {
    constexpr std::size_t place = sizeof...(Before);
    if constexpr (sizeof...(Sum) > 0 &&
                  mutable_takes_auto<std::remove_cv_t<Fn>, place + 1, Before..., ParamsGiven, Sum..., Index...>())
      return false;
    else if constexpr (generic_by_value<Fn, place, Before..., ParamsGiven, Sum..., Index...>) return false;
    else if constexpr (sizeof...(Sum) == 0) return calls<Fn, Before..., ParamsGiven, Index...>;
    else if constexpr (generic_by_value<Fn, place + 1, Before..., ParamsGiven, Sum..., Index...>) return false;
    else return calls<Fn, Before..., ParamsGiven, Sum..., Index...>;
  }();
};
/// With a temporary index and with a const one.
template <class Fn, class Before, class... ParamsGiven>
inline constexpr bool reads_index = reads_before<Fn, Before, ParamsGiven...>::template before<step_index> &&
                                    reads_before<Fn, Before, ParamsGiven...>::template before<step_index const&>;

/// An adjoint called as f(before..., bar, p, dp, index...), where p and dp are `P...`, or nothing.
template <adjoint_form Form, class Fn, class Bar, class Before, class Params, class... Index>
struct adjoint_read;
template <adjoint_form Form, class Fn, class Bar, class... Before, class... ParamsGiven, class... Index>
struct adjoint_read<Form, Fn, Bar, arguments<Before...>, arguments<ParamsGiven...>, Index...> {
  static consteval adjoint_shape get() {
    using Result = call_result<Fn, Before..., Bar&, ParamsGiven..., Index...>;
    constexpr bool by_value = !std::is_void_v<Result>,
                   reads = only_reads<Fn, Result, Bar, arguments<Before...>, ParamsGiven..., Index...>;
    constexpr bool writes = !reads || forwards<Fn, Bar, arguments<Before...>, ParamsGiven..., Index...>;
    constexpr auto found =
        fault_of_call<Fn>(call_with<given<Before>..., may_change<Bar>>{} + given_params(arguments<ParamsGiven...>{}) +
                          counts_in(arguments<Index...>{}));
    if constexpr (found != fault::none) return no_adjoint(found);
    else if constexpr (by_value && !reads) return no_adjoint(fault::both);
    else if constexpr (by_value && !gives<Result, Bar>) return no_adjoint(fault::result);
    else if constexpr (!by_value && !writes) return no_adjoint(fault::unchanged);
    else return {Form, sizeof...(Index) > 0, false, by_value, false, fault::none};
  }

 private:
  /// A state, const or not, or a tape.
  template <class Passed>
  using given = std::conditional_t<std::is_const_v<std::remove_reference_t<Passed>>,
                                   reads<std::remove_cvref_t<Passed>>, may_change<std::remove_reference_t<Passed>>>;
};

template <class Fn, class State, class Bar, class... ParamsGiven>
consteval adjoint_shape one_step_adjoint() {
  using x = lent_state<State>;
  if constexpr (!reads_index<Fn, arguments<x, Bar&>, ParamsGiven...>)
    return adjoint_read<adjoint_form::one_step, Fn, Bar, arguments<x>, arguments<ParamsGiven...>>::get();
  else return adjoint_read<adjoint_form::one_step, Fn, Bar, arguments<x>, arguments<ParamsGiven...>, step_index>::get();
}
/// The adjoint as (x, bar, first, last), or as (x, x1, bar, i).
template <adjoint_form Form, class Fn, class State, class Bar, class... ParamsGiven>
consteval adjoint_shape adjoint_as() {
  constexpr auto read = []<class... Before, class... Index>(arguments<Before...>, arguments<Index...>) -> adjoint_shape {
    if constexpr (!reads_before<Fn, arguments<Before..., Bar&>, ParamsGiven...>::template before<Index...>)
      return no_adjoint(fault::shape);
    else return adjoint_read<Form, Fn, Bar, arguments<Before...>, arguments<ParamsGiven...>, Index...>::get();
  };
  if constexpr (Form == adjoint_form::leaf)
    return read(arguments<lent_state<State>>{}, arguments<step_index, step_index>{});
  else return read(arguments<State const&, State const&>{}, arguments<step_index>{});
}
[[nodiscard]] constexpr adjoint_form leaf_or_next(bool leaf) noexcept {
  return leaf ? adjoint_form::leaf : adjoint_form::with_next;
}

/// Reads an adjoint of four arguments, and p and dp. `auto& bar` of a leaf adjoint would bind to a const x1, so x1 is
/// tried as an rvalue.
template <class Fn, class State, class Bar, class... ParamsGiven>
consteval adjoint_shape four_argument_adjoint() {
  if constexpr (saved_state<State>) {  // objects have no x1
    constexpr bool as_leaf = calls<Fn, State&, Bar&, ParamsGiven..., step_index, step_index>;
    return adjoint_as<leaf_or_next(as_leaf), Fn, State, Bar, ParamsGiven...>();
  } else {
    constexpr bool as_leaf = fits<Fn, State, Bar&, ParamsGiven..., step_index, step_index>(),
                   as_next = fits<Fn, State, State, Bar&, ParamsGiven..., step_index>();
    if constexpr (as_leaf && as_next) return no_adjoint(fault::two_readings);
    else return adjoint_as<leaf_or_next(as_leaf), Fn, State, Bar, ParamsGiven...>();
  }
}

/// An adjoint called as f(x[, p, dp][, i]), or for a leaf as f(x[, p, dp], first, last): the library stores bar.
template <adjoint_form Form, class Fn, class Input, class... ParamsGiven>
consteval adjoint_shape adjoint_without_bar() {
  constexpr auto read = []<class... Index>(arguments<Index...>) -> adjoint_shape {
    using state = std::remove_reference_t<Input>;
    constexpr auto found = fault_of_call<Fn>(call_with<may_change<state>>{} + given_params(arguments<ParamsGiven...>{}) +
                                             counts_in(arguments<Index...>{}));
    if constexpr (!std::is_void_v<call_result<Fn, Input, ParamsGiven..., Index...>>) return no_adjoint(fault::both);
    else if constexpr (found != fault::none) return no_adjoint(found);
    else return {sizeof...(Index) == 2 ? adjoint_form::leaf : Form, sizeof...(Index) > 0, false, false, false,
                 fault::none};
  };
  using reads = reads_before<Fn, arguments<Input>, ParamsGiven...>;
  if constexpr (reads_index<Fn, arguments<Input>, ParamsGiven...>) return read(arguments<step_index>{});
  else if constexpr (reads::template before<>) return read(arguments<>{});
  else if constexpr (Form != adjoint_form::recorded && reads::template before<step_index, step_index>)
    return read(arguments<step_index, step_index>{});
  else return no_adjoint(fault::shape);
}

/// An object with members `record` and `reverse`, as `recorded` has.
template <class Fn>
concept recorder = requires(Fn& f) {
  sizeof(f.record);
  sizeof(f.reverse);
};
/// A reference wrapper around an adjoint that is not a recorder: only its call operator can be used.
template <class Fn>
concept reference_to_adjoint = reference_to<Fn> && !recorder<typename Fn::type>;
template <class Fn>
using record_of = std::remove_reference_t<decltype((std::declval<Fn&>().record))>;
template <class Fn>
using reverse_of = std::remove_reference_t<decltype((std::declval<Fn&>().reverse))>;

/// `Given...`: p as record takes it, or nothing; `P...`: p and dp as reverse takes them, or nothing.
template <class Record, class Reverse, class State, class Bar, class... Given, class... ParamsGiven, class... Index>
consteval adjoint_shape reverse_after(arguments<Given...>, arguments<ParamsGiven...>,
                                                    arguments<Index...>) {
  using Result = call_result<Record, State&, Given..., Index...>;
  using tape = std::remove_cvref_t<Result>;
  constexpr bool moves_on = !only_reads<Record, Result, State, arguments<>, Given..., Index...> ||
                            forwards<Record, State, arguments<>, Given..., Index...>;
  constexpr auto with = [](adjoint_shape read) {
    read.reverse_indexed = read.indexed;
    read.indexed = sizeof...(Index) > 0;
    return read;
  };
  constexpr auto found = fault_of_call<Record>(call_with<may_change<State>>{} + given_params(arguments<Given...>{}) +
                                               counts_in(arguments<Index...>{}));
  if constexpr (found != fault::none) return no_adjoint(found);
  else if constexpr (std::is_void_v<Result> || !moves_on) return no_adjoint(fault::tape);
  else if constexpr (!standalone<tape>) return no_adjoint(fault::refers);
  else if constexpr (barless<Bar>)
    return with(adjoint_without_bar<adjoint_form::recorded, Reverse, tape&, ParamsGiven...>());
  else if constexpr (reads_index<Reverse, arguments<tape&, Bar&>, ParamsGiven...>)
    return with(adjoint_read<adjoint_form::recorded, Reverse, Bar, arguments<tape&>, arguments<ParamsGiven...>,
                             step_index>::get());
  else if constexpr (reads_before<Reverse, arguments<tape&, Bar&>, ParamsGiven...>::template before<>)
    return with(adjoint_read<adjoint_form::recorded, Reverse, Bar, arguments<tape&>, arguments<ParamsGiven...>>::get());
  else return no_adjoint(fault::tape);
}
template <class Record, class Reverse, class State, class Bar>
consteval adjoint_shape recorded_adjoint() {
  constexpr arguments<> none;
  if constexpr (calls_with_index<Record, State&>)
    return reverse_after<Record, Reverse, State, Bar>(none, none, arguments<step_index>{});
  else if constexpr (calls<Record, State&>) return reverse_after<Record, Reverse, State, Bar>(none, none, none);
  else return no_adjoint(fault::tape);
}
/// Functions made of others take p and dp in the library's own form, as steps made of others do: `run<State>(p, i, x)` of
/// a record, `back(tape, bar, p, dp, i)` of a reverse, `back<State>(x, x1, bar, p, dp, from, to)` of other adjoints.
template <class Fn, class State, class ParamsGiven>
concept binds_record = requires { Fn::template record_with<State, ParamsGiven>(); };
template <class Fn, class Tape, class Bar, class ParamsGiven, class Sum>
concept binds_reverse = requires { Fn::template reverse_with<Tape, Bar, ParamsGiven, Sum>(); };
template <class Fn, class State, class Bar, class ParamsGiven, class Sum>
concept binds_adjoint = requires { Fn::template adjoint_with<State, Bar, ParamsGiven, Sum>(); };
/// As which such a record and such a reverse are read.
template <class Fn, class State, class ParamsGiven>
struct record_bound {
  auto operator()(State& x, step_index i) const
      -> decltype(std::declval<Fn&>().template run<State>(std::declval<ParamsGiven const&>(), i, x));
};
template <class Tape, class Bar> struct reverse_bound { void operator()(Tape&, Bar&, step_index) const; };
template <class Tape> struct reverse_bound<Tape, library_bar> { void operator()(Tape&, step_index) const; };

/// Whether f can be read as tape = f(x, p[, i]).
template <class Fn, class State, class ParamsGiven>
consteval bool record_takes() {
  if constexpr (binds_record<Fn, State, ParamsGiven>) return Fn::template record_with<State, ParamsGiven>();
  else return reads_one_with<Fn, State, ParamsGiven, step_index> || reads_one_with<Fn, State, ParamsGiven>;
}
/// Whether f can be read as f(tape, bar, p, dp[, i]).
template <class Fn, class Tape, class Bar, class ParamsGiven, class Sum>
consteval bool reverse_takes() {
  using before = std::conditional_t<barless<Bar>, arguments<Tape&>, arguments<Tape&, Bar&>>;
  using reads = reads_before<Fn, before, ParamsGiven const&, Sum&>;
  if constexpr (binds_reverse<Fn, Tape, Bar, ParamsGiven, Sum>)
    return Fn::template reverse_with<Tape, Bar, ParamsGiven, Sum>();
  else return reads_index<Fn, before, ParamsGiven const&, Sum&> || reads::template before<>;
}
/// The form of a recorder whose record is called as record(x, given..., index...).
template <class Record, class Reverse, class State, class Bar, class ParamsGiven, class Sum, class... Given,
          class... Index>
consteval adjoint_shape reversed_with(arguments<Given...> given, arguments<Index...> index) {
  using tape = std::remove_cvref_t<call_result<Record, State&, Given..., Index...>>;
  if constexpr (!binds_reverse<Reverse, tape, Bar, ParamsGiven, Sum>)
    return reverse_after<Record, Reverse, State, Bar>(given, arguments<ParamsGiven const&, Sum&>{}, index);
  else if constexpr (!reverse_takes<Reverse, tape, Bar, ParamsGiven, Sum>()) return no_adjoint(fault::tape);
  else
    return reverse_after<Record, reverse_bound<tape, Bar>, State, Bar>(given, arguments<>{}, index);
}
template <class Record, class Reverse, class State, class Bar, class ParamsGiven, class Sum>
consteval adjoint_shape recorded_adjoint_with() {
  constexpr arguments<ParamsGiven const&> p;
  constexpr arguments<step_index> index;
  constexpr arguments<> none;
  if constexpr (!record_takes<Record, State, ParamsGiven>()) return no_adjoint(fault::tape);
  else if constexpr (binds_record<Record, State, ParamsGiven>)
    return reversed_with<record_bound<Record, State, ParamsGiven>, Reverse, State, Bar, ParamsGiven, Sum>(none, index);
  else if constexpr (reads_one_with<Record, State, ParamsGiven, step_index>)
    return reversed_with<Record, Reverse, State, Bar, ParamsGiven, Sum>(p, index);
  else return reversed_with<Record, Reverse, State, Bar, ParamsGiven, Sum>(p, none);
}

/// Whether an adjoint call may leave an object in another state. For a function with one signature, the parameter x
/// decides: only a non-const reference may. For all other functions only the body would show it, so they are assumed to
/// do so unless they have a member `moves_object` that denies it.
/// `P...`: p and dp, if the adjoint takes them.
template <class Fn, class State, class Bar, class... ParamsGiven>
consteval bool moves_object() {
  if constexpr (!saved_state<State>) return false;
  else if constexpr (reference_to_adjoint<Fn>) return moves_object<typename Fn::type, State, Bar, ParamsGiven...>();
  else if constexpr (requires { untagged<Fn>::type::moves_object; }) return untagged<Fn>::type::moves_object;
  else {
    using called = typename untagged<Fn>::type;
    if constexpr (!one_signature<called>) return true;
    else
      return []<class... Own>(arguments<Own...>) {
        return !calls<called, State const&, Own..., ParamsGiven...> &&
               !calls<called, State const&, Own..., ParamsGiven..., step_index> &&
               !calls<called, State const&, Own..., ParamsGiven..., step_index, step_index>;
      }(std::conditional_t<barless<Bar>, arguments<>, arguments<Bar&>>{});
  }
}

/// The form of an adjoint that is not made of others. `P...`: p and dp, if it takes them.
template <class Fn, class State, class Bar, class... ParamsGiven>
consteval adjoint_shape shape_of_own() {
  using before = arguments<lent_state<State>, Bar&>;
  if constexpr (named_as<Fn, adjoint_form>) {
    using called = typename untagged<Fn>::type;
    if constexpr (barless<Bar>) {
      constexpr auto read = adjoint_without_bar<adjoint_form::one_step, called, lent_state<State>, ParamsGiven...>();
      return read.form == form_said<Fn> || read.form == adjoint_form::none ? read : no_adjoint(fault::shape);
    } else return adjoint_as<leaf_or_next(form_said<Fn> == adjoint_form::leaf), called, State, Bar, ParamsGiven...>();
  } else if constexpr (!named_as<Fn, unnamed_form>) return {};
  else if constexpr (recorder<Fn>) {
    if constexpr (sizeof...(ParamsGiven) == 0) return recorded_adjoint<record_of<Fn>, reverse_of<Fn>, State, Bar>();
    else return recorded_adjoint_with<record_of<Fn>, reverse_of<Fn>, State, Bar, std::remove_cvref_t<ParamsGiven>...>();
  } else if constexpr (barless<Bar>)
    return adjoint_without_bar<adjoint_form::one_step, Fn, lent_state<State>, ParamsGiven...>();
  else if constexpr (reads_index<Fn, before, ParamsGiven...> ||
                     reads_before<Fn, before, ParamsGiven...>::template before<>)
    return one_step_adjoint<Fn, State, Bar, ParamsGiven...>();
  else return four_argument_adjoint<Fn, State, Bar, ParamsGiven...>();
}
/// The form of `Fn` as an adjoint on states `State` and adjoints `Bar`; `none` if something is wrong.
template <class Fn, class State, class Bar>
consteval adjoint_shape shape_of_adjoint() {
  if constexpr (bound_as<Fn, adjoint_shape>) return std::is_same_v<typename Fn::bar_type, Bar> ? Fn::bound_shape : adjoint_shape{};
  else if constexpr (reference_to_adjoint<Fn>) return shape_of_adjoint<typename Fn::type, State, Bar>();
  else return shape_of_own<Fn, State, Bar>();
}
/// The same for an adjoint that takes the parameters of the loop, p, and the sum of their gradient, dp, before its
/// index.
template <class Fn, class State, class Bar, class ParamsGiven, class Sum>
consteval adjoint_shape shape_of_adjoint_with() {
  if constexpr (reference_to_adjoint<Fn>)
    return shape_of_adjoint_with<typename Fn::type, State, Bar, ParamsGiven, Sum>();
  else if constexpr (binds_adjoint<Fn, State, Bar, ParamsGiven, Sum>)
    return Fn::template adjoint_with<State, Bar, ParamsGiven, Sum>();
  else return shape_of_own<Fn, State, Bar, ParamsGiven const&, Sum&>();
}

}  // namespace cairn::detail
