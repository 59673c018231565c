// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file plan_place.hpp  What a verb takes in the place of its plan: a schedule, a number of steps, or a budget.
#include <type_traits>
#include <utility>
#include <cairn/core/bytes_of.hpp>
#include <cairn/core/detail/checks.hpp>
#include <cairn/core/detail/sweep_needs.hpp>
#include <cairn/core/replay_check.hpp>
#include <cairn/core/sweep_bytes.hpp>
#include <cairn/schedule/uniform.hpp>

namespace cairn::detail {

/// The sizes of the values of a sweep, counted before anything runs.
template <class State, class Bar, class Seed>
[[nodiscard]] sweep_sizes sizes_of_values(State const& x0, [[maybe_unused]] Seed const& seed) {
  sweep_sizes sizes;
  if constexpr (copied_state<State>) {
    sizes.state = sizes.initial = bytes_of(x0);
    sizes.state_inline = sizeof(State);
  } else {
    auto const& snapshot = save_state(x0);
    sizes.state = bytes_of(snapshot);
    sizes.state_inline = sizeof(snapshot);
  }
  if constexpr (std::is_same_v<Bar, library_bar>) sizes.adjoint = 0;
  else if constexpr (std::is_same_v<Seed, Bar>) sizes.adjoint = bytes_of(seed);
  else if constexpr (std::is_same_v<Bar, State>) sizes.adjoint = bytes_of(x0);
  else sizes.adjoint = sizeof(Bar);
  return sizes;
}
/// Whether all sizes can be seen before anything runs.
template <class State, class Bar, class Seed, adjoint_form Form, class PlanGiven>
[[nodiscard]] consteval bool check_counted() {
  constexpr bool counts = counted_budget<PlanGiven> || filed_budget<PlanGiven>;
  constexpr bool sized =
      !counts || (sized_state<stored_as<State>> && (std::is_same_v<Bar, library_bar> || sized_state<Bar>));
  constexpr bool bar = !counts || !sized || std::is_same_v<Seed, Bar> || std::is_same_v<Bar, State> ||
                       std::is_same_v<Bar, library_bar> || is_flat<Bar>();
  constexpr bool tape = !counts || Form != adjoint_form::recorded;
  static_assert(sized,
                "cairn: a budget is planned by counting bytes, but those of this state or its adjoint are not known; "
                "give it a member bytes() or specialise cairn::state_traits with bytes(x)");
  static_assert(bar,
                "cairn: a budget is planned before anything runs, but only the seed knows the size of this adjoint; "
                "give the seed as a value, or include <cairn/profile/measured.hpp> and give cairn::measured{budget}");
  static_assert(tape,
                "cairn: a budget is planned before anything runs, but the size of the tapes of a recording adjoint is "
                "not known then; include <cairn/profile/measured.hpp> and give cairn::measured{budget}");
  return sized && bar && tape;
}

/// A loop that is kept does not know its adjoint when it runs.
template <class PlanGiven>
[[nodiscard]] consteval bool check_not_measured() {
  constexpr bool counts = !measured_budget<PlanGiven>;
  static_assert(
      counts,
      "cairn: cairn::measured needs the adjoint, which a loop that is kept gets later; give cairn::budget_of, "
      "or use cairn::gradient");
  return counts;
}

template <class Options>
[[nodiscard]] constexpr replay_check check_asked([[maybe_unused]] Options const& options) noexcept {
  if constexpr (is_options<Options>) return options.verify;
  else return replay_check::off;
}
template <class Options>
[[nodiscard]] constexpr object_ends end_asked([[maybe_unused]] Options const& options) noexcept {
  if constexpr (is_options<Options>) return options.object;
  else if constexpr (is_object_end<Options>) return options;
  else return object_ends::anywhere;
}

/// The plan as given; for a bare number of steps `uniform` with floor(sqrt n) checkpoints.
template <class PlanGiven>
[[nodiscard]] constexpr decltype(auto) as_plan(PlanGiven const& plan) {
  if constexpr (std::is_integral_v<PlanGiven>) return uniform{step_index(plan)};
  else return (plan);
}
/// The type of the plan that a sweep obeys.
template <class PlanGiven>
struct plan_obeyed { using type = std::remove_cvref_t<decltype(as_plan(std::declval<PlanGiven const&>()))>; };
template <measured_budget PlanGiven>
struct plan_obeyed<PlanGiven> { using type = typename PlanGiven::measures; };
template <filed_budget PlanGiven>
struct plan_obeyed<PlanGiven> { using type = typename PlanGiven::plans; };
template <counted_budget PlanGiven>
struct plan_obeyed<PlanGiven> {
  using type =
      decltype(std::declval<PlanGiven const&>().plan_for(sweep_form{}, sweep_sizes{}, wide{}, replay_check::off));
};
template <class PlanGiven> using plan_type = typename plan_obeyed<PlanGiven>::type;

/// The bytes of a sweep in memory at its peak, an upper bound.
/// \param slots  those that are in memory
template <class Plan>
[[nodiscard]] wide bytes_with(Plan const& plan, slot_index slots, sweep_form form, sweep_sizes const& sizes,
                              replay_check verify) {
  sweep_needs const needs{
      .slots = slots,
      .peak_slots = plan.steps() > 1 ? slots : 0,
      .leaf = plan.leaf(),
      .initial_apart = form.snapshots ? initial_stands_apart(plan, form) : initial_stands_apart(plan),
      .table = table_bytes_of(plan),
      .calls_adjoint = plan.steps() > 0,
      .shared_table = shared_table_bytes_of(plan),
      .hashes = replay_check_bytes(verify,
                                   {.steps = plan.steps(), .slots = plan.slots(), .keeps_run = form.keeps_run})};
  return sweep_bytes(needs, form, sizes, most_states(needs, form));
}
/// The same, of the values that the sweep is given.   \param params  bytes of p and dp
template <class State, class Bar, class Plan, class Seed, class Options>
[[nodiscard]] wide counted_bytes(Plan const& plan, slot_index slots, State const& x0, Seed const& seed, sweep_form form,
                                 Options const& options, wide params) {
  form.snapshots = !copied_state<State>;
  form.ends = end_asked(options);
  return bytes_with(plan, slots, form, sizes_of_values<State, Bar>(x0, seed), check_asked(options)) + params;
}
/// The same; 0 if something cannot be counted before it runs.
template <class State, class Bar, class Plan, class Seed, class Options>
[[nodiscard]] wide predicted_bytes(Plan const& plan, slot_index slots, State const& x0, Seed const& seed,
                                   sweep_form form, Options const& options, wide params) {
  if constexpr (!sized_state<stored_as<State>> || !sized_state<Bar>) return 0;  // library_bar has no bytes
  else if (form.adjoint == adjoint_form::recorded) return 0;
  else return counted_bytes<State, Bar>(plan, slots, x0, seed, form, options, params);
}
/// The plan for what was given in its place.   \param params  bytes of p and dp
template <class State, class Bar, class PlanGiven, class Seed, class Options>
[[nodiscard]] constexpr decltype(auto) plan_from(PlanGiven const& plan, State const& x0, Seed const& seed,
                                                 sweep_form form, Options const& options, wide params) {
  if constexpr (filed_budget<PlanGiven>) {
    auto const bytes_of_plan = [&](auto const& tried, slot_index in_memory) {
      return counted_bytes<State, Bar>(tried, in_memory, x0, seed, form, options, params);
    };
    return PlanGiven::files::plan_for(plan, x0, form, bytes_of_plan);
  } else if constexpr (!counted_budget<PlanGiven>) return as_plan(plan);
  else {
    form.snapshots = !copied_state<State>;
    form.ends = end_asked(options);
    return plan.plan_for(form, sizes_of_values<State, Bar>(x0, seed), params, check_asked(options));
  }
}

}  // namespace cairn::detail
