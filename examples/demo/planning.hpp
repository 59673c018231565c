#pragma once
/// \file planning.hpp  From a budget in bytes to a plan: the cheapest one of the asked kind that fits.

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>

#include <cairn/adapt/eigen.hpp>
#include <cairn/cairn.hpp>

#include "lstm.hpp"
#include "options.hpp"
#include "progress.hpp"

namespace demo {

/// The sizes of the demo's loop: text, streams and model together.
struct loop_shape {
  Eigen::Index hidden, symbols, streams;
  cairn::step_index steps;
  step_costs costs;
};

/// A plan and what a sweep of it takes, known before any step has run.
struct chosen_plan {
  cairn::any_schedule schedule;
  cairn::cost cost;
};

/// The loop as cairn's planning sees it. The tape is all that step and adjoint hold for their own use: a longer leaf costs more.
[[nodiscard]] inline cairn::workload workload_of(loop_shape const& loop, cairn::step_index leaf) {
  matrix<float> const part(loop.hidden, loop.streams);
  cairn::wide const state = cairn::bytes_of(lstm_state<float>{part, part});
  cairn::workload work;
  work.steps = loop.steps;
  work.state_bytes = work.adjoint_bytes = state;
  work.state_inline_bytes = sizeof(lstm_state<float>);
  work.tape_bytes =
      lstm_step<float>::bytes(loop.hidden, loop.streams) + lstm_adjoint<float>::bytes(loop.hidden, loop.symbols, loop.streams, leaf);
  work.step_seconds = loop.costs.step;
  work.adjoint_seconds = loop.costs.adjoint;
  work.form.step = cairn::step_form::out_of_place;
  work.form.adjoint = cairn::adjoint_form::leaf;
  return work;
}

[[nodiscard]] inline chosen_plan predict(loop_shape const& loop, cairn::any_schedule const& plan) {
  return {plan, cairn::estimate(plan, workload_of(loop, plan.leaf()))};
}

/// Leaves of `leaf` steps, each reversed by one call of the adjoint, scheduled with that many slots.
/// \throws cairn::invalid_plan where the kind cannot do with so few slots
[[nodiscard]] inline cairn::any_schedule make_plan(loop_shape const& loop, schedule_kind kind, cairn::step_index leaf,
                                                   cairn::slot_index slots) {
  auto const count = (loop.steps + leaf - 1) / leaf;
  if (kind == schedule_kind::revolve) return cairn::leaves{loop.steps, leaf, cairn::revolve{count, slots}};
  return cairn::leaves{loop.steps, leaf, cairn::uniform{count, {.slots = slots}}};
}

/// The plan with as many slots as fit; nothing if none do.
[[nodiscard]] inline std::optional<chosen_plan> widest_plan(loop_shape const& loop, schedule_kind kind, cairn::step_index leaf,
                                                            cairn::wide budget) {
  auto const state = workload_of(loop, leaf).state_bytes;
  auto slots = cairn::slot_index(std::min(budget / state, cairn::wide(loop.steps)));
  while (slots > 0) {
    try {
      auto plan = predict(loop, make_plan(loop, kind, leaf, slots));
      if (plan.cost.peak_bytes <= budget) return plan;
      slots = std::min(slots, plan.schedule.slots()) -
              std::max<cairn::slot_index>(1, cairn::slot_index((plan.cost.peak_bytes - budget) / (state + 256)));
    } catch (cairn::invalid_plan const&) {
      break;  // this kind needs more slots than are left
    }
  }
  return std::nullopt;
}

/// The plan with the fewest step calls, and of those the smallest, with leaves of `leaf` steps, or of any length where that is 0.
/// A longer leaf spares running its own steps once more, and costs tape.
/// \throws wrong_usage if the budget is too small, saying what would do
[[nodiscard]] inline chosen_plan plan_within(loop_shape const& loop, schedule_kind kind, std::int64_t leaf, cairn::wide budget) {
  auto const all = predict(loop, cairn::store_all(loop.steps));
  if (kind == schedule_kind::store_all && all.cost.peak_bytes <= budget) return all;

  std::optional<chosen_plan> best;
  auto least = all.cost.peak_bytes;  // that any plan of the kind needs
  auto const shortest = leaf == 0 ? 1 : std::min(leaf, loop.steps), longest = leaf == 0 ? loop.steps : shortest;
  for (auto k = shortest; kind != schedule_kind::store_all && k <= longest && workload_of(loop, k).tape_bytes < std::max(budget, least);
       ++k) {
    auto const count = (loop.steps + k - 1) / k;
    auto const smallest =
        kind == schedule_kind::revolve ? make_plan(loop, kind, k, 1) : cairn::leaves{loop.steps, k, cairn::uniform{count}};
    least = std::min(least, predict(loop, smallest).cost.peak_bytes);
    auto const plan = widest_plan(loop, kind, k, budget);
    if (plan && (!best || plan->cost.step_calls < best->cost.step_calls ||
                 (plan->cost.step_calls == best->cost.step_calls && plan->cost.peak_bytes < best->cost.peak_bytes)))
      best = plan;
  }
  if (best) return *best;
  throw wrong_usage{"--budget is " + std::to_string(std::uint64_t(budget)) + " bytes, but " + name_of(kind) + " needs " +
                    std::to_string(std::uint64_t(least)) + " for this text; give that much" +
                    (kind == schedule_kind::revolve ? "" : ", or --schedule revolve")};
}

}  // namespace demo
