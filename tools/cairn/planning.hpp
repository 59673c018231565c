// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file planning.hpp  Makes a plan for a request and collects its figures.
#include <optional>
#include <string>
#include <cairn/plan/loop/estimate.hpp>
#include <cairn/rules/frames_needed.hpp>
#include <cairn/schedule/any.hpp>
#include "request.hpp"

namespace tool {

struct planned {
  request asked;
  schedule_kind const* kind;
  cairn::any_schedule plan;
  cairn::slot_index slots = 0;             ///< as requested, or else as chosen
  cairn::slot_index own = 0;               ///< the extra or memory slots of schedules that also have other slots
  cairn::schedule_counts counts;
  bool walked = false;                     ///< whether the counts come from a walk, not from a closed form
  std::optional<cairn::step_index> blocks; ///< of a uniform or two_level plan, or of a revolve plan over leaves
  std::optional<cairn::step_index> repetition_number; ///< the most times that any step is run without recording
  std::optional<cairn::step_index> first_split;       ///< the state where the first advance ends; 0 if there is none
  std::optional<double> cost, cost_without_turns;  ///< for plans that weigh steps against transfers
  std::optional<cairn::cost> sizes;        ///< if the size of a state is given

  std::string remark;                      ///< the plan's remark on the request, if any

  /// Whether the plan is for adjoints that record, as plans that keep tapes are.
  [[nodiscard]] bool records() const noexcept { return kind->keeps_tapes || plan.tapes() > 0; }
  [[nodiscard]] cairn::wide step_calls() const noexcept {
    return cairn::step_calls(counts, records() ? cairn::adjoint_form::recorded : cairn::adjoint_form::one_step);
  }
  /// The most states kept at once, the initial one included where revolve leaves it with the caller.
  [[nodiscard]] cairn::slot_index most_kept() const noexcept {
    return counts.peak_slots + (kind == &revolve_kind() && plan.initial_is_free() && plan.steps() > 1 ? 1 : 0);
  }
  /// Steps run forward, including the recorded run of each step.
  [[nodiscard]] cairn::wide forward_steps() const noexcept {
    return counts.advances + counts.recorded + counts.reversals - counts.taped;
  }
  [[nodiscard]] double per_step() const noexcept {
    return plan.steps() > 0 ? double(step_calls()) / double(plan.steps()) : 0;
  }
};

/// Plans of up to cairn::most_walked_steps steps are walked; longer ones are counted in closed form if there is one.
/// The time limit is `asked.deadline`, which several plans may share; if there is none, a new one of
/// `asked.time_limit`. \throws wrong_request, cairn::error   for keys that exclude each other, and for a budget that is
/// too small, with the least feasible one
[[nodiscard]] planned plan_of(request const& asked);

/// The loop's sizes as a workload for cairn's planners.   \pre asked.state
[[nodiscard]] cairn::workload workload_of(request const& asked);

}  // namespace tool
