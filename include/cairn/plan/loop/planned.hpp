// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file planned.hpp  A plan with everything that is known of it before any step runs.
#include <cstddef>
#include <cstdint>
#include <utility>
#include <cairn/core/action.hpp>
#include <cairn/core/sweep_bytes.hpp>
#include <cairn/plan/loop/certificate.hpp>
#include <cairn/plan/loop/detail/workload.hpp>
#include <cairn/plan/loop/estimate.hpp>
#include <cairn/schedule/any.hpp>

namespace cairn {

/// The schedules that planning chooses from.
enum class planner : std::uint8_t {
  store_all,
  uniform,
  revolve,
  two_level,
  hrevolve,
  multistage,
  disk_revolve,
  mixed,
  segments
};
/// The number of planners.
inline constexpr std::size_t planner_count = 9;

/// The planner's name, as `cairn plan --schedule` writes it.
[[nodiscard]] constexpr char const* name_of(planner by) noexcept {
  switch (by) {
    case planner::store_all: return "store_all";
    case planner::uniform: return "uniform";
    case planner::revolve: return "revolve";
    case planner::two_level: return "two_level";
    case planner::hrevolve: return "hrevolve";
    case planner::multistage: return "multistage";
    case planner::disk_revolve: return "disk_revolve";
    case planner::mixed: return "mixed";
    case planner::segments: break;
  }
  return "segments";
}

/// The parameters that a schedule was made with; 0 if they do not apply to its planner.
struct plan_parameters {
  slot_index slots = 0;       ///< slots in memory; for `two_level`, inside a period
  slot_index far_slots = 0;   ///< slots on tiers other than memory; `unlimited_slots` if there is no limit
  step_index leaf = 1;        ///< steps of one adjoint call
  step_index period = 0;      ///< of `two_level`
  wide units = 0;             ///< of `mixed`
  wide tape_units = 0;        ///< of `mixed`: the units of one tape
  bool free_initial = false;  ///< the initial state is not in a slot
  slot_index ahead = 0;       ///< of a sweep on two threads: states that are handed over; see `parallel::of`
  /// The slots including that of the initial state, as texts and tables show them; the same plan is `revolve{steps,
  /// slots_said()}`.
  [[nodiscard]] constexpr slot_index slots_said() const noexcept {
    return slots + (free_initial && units == 0 ? 1 : 0);
  }
};

/// A plan, its predicted cost, the parts of its memory, and its distance from the lower bounds.
struct planned {
  any_schedule schedule;    ///< for `gradient`, `checkpointed_loop`, and everything else that takes a schedule
  planner by = planner::revolve;  ///< the planner that made it
  plan_parameters with;     ///< its parameters
  cairn::cost cost;         ///< cost of one sweep
  sweep_parts memory;       ///< the parts of `cost.memory_bytes`
  certificate proof;        ///< its distance from the least possible cost
};

/// Whether a sweep that costs `a` is better than one that costs `b`: fewer seconds if the workload has times, else
/// fewer step calls; then fewer bytes in memory, then fewer bytes elsewhere.
[[nodiscard]] constexpr bool is_cheaper(cost const& a, cost const& b, workload const& work) noexcept {
  if (detail::has_times(work) && a.seconds != b.seconds) return a.seconds < b.seconds;
  if (!detail::has_times(work) && a.steps_run() != b.steps_run()) return a.steps_run() < b.steps_run();
  if (a.memory_bytes != b.memory_bytes) return a.memory_bytes < b.memory_bytes;
  return a.stored_bytes < b.stored_bytes;
}

namespace detail {

/// \param most_counted  as in `itemised`
template <schedule Plan>
[[nodiscard]] planned plan_of(Plan&& made, workload const& work, planner by, plan_parameters const& with,
                              step_index most_counted = most_counted_steps) {
  auto const known = itemised(made, work, most_counted);
  return {std::forward<Plan>(made), by, with, known.sum, known.memory, {}};
}

}  // namespace detail
}  // namespace cairn
