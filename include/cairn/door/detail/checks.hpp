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
consteval bool swapped() {
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
consteval bool cuts_snapshot() {
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
consteval bool check_forward() {
  if constexpr (requires { typename Step::asked_first; } && !is_wrt<Wrt>)  // so that its sentence comes early
    if (!Step::asked_first::template check<State, no_params>()) return false;
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
    constexpr auto read = shapes_with<Wrt>::template step<Step, State>();
    using enum fault;
    constexpr bool with_p = is_wrt<Wrt>, unread = read.is(shape),
                   placed = !with_p || !(unread || read.is(params) || read.is(fault::floating));
    constexpr bool whole = unread && has_step<Step>, two = unread && has_both_ways<Step>;
    constexpr bool stops = read.stops && !MayStop,
                   moves = read.form != step_form::none && !copied_state<State> && read.form != step_form::in_place;
    constexpr bool without = !with_p && unread && needs_params<std::remove_cv_t<Step>>;
    constexpr bool forgotten = !with_p && unread && !whole && !two && takes_more<Step, State>;
    constexpr bool fits = !(unread || read.is(tape)) || whole || two || !placed || without || forgotten;
    static_assert(placed || whole || two,
                  "cairn: with parameters the step is `step(x, p, i)`, `x1 = step(x, p, i)` or `step(x, x1, p, i)`: p "
                  "comes before i, which may be left out, by value or as `P const& p`; a generic step takes it as `auto const& p`");
    static_assert(!read.is(part),
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
    static_assert(!read.is(result),
                  "cairn: the step must return nothing, or the state itself (by value, and not an expression or "
                  "another type that converts to it; a lambda says so by `-> State`)");
    static_assert(!read.is(unchanged),
                  "cairn: a step that returns nothing must take the state that it changes by non-const reference");
    static_assert(!read.is(both),
                  "cairn: a step that returns the next state must take x by value or by const reference; one that "
                  "changes x must return nothing (an error code is ignored; throw instead)");
    static_assert(!read.is(narrow),
                  "cairn: the step takes its state as a number of a narrower type, which would truncate it; take the "
                  "state's own type");
    static_assert(
        !(read.is(fault::floating) && placed),
        "cairn: the step would get its index as a floating-point number; take `cairn::step_index i`, or leave it out. A "
        "parameter p needs cairn::wrt{p, dp}, or in differentiate its place after x0");
    static_assert(!read.is(short_index),
                  "cairn: the step would get its index as a bool, a character or a short number; take "
                  "`cairn::step_index i`, or leave it out");
    static_assert(!read.is(preset),
                  "cairn: a default argument of this step would get the index; leave the default out, or wrap the step "
                  "in a lambda without that argument");
    static_assert(
        !read.is(two_readings),
        "cairn: this step can be read as (x, i) and as (x, x1); take the index as `auto i`, or wrap the step in "
        "cairn::in_place(...), by_value(...) or out_of_place(...)");
    static_assert(!stops,
                  "cairn: this step returns bool, to end the loop early; run it with cairn::checkpointed_while, or let "
                  "it return nothing");
    static_assert(!moves, "cairn: a state that cannot be copied needs a step in place, `step(x, i)`");
    return read.is(none) && !stops && !moves;
  }
}

template <class Wrt> struct params_in_wrt { using p = no_params; using dp = no_params; };
template <class Params, class DP> struct params_in_wrt<wrt<Params, DP>> { using p = Params; using dp = DP; };

/// Checks the initial state. `X0` is its type as passed, with its reference.
template <class X0>
consteval bool check_initial() {
  constexpr bool good = copied_state<std::remove_cvref_t<X0>> ||
                        (std::is_lvalue_reference_v<X0> && !std::is_const_v<std::remove_reference_t<X0>>);
  static_assert(good,
                "cairn: a state that cannot be copied is advanced in place; pass a variable, not a temporary or a "
                "const object");
  return good;
}

}  // namespace cairn::detail
