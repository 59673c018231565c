// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file plan_place.hpp  What a verb takes in the place of its plan: a schedule, a number of steps, or a budget.
#include <type_traits>
#include <utility>
#include <cairn/core/bytes_of.hpp>
#include <cairn/core/error.hpp>
#include <cairn/core/sweep_bytes.hpp>
#include <cairn/door/detail/checks.hpp>
#include <cairn/door/detail/leaf_bytes.hpp>
#include <cairn/rules/detail/sweep_needs.hpp>
#include <cairn/rules/replay_check.hpp>
#include <cairn/schedule/uniform.hpp>

namespace cairn::detail {

/// The bytes of a value, `unknown_bytes` if its type does not tell.
template <class T>
[[nodiscard]] wide bytes_if_known(T const& x) {
  if constexpr (sized_state<T>) return bytes_of(x);
  else return unknown_bytes;
}
/// Notes the bytes of p and dp, and of the choices of the step. If dp has the type of p, it becomes a copy of it.
template <class Wrt, class Step>
void size_others(sweep_sizes& sizes, Wrt const& by, Step& step, step_index steps) {
  sizes.choices = choice_bytes_of(step, steps);
  if constexpr (is_wrt<Wrt>) {
    sizes.params = bytes_if_known(by.p), sizes.gradient = bytes_if_known(by.dp);
    if constexpr (std::is_same_v<typename params_types<std::remove_const_t<Wrt>>::p,
                                 typename params_types<std::remove_const_t<Wrt>>::dp>)
      if (sizes.gradient < sizes.params) sizes.gradient = sizes.params;
  }
}
/// The sizes of the values of a sweep, counted before anything runs: of a tool's tape if it has weighed it, otherwise
/// `unknown_bytes`. States and adjoints of an unknown size are 0 here.
template <class State, class Bar, class Seed, class Adjoint>
[[nodiscard]] sweep_sizes sizes_of_values(State const& x0, Seed const& seed, Adjoint& adjoint,
                                          step_index steps, step_index leaf) {
  sweep_sizes sizes;
  constexpr bool sized = sized_state<stored_as<State>>;
  if constexpr (!sized) sizes.state = 0;
  else if constexpr (copied_state<State>) {
    sizes.state = sizes.initial = bytes_of(x0);
    sizes.state_inline = sizeof(State);
  } else {
    auto const& snapshot = save_state(x0);
    sizes.state = bytes_of(snapshot);
    sizes.state_inline = sizeof(snapshot);
  }
  if constexpr (barless<Bar> || !sized_state<Bar>) sizes.adjoint = 0;
  else if constexpr (std::is_same_v<Seed, Bar>) sizes.adjoint = bytes_of(seed);
  else if constexpr (std::is_same_v<Bar, stored_as<State>>) sizes.adjoint = sizes.state;  // as large as a snapshot
  else sizes.adjoint = sizeof(Bar);
  auto const terms = needs_of_terms(adjoint, sized ? sizes.state - sizes.state_inline : 1, steps, leaf);
  sizes.terms = sized || terms.bytes == 0 ? terms.bytes : unknown_bytes;
  sizes.tape = leaf_known(adjoint, terms.part);
  return sizes;
}
/// \throws invalid_call   if a budget cannot count what the step records
inline void check_choices(sweep_sizes const& sizes) {
  if (sizes.choices == unknown_bytes)
    throw invalid_call{"cairn::budget_of",
                       "the step records its choices, and the bytes of a record are not known before it is made",
                       {},
                       "record numbers, or a struct of numbers; or give a plan instead of a budget"};
}
/// Whether all sizes can be seen before anything runs.
template <class State, class Bar, class Seed, adjoint_form Form, class PlanGiven, class Wrt = no_wrt>
consteval bool check_counted() {
  constexpr bool counts = counted_budget<PlanGiven> || filed_budget<PlanGiven>;
  constexpr bool sized =
      !counts || (sized_state<stored_as<State>> && (barless<Bar> || sized_state<Bar>));
  constexpr bool bar = !counts || !sized || std::is_same_v<Seed, Bar> || std::is_same_v<Bar, stored_as<State>> ||
                       barless<Bar> || is_flat<Bar>();
  constexpr bool tape = !counts || Form != adjoint_form::recorded;
  constexpr bool params = !any_budget<PlanGiven> ||
                          (sized_state<typename params_types<Wrt>::p> && sized_state<typename params_types<Wrt>::dp>);
  static_assert(sized,
                "cairn: a budget is planned by counting bytes, but those of this state or its adjoint are not known; "
                "give it a member bytes() or specialise cairn::state_traits with bytes(x)");
  static_assert(bar,
                "cairn: a budget is planned before anything runs, but only the seed knows the size of this adjoint; "
                "give the seed as a value, or include <cairn/profile/measured.hpp> and give cairn::measured{budget}");
  static_assert(tape,
                "cairn: a budget is planned before anything runs, but the size of the tapes of a recording adjoint is "
                "not known then; include <cairn/profile/measured.hpp> and give cairn::measured{budget}");
  static_assert(params,
                "cairn: a budget counts the bytes of the parameters and of their gradient, but those of this p or dp "
                "are not known; give it a member bytes() or specialise cairn::state_traits with bytes(p)");
  return sized && bar && tape && params;
}

template <class Options>
[[nodiscard]] constexpr replay_check check_asked(Options const& options) noexcept {
  if constexpr (is_options<Options>) return options.verify;
  else return replay_check::off;
}
template <class Options>
[[nodiscard]] constexpr object_ends end_asked(Options const& options) noexcept {
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
/// Steps of the loop.
template <class PlanGiven>
[[nodiscard]] constexpr step_index steps_of(PlanGiven const& plan) {
  if constexpr (std::is_integral_v<PlanGiven>) return step_index(plan);
  else if constexpr (counted_budget<PlanGiven> || filed_budget<PlanGiven>) return plan.steps;
  else if constexpr (measured_budget<PlanGiven>) return plan.budget.steps;
  else return plan.steps();
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
      decltype(std::declval<PlanGiven const&>().plan_for(sweep_form{}, sweep_sizes{}, replay_check::off));
};
template <class PlanGiven> using plan_type = typename plan_obeyed<PlanGiven>::type;

/// What runs a sweep on disk.
template <class Keeper> using sweep_of = typename std::remove_cvref_t<Keeper>::keeps_runs;

/// What was given to a verb in the place of its plan, and beside it: all that bytes are counted from.
template <class State, class Bar, class Step, class Seed, class Adjoint, class Wrt, class Options>
struct counted_values {
  Step& step;
  State const& x0;
  Seed const& seed;
  Adjoint& adjoint;
  Wrt const& by;
  Options const& options;
  mutable sweep_form form;  // `plan_from` notes the frames of a helper

  counted_values(Step& forward, State const& state, Seed const& from, Adjoint& back, Wrt const& params,
                 Options const& asked, sweep_form written)
      : step{forward}, x0{state}, seed{from}, adjoint{back}, by{params}, options{asked}, form{written} {
    form.snapshots = !copied_state<State>;
    form.ends = end_asked(options);
  }
  /// Of p, dp and choices.
  [[nodiscard]] sweep_sizes others(step_index steps) const {
    sweep_sizes all;
    size_others(all, by, step, steps);
    return all;
  }
  [[nodiscard]] sweep_sizes sizes(step_index steps, step_index leaf) const {
    auto all = sizes_of_values<State, Bar>(x0, seed, adjoint, steps, leaf);
    size_others(all, by, step, steps);
    return all;
  }
  /// For a budget, whose plan has leaves of one step. A tool weighs one from x0, and leaves an object in it.
  [[nodiscard]] sweep_sizes sizes_for_budget(step_index steps) const {
    auto all = sizes(steps, 1);
    using lent = std::conditional_t<copied_state<State>, State const, State>;  // objects are variables
    if (steps > 0) all.tape = leaf_bytes_of(adjoint, const_cast<lent&>(x0), 1, steps);
    check_choices(all);
    return all;
  }
  /// The plan for what was given in its place.   \param asked  what was given beside
  template <class PlanGiven, class Asked>
  [[nodiscard]] constexpr decltype(auto) plan_from(PlanGiven const& place, [[maybe_unused]] Asked const& asked) const {
    if constexpr (!counted_budget<PlanGiven> && !filed_budget<PlanGiven>) {
      if constexpr (requires { options.ahead; }) form.ahead = options.ahead_for(x0);
      return as_plan(place);
    } else {
      auto all = sizes_for_budget(place.steps);
      auto const with = [&](slot_index frames) {
        form.ahead = frames;
        if constexpr (!filed_budget<PlanGiven>) return place.plan_for(form, all, check_asked(options), beside(asked));
        else return PlanGiven::files::plan_for(place, x0, form, [&](auto const& tried, slot_index in_memory) {
          if constexpr (requires { PlanGiven::has_leaves; }) {
            all.tape = leaf_known(adjoint, tried.leaf());
            all.files = beside(asked)(tried.slots(), all.state);
          }
          return parts_with(tried, in_memory, form, all, check_asked(options)).total();
        });
      };
      if constexpr (requires { options.ahead; }) return options.shared(std::size_t(all.state), with);
      else return with(0);
    }
  }
  /// beside(slots, state): what a run on disk takes for itself, with the states by which a sweep that goes on is checked;
  /// 0 for others.
  template <class Asked>
  [[nodiscard]] constexpr auto beside(Asked const& asked) const {
    return [this, &asked]([[maybe_unused]] slot_index slots, [[maybe_unused]] wide state) -> wide {
      (void)this, (void)asked;  // for clang, where they are not used
      if constexpr (!Asked::on_disk) return 0;
      else {
        using files = sweep_of<decltype(asked.work)>;
        return files::memory_bytes(asked.work, slots, form.keeps_run) +
               wide(2 + std::uint64_t(files::states_behind(asked.work))) * state;
      }
    };
  }
  /// What its sweep holds, `unknown_bytes` for what cannot be told before it runs.   \param slots  those in memory
  template <class Plan>
  [[nodiscard]] sweep_parts predicted(Plan const& plan, slot_index slots) const {
    auto all = sizes(plan.steps(), plan.leaf());
    if (form.adjoint == adjoint_form::recorded) all.tape = unknown_bytes;
    sweep_parts parts = parts_with(plan, slots, form, all, check_asked(options));
    if (!sized_state<stored_as<State>>) parts.states = parts.initial = unknown_bytes;
    if (!sized_state<Bar>) parts.adjoints = unknown_bytes;  // library_bar has no bytes
    return parts;
  }
};
/// \tparam Bar  the adjoint's type
template <class Bar, class Step, class State, class Seed, class Adjoint, class Wrt, class Options>
[[nodiscard]] auto values_for(Step& step, State const& x0, Seed const& seed, Adjoint& adjoint, Wrt const& by,
                              Options const& options, sweep_form form) {
  return counted_values<State, Bar, Step, Seed, Adjoint, Wrt, Options>{step, x0, seed, adjoint, by, options, form};
}

}  // namespace cairn::detail
