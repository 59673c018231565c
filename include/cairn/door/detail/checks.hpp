// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file checks.hpp  The checks that public verbs make of their arguments: one error message for each misuse.
/// A check stops at its first failure; the verbs put their bodies under `if constexpr (check)`.
#include <concepts>
#include <type_traits>
#include <cairn/core/action.hpp>
#include <cairn/core/detail/copyable.hpp>
#include <cairn/core/numbers.hpp>
#include <cairn/core/state_traits.hpp>
#include <cairn/core/sweep_bytes.hpp>
#include <cairn/door/detail/member_function.hpp>
#include <cairn/door/detail/refused.hpp>
#include <cairn/door/forms.hpp>
#include <cairn/door/wrt.hpp>
#include <cairn/rules/replay_check.hpp>

namespace cairn {
class byte_size;
}  // namespace cairn

namespace cairn::detail {

/// A budget in the place of a plan, which is planned from counted sizes; see `budget_of`.
template <class PlanGiven>
concept counted_budget = requires(PlanGiven const& p, sweep_form form, sweep_sizes const& sizes) {
  { p.plan_for(form, sizes, replay_check::off) } -> schedule;
  { p.bytes_of_plan(slot_index{}, form, sizes, replay_check::off) } -> std::same_as<wide>;
};
/// The same whose sizes are measured; see `measured`.
template <class PlanGiven>
concept measured_budget = requires { requires schedule<typename PlanGiven::measures>; };
/// The same that plans with files; see `budget_of` with a folder.
template <class PlanGiven>
concept filed_budget = requires { requires schedule<typename PlanGiven::plans>; };
template <class PlanGiven>
concept any_budget = counted_budget<PlanGiven> || measured_budget<PlanGiven> || filed_budget<PlanGiven>;
template <class PlanGiven>
concept plan_or_steps = schedule<PlanGiven> ||(std::is_integral_v<PlanGiven> && !std::is_same_v<PlanGiven, bool>) ||
                        any_budget<PlanGiven>;
template <class T>
concept owning_pointer = requires {
  typename T::deleter_type;
  typename T::element_type;
};

/// A function in the place of a seed that is not a seed for this state.
template <class T>
concept function_like = std::is_function_v<std::remove_pointer_t<T>> ||(std::is_class_v<T>&& one_signature<T>);

/// Step and initial state are swapped.
template <class Step, class State>
[[nodiscard]] consteval bool swapped() {
  constexpr bool fits = [] {  // asked first: a step that fits is not swapped
    if constexpr (state<State>) return shape_of_step<Step, State>().wrong != fault::shape;
    else return false;
  }();
  if constexpr (fits) return false;
  else if constexpr (!state<Step>) return false;
  else return shape_of_step<State, Step>().wrong == fault::none;
}
/// The same for a verb with parameters, which does not ask: a generic step could be read without them.
template <class Step, class State, class Wrt> inline constexpr bool swapped_with = swapped<Step, State>();
template <class Step, class State, class Params, class DP>
inline constexpr bool swapped_with<Step, State, wrt<Params, DP>> = false;
/// An adjoint in the place of a seed.
template <class T, class State>
concept adjoint_like = generic<T> &&
    (calls_void<T, State const&, State&, step_index> || calls_void<T, State const&, State&>);
/// An `adaptive` or a `nested` object, which is not a step itself.
template <class Fn>
concept has_step = requires(Fn& f) { f.step(); f.records(); };
template <class Fn>
concept has_both_ways = requires(Fn& f) { f.step; f.adjoint; };
/// What planners return for a budget: an object with the schedule as a member.
template <class PlanGiven>
concept has_schedule = requires(PlanGiven const& p) { requires schedule<std::remove_cvref_t<decltype(p.schedule)>>; }
|| requires(PlanGiven const& p) { requires schedule<std::remove_cvref_t<decltype(p.best.schedule)>>; };

/// A budget in the place of a plan: a text such as "16kB", or a `byte_size`.
template <class PlanGiven>
concept budget_like = std::is_convertible_v<PlanGiven const&, char const*> || std::is_same_v<PlanGiven, byte_size> ||
                      requires(PlanGiven text) { text.c_str(); } || requires(PlanGiven text) { text.remove_prefix(1); };

/// Whether a step of one signature takes something after its state that is neither a state nor a number.
template <class Fn, class State>
inline constexpr bool takes_more =
    std::is_class_v<nth_parameter<Fn, 1>> && !std::is_same_v<nth_parameter<Fn, 1>, State>;
/// Whether f takes a state in a way that a const one does not fit.
template <class Fn, class State, class... After>
concept wants_to_change = one_signature<Fn> && copied_state<State> && !calls<Fn, State const&, After...> &&
                          calls<Fn, State&, After...>;
template <class Fn, class State, class Bar, class... Params>
concept adjoint_wants_to_change =
    wants_to_change<Fn, State, Bar&, Params...> || wants_to_change<Fn, State, Bar&, Params..., step_index> ||
    wants_to_change<Fn, State, Bar&, Params..., step_index, step_index>;

/// Whether the object takes its snapshot, a number, as a narrower one.
template <class State>
[[nodiscard]] consteval bool cuts_snapshot() {
  using snapshot = typename snapshot_of<State>::type;
  if constexpr (!std::is_arithmetic_v<snapshot>) return false;
  else if constexpr (!traited_save<State>)
    return narrows<member_as_function<member_restore, State>, snapshot, arguments<>>;
  else if constexpr (!requires { &state_traits<State>::restore; }) return false;
  else return narrows<decltype(&state_traits<State>::restore), snapshot, arguments<State&>>;
}

/// The forms of step and adjoint as a verb calls them: without parameters, or with those of a `wrt`.
template <class Wrt>
struct shapes_with {
  template <class Step, class State>
  static consteval step_shape step() { return shape_of_step<Step, State>(); }
  template <class Adjoint, class State, class Bar>
  static consteval adjoint_shape adjoint() { return shape_of_adjoint<Adjoint, State, Bar>(); }
};
template <class Params, class DP>
struct shapes_with<wrt<Params, DP>> {
  template <class Step, class State>
  static consteval step_shape step() { return shape_of_step_with<Step, State, Params>(); }
  template <class Adjoint, class State, class Bar>
  static consteval adjoint_shape adjoint() { return shape_of_adjoint_with<Adjoint, State, Bar, Params, DP>(); }
};

/// The checks that are possible before the loop has run. One function: each function called adds lines to the
/// compiler's error message.
/// \tparam State  the state   \tparam Plan  the argument for it; both without const and reference   \tparam MayStop  the
/// step may return bool   \tparam Wrt  a `wrt`, if the step takes parameters
template <class Step, class State, class Plan, bool MayStop = false, class Wrt = no_wrt>
[[nodiscard]] consteval bool check_forward() {
  if constexpr (swapped_with<std::remove_cv_t<Step>, State, Wrt>) {
    constexpr bool turned = swapped_with<std::remove_cv_t<Step>, State, Wrt>;
    static_assert(
        !turned,
        "cairn: the step is in the place of the initial state; the step comes first, and then the initial state");
    return false;
  } else if constexpr (!state<State>) {
    constexpr auto found = copy_fault_of<State>();
    constexpr bool copies = copyable_value<State> || traited_copy<State> || found == copy_fault::expression;
    constexpr auto why = !shares_snapshot<State> && copies ? found : copy_fault::none;
    constexpr bool stays = why != copy_fault::none || owning_pointer<State> || shares_snapshot<State>,
                   pointer = owning_pointer<State>, tensor = why == copy_fault::tensor,
                   expression = why == copy_fault::expression;
    constexpr bool handle = why == copy_fault::handle, many = why == copy_fault::too_many_members,
                   no_default = why == copy_fault::no_default, container = why == copy_fault::container,
                   hidden = why == copy_fault::hidden_members;
    constexpr bool snapshot = shares_snapshot<State>;
    static_assert(stays,
                  "cairn: the state must be copyable, or have save() and restore(snapshot), because checkpoints are "
                  "made from it");
    static_assert(!snapshot,
                  "cairn: what save() returns would share its data with the object (it is or holds a pointer, a "
                  "reference, a counted handle, a view or an expression); return a snapshot that owns its data");
    static_assert(!pointer,
                  "cairn: a std::unique_ptr cannot be copied into a checkpoint; let the state hold the object itself, "
                  "or give it save() and restore(snapshot)");
    static_assert(!tensor,
                  "cairn: copies of a torch::Tensor share its data; include <cairn/adapt/torch.hpp> and "
                  "call cairn::libtorch::checkpointed_loop");
    static_assert(!expression,
                  "cairn: this state is a view or an expression of Eigen, not a matrix; use its PlainObject, as "
                  "returned by x.eval()");
    static_assert(!handle,
                  "cairn: copying this state would share its data (it is or holds a pointer, a reference, a counted "
                  "handle or a view); use an owning type or specialise cairn::state_traits with copy(from, into)");
    static_assert(!many,
                  "cairn: this state has more than 24 members, too many to look for pointers in it; group them in "
                  "nested structs or specialise cairn::state_traits with copy(from, into)");
    static_assert(!hidden,
                  "cairn: this state has bit-fields, packed members or a union, which cannot be looked into; use plain "
                  "members or specialise cairn::state_traits with copy(from, into)");
    static_assert(!container,
                  "cairn: parts that state_traits copies may be in vectors, arrays, tuples, optionals and aggregates "
                  "without base classes; for another container specialise cairn::state_traits, too");
    static_assert(!no_default,
                  "cairn: a state with state_traits::copy(from, into) needs a default constructor, because new copies "
                  "are made empty and then copied into");
    return false;
  } else if constexpr (saves_into_copy<State>) {
    constexpr bool writes = !saves_into_copy<State>;
    static_assert(writes,
                  "cairn: save(snapshot), which saves into an old snapshot, must take it by non-const reference");
    return false;
  } else if constexpr (cuts_snapshot<State>()) {
    constexpr bool whole = !cuts_snapshot<State>();
    static_assert(whole,
                  "cairn: restore(snapshot) takes a number of a narrower type than save() returns, which would truncate "
                  "it; take the snapshot's own type");
    return false;
  } else if constexpr (!plan_or_steps<Plan>) {
    constexpr bool part = has_schedule<Plan>, budget = budget_like<Plan>,
                   plan = plan_or_steps<Plan> || part || budget;
    static_assert(!budget,
                  "cairn: a budget without the number of steps is not a plan: give cairn::budget_of{n, budget}, or "
                  "cairn::plan_within(budget, workload).schedule of <cairn/planning.hpp>");
    static_assert(!part,
                  "cairn: this is a plan with its costs; pass the schedule in it, `plan.schedule` or "
                  "`advice.best.schedule`");
    static_assert(
        plan,
        "cairn: the plan must be a whole number of steps, or a schedule with steps(), slots(), leaf() and walk()");
    return false;
  } else {
    constexpr auto shape = shapes_with<Wrt>::template step<Step, State>();
    constexpr bool with_p = is_wrt<Wrt>,
                   placed = !with_p || (shape.wrong != fault::params && shape.wrong != fault::shape &&
                                        shape.wrong != fault::floating);
    constexpr bool whole = shape.wrong == fault::shape && has_step<Step>,
                   two = shape.wrong == fault::shape && has_both_ways<Step>;
    constexpr bool stops = shape.stops && !MayStop,
                   moves = shape.form != step_form::none && !copied_state<State> && shape.form != step_form::in_place;
    constexpr bool part = shape.wrong == fault::part,
                   without = !with_p && shape.wrong == fault::shape && needs_params<std::remove_cv_t<Step>>;
    constexpr bool forgotten = !with_p && shape.wrong == fault::shape && !whole && !two && takes_more<Step, State>;
    constexpr bool fits = (shape.wrong != fault::shape && shape.wrong != fault::tape) || whole || two || !placed ||
                          without || forgotten,
                   result = shape.wrong == fault::result, unchanged = shape.wrong == fault::unchanged;
    constexpr bool both = shape.wrong == fault::both, floating = shape.wrong == fault::floating && placed,
                   two_readings = shape.wrong == fault::two_readings, narrow = shape.wrong == fault::narrow,
                   short_index = shape.wrong == fault::short_index, preset = shape.wrong == fault::preset;
    static_assert(placed || whole || two,
                  "cairn: with parameters the step is `step(x, p, i)`, `x1 = step(x, p, i)` or `step(x, x1, p, i)`: p "
                  "comes before i, which may be left out; a generic step takes p by reference, `auto const& p`");
    static_assert(!part,
                  "cairn: with parameters cairn::adaptive needs `record = first(x, p, i)` and `again(x, p, i, "
                  "record)`, and a jump or its condition takes x, or x and p, and then i: p comes before i, which may "
                  "be left out; a generic function takes p by reference");
    static_assert(!forgotten,
                  "cairn: this step takes parameters after its state, and the verb was given none; give it "
                  "cairn::wrt{p, dp}, or differentiate(model, x0, p, plan, objective)");
    static_assert(!without,
                  "cairn: the `first` of this cairn::adaptive takes parameters; give the verb cairn::wrt{p, dp}");
    static_assert(!whole,
                  "cairn: this object has a member step() but is not a step itself; pass `loop.step()`");
    static_assert(!two,
                  "cairn: this object has a step and an adjoint but is neither itself; pass its members, `loop.step` "
                  "and `loop.adjoint`, each in its place");
    static_assert(fits,
                  "cairn: the step must be `step(x, i)` in place, `x1 = step(x, i)` or `step(x, x1, i)`, with x const& "
                  "in the last two; i may be left out");
    static_assert(!result,
                  "cairn: the step must return nothing, or the state itself (by value, and not an expression or "
                  "another type that converts to it; a lambda says so by `-> State`)");
    static_assert(!unchanged,
                  "cairn: a step that returns nothing must take the state that it changes by non-const reference");
    static_assert(!both,
                  "cairn: a step that returns the next state must take x by value or by const reference; one that "
                  "changes x must return nothing (an error code is ignored; throw instead)");
    static_assert(!narrow,
                  "cairn: the step takes its state as a number of a narrower type, which would truncate it; take the "
                  "state's own type");
    static_assert(
        !floating,
        "cairn: the step would get its index as a floating-point number; take `cairn::step_index i`, or leave it out. A "
        "parameter p needs cairn::wrt{p, dp}, or in differentiate its place after x0");
    static_assert(!short_index,
                  "cairn: the step would get its index as a bool, a character or a short number; take "
                  "`cairn::step_index i`, or leave it out");
    static_assert(!preset,
                  "cairn: a default argument of this step would get the index; leave the default out, or wrap the step "
                  "in a lambda without that argument");
    static_assert(
        !two_readings,
        "cairn: this step can be read as (x, i) and as (x, x1); take the index as `auto i`, or wrap the step in "
        "cairn::in_place(...), by_value(...) or out_of_place(...)");
    static_assert(!stops,
                  "cairn: this step returns bool, to end the loop early; run it with cairn::checkpointed_while, or let "
                  "it return nothing");
    static_assert(!moves, "cairn: a state that cannot be copied needs a step in place, `step(x, i)`");
    return shape.wrong == fault::none && !stops && !moves;
  }
}

/// Whether a recording adjoint copies states into its tapes, as jumps do.
template <class Adjoint>
inline constexpr bool copies_into_tape = requires(Adjoint & given) {
  std::remove_cvref_t<decltype(given.record)>::copies;
};

/// The tape of a recording adjoint.
template <class Fn, class State, class Params>
[[nodiscard]] consteval auto find_tape() {
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
[[nodiscard]] consteval fault hook_fault_in() {
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
[[nodiscard]] consteval bool restart_fits() {
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
template <class Wrt> struct params_in_wrt { using p = no_params; using dp = no_params; };
template <class Params, class DP> struct params_in_wrt<wrt<Params, DP>> { using p = Params; using dp = DP; };

/// Checks the initial state. `X0` is its type as passed, with its reference.
template <class X0>
[[nodiscard]] consteval bool check_initial() {
  constexpr bool good = copied_state<std::remove_cvref_t<X0>> ||
                        (std::is_lvalue_reference_v<X0> && !std::is_const_v<std::remove_reference_t<X0>>);
  static_assert(good,
                "cairn: a state that cannot be copied is advanced in place; pass a variable, not a temporary or a "
                "const object");
  return good;
}

/// The checks that are possible before the reverse sweep. One function: each function called adds lines to the
/// compiler's error message.
/// \tparam Bar  the type of the seed or of its result, without const and reference   \tparam Wrt  a `wrt`, if the adjoint
/// takes parameters
template <class Adjoint, class State, class Bar, class Wrt = no_wrt>
[[nodiscard]] consteval bool check_adjoint() {
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
    constexpr auto shape = shapes_with<Wrt>::template adjoint<Adjoint, State, Bar>();
    constexpr bool with_p = is_wrt<Wrt>,
                   placed = !with_p || (shape.wrong != fault::params && shape.wrong != fault::shape &&
                                        shape.wrong != fault::tape && shape.wrong != fault::floating);
    constexpr bool constant = [] {
      if constexpr (shape.form != adjoint_form::none) return true;
      else if constexpr (with_p)
        return !adjoint_wants_to_change<Adjoint, State, Bar, typename params_types<Wrt>::p const&,
                                        typename params_types<Wrt>::dp&>;
      else return !adjoint_wants_to_change<Adjoint, State, Bar>;
    }();
    constexpr bool adds = shape.wrong != fault::sum, part = shape.wrong == fault::part;
    constexpr bool whole = shape.wrong == fault::shape && has_both_ways<Adjoint>;
    constexpr bool fits = shape.wrong != fault::shape || whole || std::is_same_v<Bar, library_bar> || !placed || !constant,
                   result = shape.wrong == fault::result,
                   unchanged = shape.wrong == fault::unchanged, both = shape.wrong == fault::both;
    constexpr bool floating = shape.wrong == fault::floating && placed,
                   two_readings = shape.wrong == fault::two_readings,
                   jumps = shape.wrong == fault::tape && saved_state<State> && copies_into_tape<Adjoint>,
                   tape = shape.wrong == fault::tape && placed && !jumps, refers = shape.wrong == fault::refers,
                   narrow = shape.wrong == fault::narrow, short_index = shape.wrong == fault::short_index,
                   preset = shape.wrong == fault::preset;
    constexpr bool elsewhere =
        std::is_same_v<Bar, library_bar> && shape.wrong == fault::shape && !whole && placed && constant;
    static_assert(constant,
                  "cairn: the adjoint takes the state by a reference that is not const; the state is read again after "
                  "it, so take x by const reference");
    constexpr bool second = !copied_state<State> && shape.form == adjoint_form::with_next;
    static_assert(placed || whole || !constant,
                  "cairn: with parameters the adjoint is `adjoint(x, bar, p, dp, i)`, `adjoint(x, x1, bar, p, dp, i)`, "
                  "`adjoint(x, bar, p, dp, first, last)` or cairn::recorded{record(x, p, i), reverse(tape, bar, p, dp, "
                  "i)}: p and dp come before i; a generic adjoint takes them by reference, `auto& dp`");
    static_assert(!part,
                  "cairn: the adjoint of a jump must be `adjoint(x, bar)` or `adjoint(x, bar, i)`, where x is the "
                  "state before the jump; with cairn::wrt it may take p and `auto& dp` before i");
    static_assert(adds, "cairn: the adjoint adds to dp, so it takes dp by a reference that is not const");
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
    static_assert(!result,
                  "cairn: the adjoint must change bar and return nothing, or return the new bar by value, in bar's own "
                  "type (a lambda says so by `-> Bar`)");
    static_assert(!both,
                  "cairn: an adjoint that changes bar must return nothing (an error code is ignored; throw instead); "
                  "one that returns the new bar must take bar by value or by const reference");
    static_assert(!narrow,
                  "cairn: the adjoint takes the state, a tape or bar as a number of a narrower type, which would "
                  "truncate it; take its own type");
    static_assert(!unchanged, "cairn: an adjoint that returns nothing must take bar by non-const reference");
    static_assert(!floating,
                  "cairn: the adjoint would get an index as a floating-point number; take `cairn::step_index i`, or "
                  "leave it out");
    static_assert(!short_index,
                  "cairn: the adjoint would get an index as a bool, a character or a short number; take "
                  "`cairn::step_index i`, or leave it out");
    static_assert(!preset,
                  "cairn: a default argument of this adjoint would get the index; leave the default out, or wrap the "
                  "adjoint in a lambda without that argument");
    static_assert(!two_readings,
                  "cairn: this adjoint can be read as (x, bar, first, last) and as (x, x1, bar, i); wrap it in "
                  "cairn::leaf(...) or cairn::with_next(...)");
    static_assert(!jumps,
                  "cairn: jumps around a recording adjoint need a state that can be copied, because tapes keep the "
                  "states before the jumps; give this object `adjoint(x, bar, i)` or `adjoint(x, bar, first, last)`");
    static_assert(!tape,
                  "cairn: cairn::recorded needs `tape = record(x, i)` that moves x one step on, and `reverse(tape, "
                  "bar, i)`; i may be left out of both");
    static_assert(!refers,
                  "cairn: the tape that record returns is a pointer, a view or an expression of data that changes "
                  "later; return one that owns its data, such as x.eval()");
    static_assert(!second,
                  "cairn: there is only one object of a state that cannot be copied, and none for x1; use `adjoint(x, "
                  "bar, i)`, `adjoint(x, bar, first, last)` or cairn::recorded{record, reverse}");
    using given = params_in_wrt<Wrt>;
    constexpr fault hook = [] {
      if constexpr (shape.form == adjoint_form::none) return fault::none;
      else
        return hook_fault_in<std::remove_cv_t<Adjoint>, State, Bar, typename given::p, typename given::dp>();
    }();
    constexpr bool restarts = [] {
      if constexpr (shape.form != adjoint_form::recorded || !recorder<Adjoint>) return true;
      else return restart_fits<Adjoint, State, typename given::p>();
    }();
    static_assert(restarts,
                  "cairn: the restart of cairn::recorded{record, reverse, restart} must take the tape in its own type, "
                  "and return the state after its step, in the state's own type");
    constexpr bool no_hook = hook == fault::shape, leaf_hook = !no_hook || shape.form != adjoint_form::leaf,
                   tape_hook = !no_hook || shape.form != adjoint_form::recorded,
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
    return shape.wrong == fault::none && !second && restarts && hook == fault::none;
  }
}

}  // namespace cairn::detail
