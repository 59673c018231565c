// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file measured.hpp  A budget in the place of a plan, for loops whose sizes are known only when they run.
#include <optional>
#include <type_traits>
#include <utility>
#include <cairn/core/bytes_of.hpp>
#include <cairn/door/detail/leaf_bytes.hpp>
#include <cairn/door/detail/lending.hpp>
#include <cairn/plan/loop/detail/plan_over_leaves.hpp>
#include <cairn/plan/loop/planning_options.hpp>
#include <cairn/rules/workload.hpp>
#include <cairn/run/form/detail/reversal.hpp>
#include <cairn/run/gradient.hpp>
#include <cairn/run/sweep/detail/advanced_copy.hpp>
#include <cairn/run/sweep/detail/call.hpp>
#include <cairn/run/sweep/detail/plan_place.hpp>
#include <cairn/schedule/any.hpp>
#include <cairn/schedule/budget_of.hpp>

namespace cairn {

/// A budget whose plan is made from measured sizes: `measured{budget_of{n, "64MB"}}` in the place of a plan, for states
/// that grow and for recording adjoints, whose tapes are kept if they are worth it.
///
/// Before the sweep it runs the first sixteenth of the loop's steps, at least one, notes the largest state, tape and
/// adjoint, and calls `plan_within`. It changes nothing of the caller's: neither x0 nor dp; but a step or an adjoint
/// that changes something else does so then, too. Its own memory, two states, a tape and an adjoint, is within the
/// budget, but for some 8 kB to search for the plan. An adjoint of leaves says what a leaf holds by a member
/// `leaf_bytes(steps)`; the adjoints of tools know it; where nobody says, a leaf has one step. Sizes that appear only
/// later in the loop are not seen. No times are measured, so that the same loop always has the same plan: also in a
/// process that goes on after a kill, for a budget with files, `measured{budget_of{n, "64MB", run, "1GB"}}`, whose
/// plans keep no tapes.
/// \throws infeasible_budget   before the sweep
template <class Folder = no_files>
struct measured {
  budget_of<Folder> budget;       ///< as for `gradient`
  using measures = any_schedule;  ///< the type of its plans

  /// The plan for a loop whose parameters are bound. \param others  the bytes of p, dp and choices
  /// \param held  becomes what its sweep holds
  /// \param beside  beside(slots, state): bytes that a run on disk takes for itself, with states of so many bytes
  template <class State, class Bar, class Step, class X0, class Seed, class Adjoint, class Options, class Beside>
  [[nodiscard]] any_schedule plan_for_loop(Step& step, X0& x0, Seed& seed, Adjoint& adjoint, sweep_form form,
                                           sweep_sizes const& others, Options const& asked, sweep_parts& held,
                                           Beside const& beside) const {
    detail::check_choices(others);
    form.ends = detail::end_asked(asked);
    static constexpr bool records = form_of<Adjoint, State, Bar>() == adjoint_form::recorded;
    workload work{.steps = budget.steps, .tape_bytes = 0, .params_bytes = others.params, .gradient_bytes = others.gradient,
                  .choice_bytes = others.choices, .form = form,
                  .verify = detail::check_asked(asked)};
    auto const note = [](wide& largest, wide bytes) {
      if (bytes > largest) largest = bytes;
    };
    step_index const tried = budget.steps < 1 ? 0 : budget.steps < 16 ? 1 : budget.steps / 16;
    auto const each = [&](auto const& run, auto const& bytes_now) {
      note(work.state_bytes, bytes_now());
      for (step_index i = 0; i < tried; ++i) {
        run(i);
        note(work.state_bytes, bytes_now());
      }
    };
    auto const note_tape = [&](auto const& tape) {
      using tape_type = std::remove_cvref_t<decltype(tape)>;
      wide bytes = sizeof(std::optional<tape_type>) - sizeof(tape_type);
      if constexpr (!requires { adjoint.record.most_bytes(tape, wide{}); }) bytes += bytes_of(tape);
      else bytes += adjoint.record.most_bytes(tape, work.state_bytes - work.state_inline_bytes);
      note(work.tape_bytes, bytes);
      work.tape_inline_bytes = sizeof(std::optional<tape_type>);
    };
    step_index failed = 0;
    if constexpr (copied_state<State>) {
      work.initial_bytes = bytes_of(std::as_const(x0));
      work.state_inline_bytes = sizeof(State);
      detail::advanced_copy<State> x{std::as_const(x0), form.step};
      each([&](step_index i) {
        if constexpr (records) note_tape(detail::record_step(adjoint.record, x.state(), i));
        else x.run(step, i, i + 1, failed);
      },
           [&] { return wide(bytes_of(std::as_const(x).state())); });
      note_bar<State, Bar>(work, seed, std::as_const(x).state());
    } else {
      auto const before = detail::taken_snapshot(std::as_const(x0));
      work.initial_bytes = 0;
      work.state_inline_bytes = sizeof(before);
      work.form.snapshots = true;
      each([&](step_index i) {
        if constexpr (records) note_tape(detail::record_step(adjoint.record, x0, i));
        else detail::run_in_place(step, x0, i, i + 1, failed);
      },
           [&] { return wide(bytes_of(save_state(std::as_const(x0)))); });
      note_bar<State, Bar>(work, seed, x0);
      restore_state(x0, before);
    }
    planning_options options;
    if (wide const part = budget.bytes.count() / 4; part < options.most_table_bytes) options.most_table_bytes = part;
    auto const weigh = [&](step_index leaf) {
      wide const heap = work.state_bytes - work.state_inline_bytes;
      auto const terms = detail::needs_of_terms(adjoint, heap, budget.steps, leaf);
      work.term_bytes = terms.bytes;
      if (!records && budget.steps > 0) work.tape_bytes = detail::leaf_bytes_of(adjoint, x0, terms.part, budget.steps);
      return terms.step_calls;
    };
    auto const plan = [&](step_index leaf) {
      options.leaf = leaf;
      return detail::plan_over_leaves(budget, std::as_const(x0), work, options, beside);
    };
    // Where nobody says what a leaf holds, it has one step.
    step_index const longest = detail::says_leaf_bytes<Adjoint, X0> ? detail::longest_leaf(budget.steps) : 1;
    std::optional<planned> best;
    auto const with = [&](slot_index frames) {
      work.form.ahead = frames;
      return best.emplace(detail::best_leaf(work, longest, detail::weighing_of<Adjoint, X0>(), weigh, plan)).schedule;
    };
    if constexpr (!records && requires { asked.ahead; }) (void)asked.shared(std::size_t(work.state_bytes), with);
    else (void)with(0);
    held = best->memory;
    return std::move(best->schedule);
  }

 private:
  template <class Adjoint, class State, class Bar>
  [[nodiscard]] static consteval adjoint_form form_of() {
    return detail::shape_of_adjoint<Adjoint, State, Bar>().form;
  }
  template <class State, class Bar, class Seed, class Input>
  static void note_bar(workload& work, Seed& seed, Input& x) {
    if constexpr (std::is_same_v<Bar, library_bar>) work.adjoint_bytes = 0;
    else if constexpr (detail::seed_function<Seed, State>) work.adjoint_bytes = bytes_of(detail::call_lending(seed, x));
    else work.adjoint_bytes = bytes_of(seed);
  }
};
/// Of memory alone.
measured(budget_of<>) -> measured<no_files>;
/// With files.
template <class Folder>
measured(budget_of<Folder>) -> measured<Folder>;

}  // namespace cairn
