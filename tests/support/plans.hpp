#pragma once
// The schedules that every test of schedules goes through, and their actions as a list.
#include <string>
#include <type_traits>
#include <vector>
#include <cairn/schedule/any.hpp>
#include <cairn/schedule/leaves.hpp>
#include <cairn/schedule/listed.hpp>
#include <cairn/schedule/remaining.hpp>
#include <cairn/schedule/revolve.hpp>
#include <cairn/schedule/uniform.hpp>

/// All actions, `done` included. \pre the plan ends
template <cairn::schedule Plan>
std::vector<cairn::action> actions_of(Plan const& plan) {
  std::vector<cairn::action> all;
  cairn::cursor_of<Plan> cursor = plan.walk();
  do all.push_back(cursor.next());
  while (all.back().kind != cairn::action_kind::done);
  return all;
}

template <cairn::schedule Plan>
cairn::listed listed_from(Plan const& plan) {
  auto const all = actions_of(plan);
  return {plan.steps(), plan.slots(), all.data(), all.size(), {plan.leaf(), cairn::tapes_of(plan), cairn::initial_is_free(plan)}};
}

/// Keeps the tape of every step and no state.
inline cairn::listed all_tapes(cairn::step_index steps) {
  using namespace cairn;
  std::vector<action> all;
  for (step_index i = 0; i < steps; ++i) all.push_back({action_kind::record, tier::memory, content::tape, i, i, i + 1});
  all.push_back({action_kind::turn, tier::memory, content::state, no_slot, steps, steps});
  for (step_index i = steps; i-- > 0;) {
    all.push_back({action_kind::reverse, tier::memory, content::tape, i, i, i + 1});
    all.push_back({action_kind::drop, tier::memory, content::tape, i, 0, 0});
  }
  return {steps, 0, all.data(), all.size(), {.tapes = steps}};
}

/// Calls use(name, plan) for plans of every kind over n steps.
template <class Use>
void each_plan(cairn::step_index n, Use use) {
  using namespace cairn;
  auto const named = [&](std::string const& kind, auto const& plan) { use(kind + " of " + std::to_string(n) + " steps", plan); };
  named("uniform", uniform{n});
  named("store_all", store_all(n));
  for (step_index const k : {step_index{0}, n / 3, n - n / 4, n})
    named("uniform with checkpoints " + std::to_string(k), uniform{n, {.checkpoints = k}});
  for (step_index const b : {step_index{1}, step_index{2}, step_index{3}, n / 2 + 1, n + 5})
    named("uniform with blocks of " + std::to_string(b), uniform{n, {.block = b}});
  for (slot_index const s : {n / 2 + 2, n, n + 3}) named("uniform within slots " + std::to_string(s), uniform{n, {.slots = s}});
  for (slot_index const s : {slot_index{1}, slot_index{2}, slot_index{3}, slot_index{5}, n + 3}) {
    named("revolve with slots " + std::to_string(s), revolve{n, s});
    named("revolve with a free initial state and slots " + std::to_string(s - 1), revolve{n, s - 1, {.free_initial = true}});
    named("remaining with slots " + std::to_string(s - 1), remaining{{n, n, false, s - 1}, [](slot_index) { return -1; }});
    named("listed from revolve with slots " + std::to_string(s), listed_from(revolve{n, s}));
  }
  for (step_index const k : {step_index{1}, step_index{2}, step_index{3}, step_index{7}, n + 4}) {
    step_index const count = n / k + (n % k != 0 ? 1 : 0);
    auto const kind = "leaves of " + std::to_string(k) + " over ";
    named(kind + "revolve", leaves{n, k, revolve{count, 3}});
    named(kind + "revolve with a free initial state", leaves{n, k, revolve{count, 1, {.free_initial = true}}});
    named(kind + "uniform", leaves{n, k, uniform{count}});
    named(kind + "leaves", leaves{n, k, leaves{count, 2, revolve{count / 2 + count % 2, 2}}});
    named(kind + "tapes", leaves{n, k, all_tapes(count)});
    named(kind + "any schedule", leaves{n, k, any_schedule{uniform{count}}});
    named("remaining with leaves of " + std::to_string(k), remaining{{n, n, false, 3, k}, [](slot_index) { return -1; }});
  }
  named("all tapes", all_tapes(n));
}
