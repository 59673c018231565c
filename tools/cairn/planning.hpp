#pragma once
/// \file planning.hpp  From a request to a plan and its figures.
#include <optional>
#include <string>
#include <cairn/core/frames_needed.hpp>
#include <cairn/plan/loop/estimate.hpp>
#include <cairn/schedule/any.hpp>
#include "request.hpp"

namespace tool {

struct planned {
  request asked;
  schedule_kind kind;
  cairn::any_schedule plan;
  cairn::slot_index slots = 0;             ///< asked for, or else chosen
  cairn::slot_index own = 0;               ///< the extra or memory slots of schedules that have others, too
  cairn::schedule_counts counts;
  bool walked = false;                     ///< counts are of a walk, not of a closed form
  std::optional<cairn::step_index> blocks; ///< of a uniform or two_level plan, or of a revolve plan over leaves
  std::optional<cairn::step_index> repetition_number; ///< the most often that a step is run unrecorded
  std::optional<cairn::step_index> first_split;       ///< the state where the first advance ends; 0 where there is none
  std::optional<double> cost, cost_without_turns;  ///< of plans that weigh steps against transfers
  std::optional<cairn::cost> sizes;        ///< where the size of a state is given

  std::string remark;                      ///< what the plan makes of what was asked for, where that is not plain

  /// Plans that keep tapes are for adjoints that record.
  [[nodiscard]] bool records() const noexcept {
    return kind == schedule_kind::mixed || kind == schedule_kind::bptt || kind == schedule_kind::runge_kutta ||
           plan.tapes() > 0;
  }
  [[nodiscard]] cairn::wide step_calls() const noexcept {
    return cairn::step_calls(counts, records() ? cairn::adjoint_form::recorded : cairn::adjoint_form::one_step);
  }
  /// Steps run forward, the recorded run of each of them included.
  [[nodiscard]] cairn::wide forward_steps() const noexcept {
    return counts.advances + counts.recorded + counts.reversals - counts.taped;
  }
  [[nodiscard]] double per_step() const noexcept {
    return plan.steps() > 0 ? double(step_calls()) / double(plan.steps()) : 0;
  }
};

/// Plans of up to cairn::most_walked_steps steps are walked, longer ones counted in closed form where there is one.
/// Keeps the time of `asked.deadline`, which several plans may share, and has all of `asked.time_limit` where there is
/// none. \throws wrong_request, cairn::error   for what does not go together and for a budget that is too small, saying
/// the least
[[nodiscard]] planned plan_of(request const& asked);

/// The loop's sizes, as cairn's planning takes them.   \pre asked.state
[[nodiscard]] cairn::workload workload_of(request const& asked);

/// The fewest slots that a plan of the asked kind can do with.   \pre asked.steps
[[nodiscard]] cairn::slot_index least_slots(request const& asked);

}  // namespace tool
