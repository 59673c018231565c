// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file adjoint_checks.hpp  The checks that are possible before the reverse sweep: of adjoints, tapes and hooks.
#include <type_traits>
#include <cairn/core/action.hpp>
#include <cairn/core/numbers.hpp>
#include <cairn/core/state_traits.hpp>
#include <cairn/door/detail/checks.hpp>
#include <cairn/door/forms.hpp>
#include <cairn/door/wrt.hpp>

namespace cairn::detail {

/// Whether a recording adjoint copies states into its tapes, as jumps do.
template <class Adjoint>
inline constexpr bool copies_into_tape = requires(Adjoint & given) {
  std::remove_cvref_t<decltype(given.record)>::copies;
};

/// The tape of a recording adjoint.
template <class Fn, class State, class Params>
consteval auto find_tape() {
  using record = record_of<Fn>;
  constexpr auto tape = []<class Result>(std::type_identity<Result>) {
    return std::type_identity<std::remove_cvref_t<Result>>{};
  };
  if constexpr (no_p<Params>) {
    if constexpr (calls_with_index<record, State&>)
      return tape(std::type_identity<call_result<record, State&, step_index>>{});
    else return tape(std::type_identity<call_result<record, State&>>{});
  } else if constexpr (binds_record<record, State, Params>)
    return tape(std::type_identity<call_result<record_bound<record, State, Params>, State&, step_index>>{});
  else if constexpr (reads_one_with<record, State, Params, step_index>)
    return tape(std::type_identity<call_result<record, State&, Params const&, step_index>>{});
  else return tape(std::type_identity<call_result<record, State&, Params const&>>{});
}
template <class Fn, class State, class Params> using tape_in = typename decltype(find_tape<Fn, State, Params>())::type;

/// What is wrong with the hook around an adjoint, if there is one.
template <class Fn, class State, class Bar, class Params, class DP>
consteval fault hook_fault_in() {
  if constexpr (requires { Fn::template hook_fault<State, Bar, Params, DP>(); })
    return Fn::template hook_fault<State, Bar, Params, DP>();
  else if constexpr (!recorder<Fn>) return fault::none;
  else {
    using tape = tape_in<Fn, State, Params>;
    if constexpr (requires { reverse_of<Fn>::template hook_fault<tape, Bar, Params, DP>(); })
      return reverse_of<Fn>::template hook_fault<tape, Bar, Params, DP>();
    else return fault::none;
  }
}
/// Whether the third part of a recording adjoint, if there is one, takes the tape and returns a state, uncut.
template <class Fn, class State, class Params>
consteval bool restart_fits() {
  if constexpr (requires(Fn& f) { sizeof(f.restart); }) {
    using restart = std::remove_reference_t<decltype((std::declval<Fn&>().restart))>;
    using tape = tape_in<Fn, State, Params>;
    if constexpr (!calls<restart, tape const&>) return true;  // asked where a plan restarts
    else {
      using result = call_result<restart, tape const&>;
      constexpr bool whole = !std::is_arithmetic_v<State> || std::is_same_v<std::remove_cvref_t<result>, State>;
      return !std::is_void_v<result> && whole && !narrows<restart, tape, arguments<>>;
    }
  } else return true;
}
/// The checks that are possible before the reverse sweep. One function: each function called adds lines to the
/// compiler's error message.
/// \tparam Bar  the type of the seed or of its result, without const and reference   \tparam Wrt  a `wrt`, if the adjoint
/// takes parameters
template <class Adjoint, class State, class Bar, class Wrt = no_wrt>
consteval bool check_adjoint() {
  if constexpr (std::is_void_v<Bar> || function_like<Bar> || adjoint_like<Bar, State>) {
    constexpr bool nothing = std::is_void_v<Bar>, function = !nothing;
    static_assert(!nothing, "cairn: seed(x) must return the adjoint of the final state");
    static_assert(!function,
                  "cairn: the seed must be the adjoint of the final state, or `seed(x)` that takes the final state by "
                  "const reference and returns it");
    return false;
  } else if constexpr (!copied_state<Bar>) {
    constexpr bool owns = std::is_void_v<Bar>;
    static_assert(owns,
                  "cairn: the seed must give an adjoint that owns its data and can be copied (not an expression, a "
                  "view, a pointer or a handle)");
    return false;
  } else if constexpr (whole_for<Bar, State>) {
    constexpr bool whole = whole_for<Bar, State>;
    static_assert(!whole,
                  "cairn: the seed is a whole number, and every adjoint would be truncated to one; write 1.0 instead "
                  "of 1, or let seed(x) return a floating-point number");
    return false;
  } else {
    constexpr auto read = shapes_with<Wrt>::template adjoint<Adjoint, State, Bar>();
    using enum fault;
    constexpr bool with_p = is_wrt<Wrt>, unread = read.is(shape), cut = read.is(fault::floating),
                   placed = !with_p || !(unread || cut || read.is(params) || read.is(tape));
    constexpr bool constant = [] {
      if constexpr (read.form != adjoint_form::none) return true;
      else if constexpr (with_p)
        return !adjoint_wants_to_change<Adjoint, State, Bar, typename params_types<Wrt>::p const&,
                                        typename params_types<Wrt>::dp&>;
      else return !adjoint_wants_to_change<Adjoint, State, Bar>;
    }();
    constexpr bool whole = unread && has_both_ways<Adjoint>;
    constexpr bool fits = !unread || whole || barless<Bar> || !placed || !constant;
    constexpr bool jumps = read.is(tape) && saved_state<State> && copies_into_tape<Adjoint>;
    constexpr bool elsewhere = barless<Bar> && unread && !whole && placed && constant;
    static_assert(constant,
                  "cairn: the adjoint takes the state by a reference that is not const; the state is read again after "
                  "it, so take x by const reference");
    constexpr bool second = !copied_state<State> && read.form == adjoint_form::with_next;
    static_assert(placed || whole || !constant,
                  "cairn: with parameters the adjoint is `adjoint(x, bar, p, dp, i)`, `adjoint(x, x1, bar, p, dp, i)`, "
                  "`adjoint(x, bar, p, dp, first, last)` or cairn::recorded{record(x, p, i), reverse(tape, bar, p, dp, "
                  "i)}: p and dp come before i; a generic adjoint takes them by reference, `auto& dp`");
    static_assert(!read.is(part),
                  "cairn: the adjoint of a jump must be `adjoint(x, bar)` or `adjoint(x, bar, i)`, where x is the "
                  "state before the jump; with cairn::wrt it may take p and `auto& dp` before i");
    static_assert(!read.is(sum), "cairn: the adjoint adds to dp, so it takes dp by a reference that is not const");
    static_assert(!whole,
                  "cairn: this object has a step and an adjoint but is neither itself; pass its members, `loop.step` "
                  "and `loop.adjoint`, each in its place");
    static_assert(
        fits,
        "cairn: the adjoint must be `adjoint(x, bar, i)`, `adjoint(x, bar, first, last)`, `adjoint(x, x1, bar, i)` or "
        "cairn::recorded{record, reverse}, where x is const& and bar what the seed gives");
    static_assert(!elsewhere,
                  "cairn: the seed returns nothing, so that bar is the library's, and the adjoint must be `adjoint(x, "
                  "i)`, `adjoint(x, first, last)` or cairn::recorded{record, reverse} with `reverse(tape, i)`; or let "
                  "seed(x) return the adjoint of the final state");
    static_assert(!read.is(result),
                  "cairn: the adjoint must change bar and return nothing, or return the new bar by value, in bar's own "
                  "type (a lambda says so by `-> Bar`)");
    static_assert(!read.is(both),
                  "cairn: an adjoint that changes bar must return nothing (an error code is ignored; throw instead); "
                  "one that returns the new bar must take bar by value or by const reference");
    static_assert(!read.is(narrow),
                  "cairn: the adjoint takes the state, a tape or bar as a number of a narrower type, which would "
                  "truncate it; take its own type");
    static_assert(!read.is(unchanged), "cairn: an adjoint that returns nothing must take bar by non-const reference");
    static_assert(!(cut && placed),
                  "cairn: the adjoint would get an index as a floating-point number; take `cairn::step_index i`, or "
                  "leave it out");
    static_assert(!read.is(short_index),
                  "cairn: the adjoint would get an index as a bool, a character or a short number; take "
                  "`cairn::step_index i`, or leave it out");
    static_assert(!read.is(preset),
                  "cairn: a default argument of this adjoint would get the index; leave the default out, or wrap the "
                  "adjoint in a lambda without that argument");
    static_assert(!read.is(two_readings),
                  "cairn: this adjoint can be read as (x, bar, first, last) and as (x, x1, bar, i); wrap it in "
                  "cairn::leaf(...) or cairn::with_next(...)");
    static_assert(!jumps,
                  "cairn: jumps around a recording adjoint need a state that can be copied, because tapes keep the "
                  "states before the jumps; give this object `adjoint(x, bar, i)` or `adjoint(x, bar, first, last)`");
    static_assert(!(read.is(tape) && placed && !jumps),
                  "cairn: cairn::recorded needs `tape = record(x, i)` that moves x one step on, and `reverse(tape, "
                  "bar, i)`; i may be left out of both");
    static_assert(!read.is(refers),
                  "cairn: the tape that record returns is a pointer, a view or an expression of data that changes "
                  "later; return one that owns its data, such as x.eval()");
    static_assert(!second,
                  "cairn: there is only one object of a state that cannot be copied, and none for x1; use `adjoint(x, "
                  "bar, i)`, `adjoint(x, bar, first, last)` or cairn::recorded{record, reverse}");
    using given = params_in_wrt<Wrt>;
    constexpr fault hook = [] {
      if constexpr (read.form == adjoint_form::none) return fault::none;
      else
        return hook_fault_in<std::remove_cv_t<Adjoint>, State, Bar, typename given::p, typename given::dp>();
    }();
    constexpr bool restarts = [] {
      if constexpr (read.form != adjoint_form::recorded || !recorder<Adjoint>) return true;
      else return restart_fits<Adjoint, State, typename given::p>();
    }();
    static_assert(restarts,
                  "cairn: the restart of cairn::recorded{record, reverse, restart} must take the tape in its own type, "
                  "and return the state after its step, in the state's own type");
    constexpr bool no_hook = hook == fault::shape, leaf_hook = !no_hook || read.form != adjoint_form::leaf,
                   tape_hook = !no_hook || read.form != adjoint_form::recorded,
                   step_hook = !no_hook || !leaf_hook || !tape_hook, hook_takes = no_hook || hook == fault::none;
    static_assert(leaf_hook,
                  "cairn: the hook of an adjoint of leaves must be `hook(x, bar, first, last)`, without bar if the "
                  "library has it: x is state `first`; with cairn::wrt it may take p and dp before the range");
    static_assert(tape_hook,
                  "cairn: after the adjoint of a tape there is no state, and the hook must be `hook(tape, bar, i)` or "
                  "`hook(bar, i)`, without bar if the library has it; with cairn::wrt it may take p and dp before i");
    static_assert(step_hook,
                  "cairn: the hook must be `hook(x, bar, i)`, without bar if the library has it: x is state i; with "
                  "cairn::wrt it may take p and dp before i");
    static_assert(hook_takes,
                  "cairn: the hook takes a number of a narrower type than it is given, or its index as a "
                  "floating-point or short number, a bool or a default argument; take the number's own type, and "
                  "`cairn::step_index i`");
    return read.is(none) && !second && restarts && hook == fault::none;
  }
}

}  // namespace cairn::detail
