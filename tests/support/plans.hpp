// SPDX-License-Identifier: Apache-2.0
#pragma once
// The schedules that every test of schedules goes through, and their actions as a list.
#include <string>
#include <type_traits>
#include <vector>
#include <cairn/plan/loop/verified.hpp>
#include <cairn/schedule/action_list.hpp>
#include <cairn/schedule/any.hpp>
#include <cairn/schedule/bptt.hpp>
#include <cairn/schedule/disk_revolve.hpp>
#include <cairn/schedule/hrevolve.hpp>
#include <cairn/schedule/in_memory.hpp>
#include <cairn/schedule/leaves.hpp>
#include <cairn/schedule/mixed.hpp>
#include <cairn/schedule/multistage.hpp>
#include <cairn/schedule/online.hpp>
#include <cairn/schedule/remaining.hpp>
#include <cairn/schedule/revolve.hpp>
#include <cairn/schedule/runge_kutta.hpp>
#include <cairn/schedule/two_level.hpp>
#include <cairn/schedule/uniform.hpp>

/// The rest of a sweep around the listed states; all other slots are empty, and in memory.
inline cairn::remaining rest_around(cairn::stopped_sweep const& sweep, std::vector<cairn::stored_state> const& kept) {
  auto const held = [&kept](cairn::slot_index slot) {
    for (auto const& one : kept)
      if (one.slot == slot) return one;
    return cairn::stored_state{slot, -1};
  };
  return {sweep, [&](cairn::slot_index slot) { return held(slot).state; },
          [&](cairn::slot_index slot) { return held(slot).where; }};
}

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
cairn::action_list action_list_from(Plan const& plan) {
  auto const all = actions_of(plan);
  cairn::action_list_options const options{plan.leaf(), cairn::tapes_of(plan), cairn::initial_is_free(plan),
                                           cairn::tapes_restart(plan), cairn::units_of(plan)};
  return {plan.steps(), plan.slots(), all.data(), all.size(), options};
}

