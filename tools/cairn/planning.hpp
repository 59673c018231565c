#pragma once
/// \file planning.hpp  From a request to a plan and its figures.
#include <optional>
#include <cairn/core/frames_needed.hpp>
#include <cairn/plan/estimate.hpp>
#include <cairn/schedule/any.hpp>
#include "request.hpp"

namespace tool {

struct planned {
  request asked;
  cairn::any_schedule plan;
  cairn::slot_index slots = 0;             ///< asked for, or else chosen
  cairn::schedule_counts counts;
  bool walked = false;                     ///< counts are of a walk, not of a closed form
  std::optional<cairn::step_index> blocks; ///< of a uniform plan, or of a revolve plan over leaves
  cairn::step_index repetition_number = 0; ///< the most often that a step is run unrecorded
  cairn::step_index first_split = 0;       ///< the state where the first advance ends; 0 where there is none
  std::optional<cairn::cost> cost;         ///< where the size of a state is given

  [[nodiscard]] cairn::wide step_calls() const noexcept { return cairn::step_calls(counts, cairn::adjoint_form::one_step); }
  [[nodiscard]] double per_step() const noexcept { return plan.steps() > 0 ? double(step_calls()) / double(plan.steps()) : 0; }
};

/// Plans of up to cairn::most_walked_steps steps are walked, longer ones counted in closed form.
/// \throws wrong_request, cairn::error   for what does not go together and for a budget that is too small, saying the least
[[nodiscard]] planned plan_of(request const& asked);

/// The loop's sizes, as cairn's planning takes them.   \pre asked.state
[[nodiscard]] cairn::workload workload_of(request const& asked);

/// The fewest slots that a plan of the asked kind can do with.   \pre asked.steps
[[nodiscard]] cairn::slot_index least_slots(request const& asked);

}  // namespace tool
