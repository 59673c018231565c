// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file planning.hpp  From a budget in bytes to a plan: the cheapest one of the asked kind that fits.
///
/// A loop is described by an object with `steps`, `workload(leaf)`, a cairn::workload for leaves of that many steps,
/// whose tape is all that step and adjoint hold for their own use, and `work(schedule, cost)`, what is to be as small
/// as it can be.

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>

#include <cairn/cairn.hpp>

#include "command_line.hpp"

namespace support {

/// A plan and what a sweep of it takes, known before any step has run.
struct chosen_plan {
  cairn::any_schedule schedule;
  cairn::cost cost;
};

template <class Loop>
[[nodiscard]] chosen_plan predict(Loop const& loop, cairn::any_schedule const& plan) {
  return {plan, cairn::estimate(plan, loop.workload(plan.leaf()))};
}

/// Leaves of `leaf` steps, each reversed by one call of the adjoint, scheduled with that many slots.
/// \throws cairn::invalid_plan where the kind cannot do with so few slots
[[nodiscard]] inline cairn::any_schedule make_plan(cairn::step_index steps, schedule_kind kind, cairn::step_index leaf,
                                                   cairn::slot_index slots) {
  auto const count = (steps + leaf - 1) / leaf;
  if (kind == schedule_kind::revolve) return cairn::leaves{steps, leaf, cairn::revolve{count, slots}};
  return cairn::leaves{steps, leaf, cairn::uniform{count, {.slots = slots}}};
}

/// The plan with as many slots as fit; nothing if none do.
template <class Loop>
[[nodiscard]] std::optional<chosen_plan> widest_plan(Loop const& loop, schedule_kind kind, cairn::step_index leaf,
                                                     cairn::wide budget) {
  auto const state = loop.workload(leaf).state_bytes;
  auto slots = cairn::slot_index(std::min(budget / state, cairn::wide(loop.steps)));
  while (slots > 0) {
    try {
      auto plan = predict(loop, make_plan(loop.steps, kind, leaf, slots));
      if (plan.cost.peak_bytes <= budget) return plan;
      slots = std::min(slots, plan.schedule.slots()) -
              std::max<cairn::slot_index>(1, cairn::slot_index((plan.cost.peak_bytes - budget) / (state + 256)));
    } catch (cairn::invalid_plan const&) {
      break;  // this kind needs more slots than are left
    }
  }
  return std::nullopt;
}

/// The plan with the least work, and of those the smallest, with leaves of `leaf` steps, or of any length where that is
/// 0. A longer leaf spares checkpoints, and costs tape. \param what  of which the budget may be too small for the
/// steps: "this text" \throws wrong_usage if the budget is too small, saying what would do
template <class Loop>
[[nodiscard]] chosen_plan plan_within(Loop const& loop, schedule_kind kind, std::int64_t leaf, cairn::wide budget,
                                      std::string const& what) {
  auto const all = predict(loop, cairn::store_all(loop.steps));
  if (kind == schedule_kind::store_all && all.cost.peak_bytes <= budget) return all;

  std::optional<chosen_plan> best;
  auto const work = [&](chosen_plan const& plan) { return loop.work(plan.schedule, plan.cost); };
  auto least = all.cost.peak_bytes;  // that any plan of the kind needs
  auto const shortest = leaf == 0 ? 1 : std::min(leaf, loop.steps), longest = leaf == 0 ? loop.steps : shortest;
  for (auto k = shortest;
       kind != schedule_kind::store_all && k <= longest && loop.workload(k).tape_bytes < std::max(budget, least); ++k) {
    auto const count = (loop.steps + k - 1) / k;
    auto const smallest = kind == schedule_kind::revolve ? make_plan(loop.steps, kind, k, 1)
                                                         : cairn::leaves{loop.steps, k, cairn::uniform{count}};
    least = std::min(least, predict(loop, smallest).cost.peak_bytes);
    auto const plan = widest_plan(loop, kind, k, budget);
    if (plan && (!best || work(*plan) < work(*best) ||
                 (work(*plan) == work(*best) && plan->cost.peak_bytes < best->cost.peak_bytes)))
      best = plan;
  }
  if (best) return *best;
  throw wrong_usage{"--budget is " + std::to_string(std::uint64_t(budget)) + " bytes, but " + name_of(kind) +
                    " needs " + std::to_string(std::uint64_t(least)) + " for " + what + "; give that much" +
                    (kind == schedule_kind::revolve ? "" : ", or choose revolve")};
}

}  // namespace support