/// Keeps the tape of every step and no state.
inline cairn::action_list all_tapes(cairn::step_index steps) {
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

/// Keeps the tape of every second step, and restarts from it to run the step after it.
inline cairn::action_list every_other_tape(cairn::step_index steps) {
  using namespace cairn;
  std::vector<action> all;
  step_index const tapes = steps / 2;
  for (step_index i = 0; i < 2 * tapes; i += 2) {
    all.push_back({action_kind::record, tier::memory, content::tape, i / 2, i, i + 1});
    all.push_back({action_kind::advance, tier::memory, content::state, no_slot, i + 1, i + 2});
  }
  step_index open = steps;
  all.push_back({action_kind::turn, tier::memory, content::state, no_slot, 2 * tapes, steps});
  if (steps > 2 * tapes) all.push_back({action_kind::reverse, tier::memory, content::state, no_slot, --open, steps});
  for (; open > 0; open -= 2) {
    slot_index const tape = open / 2 - 1;
    all.push_back({action_kind::load, tier::memory, content::tape, tape, open - 1, 0});
    all.push_back({action_kind::reverse, tier::memory, content::state, no_slot, open - 1, open});
    all.push_back({action_kind::reverse, tier::memory, content::tape, tape, open - 2, open - 1});
    all.push_back({action_kind::drop, tier::memory, content::tape, tape, 0, 0});
  }
  return {steps, 0, all.data(), all.size(), {.tapes = tapes, .tapes_restart = true, .budget = {3 * wide(tapes), 3}}};
}

/// Calls use(name, plan) for plans of every kind over n steps.
template <class Use>
void each_plan(cairn::step_index n, Use use) {
  using namespace cairn;
  auto const named = [&](std::string const& kind, auto const& plan) {
    use(kind + " of " + std::to_string(n) + " steps", plan);
  };
  named("uniform", uniform{n});
  named("store_all", store_all(n));
  for (step_index const k : {step_index{0}, n / 3, n - n / 4, n})
    named("uniform with checkpoints " + std::to_string(k), uniform{n, {.checkpoints = k}});
  for (step_index const b : {step_index{1}, step_index{2}, step_index{3}, n / 2 + 1, n + 5})
    named("uniform with blocks of " + std::to_string(b), uniform{n, {.block = b}});
  for (slot_index const s : {n / 2 + 2, n, n + 3})
    named("uniform within slots " + std::to_string(s), uniform{n, {.slots = s}});
  for (slot_index const s : {slot_index{1}, slot_index{2}, slot_index{3}, slot_index{5}, n + 3}) {
    named("revolve with slots " + std::to_string(s), revolve{n, s});
    named("revolve with a free initial state and slots " + std::to_string(s - 1),
          revolve{n, s - 1, {.free_initial = true}});
    named("remaining with slots " + std::to_string(s - 1),
          remaining{{n, n, false, s - 1}, [](slot_index) { return -1; }});
    named("action_list from revolve with slots " + std::to_string(s), action_list_from(revolve{n, s}));
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
    named("remaining with leaves of " + std::to_string(k),
          remaining{{n, n, false, 3, k}, [](slot_index) { return -1; }});
  }
  named("all tapes", all_tapes(n));
  named("every other tape", every_other_tape(n));
  for (step_index const p : {step_index{1}, step_index{3}, n / 2 + 1, n + 2})
    for (slot_index const s : {0, 1, 4}) {
      auto const kind = "two_level of periods of " + std::to_string(p) + " with extra slots " + std::to_string(s);
      named(kind, two_level{n, p, s});
      if (s == 1) named(kind + " on one tier", two_level{n, p, s, {.periods_on = tier::memory}});
    }
  named("verified two_level", verified{two_level{n, 3, 1}});
  named("action_list from two_level", action_list_from(two_level{n, 3, 1}));
  named("leaves of 3 over verified two_level", leaves{n, 3, verified{two_level{n / 3 + (n % 3 != 0 ? 1 : 0), 2, 1}}});
  named("leaves of 3 over two_level", leaves{n, 3, two_level{n / 3 + (n % 3 != 0 ? 1 : 0), 2, 1}});
  named("hrevolve of one tier", hrevolve{n, {{3}}});
  named("hrevolve of two tiers", hrevolve{n, {{2}, {3, 2, 1}}});
  named("hrevolve of three tiers", hrevolve{n, {{1}, {2, 0.5, 0.25}, {n + 1, 3, 2.5}}, {.turn_cost = 1}});
  named("multistage within 1 and 2 slots", multistage{n, 1, 2});
  named("multistage within 3 and 1 slots", multistage{n, 3, 1});
  named("multistage with disk enough", multistage{n, 2, unlimited_slots});
  named("disk_revolve with slots 1", disk_revolve{n, 1, {.disk_write = 2, .disk_read = 1}});
  named("disk_revolve with slots 3", disk_revolve{n, 3, {.disk_write = 5, .disk_read = 5}});
  for (slot_index const m : {slot_index{1}, slot_index{3}, slot_index{6}, n + 4})
    for (slot_index const alpha : {1, 2}) {
      auto const kind = "mixed within units " + std::to_string(m) + ", tapes of " + std::to_string(alpha);
      named(kind, mixed{n, m, {.tape_units = alpha}});
      named(kind + " that restart", mixed{n, m, {.tape_units = alpha, .tapes_restart = true}});
      named(kind + " that restart, and a free initial state",
            mixed{n, m, {.tape_units = alpha, .tapes_restart = true, .free_initial = true}});
    }
  for (slot_index const m : {slot_index{0}, slot_index{2}, n + 4})
    for (auto const keep : {bptt_keep::states, bptt_keep::tapes, bptt_keep::both})
      named("bptt within units " + std::to_string(m) + " that keeps " + std::to_string(int(keep)),
            bptt{n, m, {.tape_units = 2, .keep = keep}});
  for (slot_index const m : {1, 4, 9}) {
    named("runge_kutta within units " + std::to_string(m), runge_kutta{n, m, {.stages = 2}});
    named("runge_kutta of any method within units " + std::to_string(m),
          runge_kutta{n, m, {.stages = 2, .stiffly_accurate = false}});
  }
  for (slot_index const s : {1, 2, 3, 7}) {
    named("online with slots " + std::to_string(s), online{s}.stopping_at(n));
    named("eager online with slots " + std::to_string(s), online{s, {.eager = true}}.stopping_at(n));
  }
}

struct plan_of_any_kind {
  std::string name;
  cairn::any_schedule plan;
};
/// The same plans as one type, so that what is done with them is compiled once, not for each kind; plans.cpp makes them.
std::vector<plan_of_any_kind> any_plans(cairn::step_index n);
template <class Use>
void each_as_any(cairn::step_index n, Use use) {
  for (auto const& one : any_plans(n)) use(one.name, one.plan);
}
/// The same, for sweeps over the store in memory: plans that name other tiers say that they are wanted there.
template <class Use>
void each_in_memory(cairn::step_index n, Use use) {
  for (auto const& one : any_plans(n)) {
    if (leaves_memory(one.plan)) use(one.name, cairn::any_schedule{cairn::in_memory{one.plan}});
    else use(one.name, one.plan);
  }
}
