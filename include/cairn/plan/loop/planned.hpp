#pragma once
/// \file planned.hpp  A plan with all that is known of it before any step runs.
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
enum class planner : std::uint8_t { store_all, uniform, revolve, two_level, hrevolve, multistage, disk_revolve, mixed };
/// How many there are.
inline constexpr std::size_t planner_count = 8;

/// Its name, as `cairn plan --schedule` writes it.
[[nodiscard]] constexpr char const* name_of(planner by) noexcept {
  switch (by) {
    case planner::store_all: return "store_all";
    case planner::uniform: return "uniform";
    case planner::revolve: return "revolve";
    case planner::two_level: return "two_level";
    case planner::hrevolve: return "hrevolve";
    case planner::multistage: return "multistage";
    case planner::disk_revolve: return "disk_revolve";
    case planner::mixed: break;
  }
  return "mixed";
}

/// What a schedule was made with; what does not belong to its planner is 0.
struct plan_parameters {
  slot_index slots = 0;       ///< in memory; of `two_level`, inside a period
  slot_index far_slots = 0;   ///< on other tiers than memory; `unlimited_slots` where there is no limit
  step_index leaf = 1;        ///< steps of one adjoint call
  step_index period = 0;      ///< of `two_level`
  wide units = 0;             ///< of `mixed`
  wide tape_units = 0;        ///< of `mixed`, for one tape
  bool free_initial = false;  ///< the initial state stands outside the slots
  /// The slots with that of the initial state among them, as texts and tables say it: those of
  /// `revolve{steps, slots_said()}`.
  [[nodiscard]] constexpr slot_index slots_said() const noexcept {
    return slots + (free_initial && units == 0 ? 1 : 0);
  }
};

/// A plan and its predicted cost, the parts of its memory, and how far it is from any other.
struct planned {
  any_schedule schedule;    ///< for `gradient`, `checkpointed_loop`, and all that takes a schedule
  planner by = planner::revolve;  ///< what made it
  plan_parameters with;     ///< made with these
  cairn::cost cost;         ///< of one sweep
  sweep_parts memory;       ///< what `cost.memory_bytes` is for
  certificate proof;        ///< how far it is from the least possible
};

/// Whether a sweep that costs `a` is the better one: fewer seconds where the workload has times, else fewer step calls;
/// then fewer bytes in memory, then fewer bytes elsewhere.
[[nodiscard]] constexpr bool is_cheaper(cost const& a, cost const& b, workload const& work) noexcept {
  if (detail::has_times(work) && a.seconds != b.seconds) return a.seconds < b.seconds;
  if (!detail::has_times(work) && a.step_calls != b.step_calls) return a.step_calls < b.step_calls;
  if (a.memory_bytes != b.memory_bytes) return a.memory_bytes < b.memory_bytes;
  return a.stored_bytes < b.stored_bytes;
}

namespace detail {

/// \param most_tallied  as of `itemised`
template <schedule Plan>
[[nodiscard]] planned plan_of(Plan&& made, workload const& work, planner by, plan_parameters const& with,
                              step_index most_tallied = most_tallied_steps) {
  auto const known = itemised(made, work, most_tallied);
  return {std::forward<Plan>(made), by, with, known.sum, known.memory, {}};
}

}  // namespace detail
}  // namespace cairn
