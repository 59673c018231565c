// SPDX-License-Identifier: Apache-2.0
// What a sweep does when its store loses states, cannot write them, or is all that is left of a stopped sweep.
#include "support/catch.hpp"
#include "support/failing_disk.hpp"
#include "support/stops.hpp"
#include <algorithm>
#include <functional>
#include <map>
#include <vector>
#include <cairn/cairn.hpp>
#include <cairn/schedule/disk_revolve.hpp>
#include <cairn/schedule/hrevolve.hpp>
#include <cairn/schedule/multistage.hpp>

using cairn::step_index;

namespace {

/// Calls f(plan, slots in memory) for a plan of each planner that uses a disk, with about n / apart states there, at
/// `cost` steps for each transfer.
void each_planner(step_index n, step_index apart, double cost,
                  std::function<void(cairn::any_schedule const&, cairn::slot_index)> const& f) {
  step_index const on_disk = n / apart + 1;
  f(cairn::hrevolve{n, {{5, 0, 0}, {on_disk, cost, cost}}}, 5);
  f(cairn::two_level{n, apart, 8}, 8);
  f(cairn::disk_revolve{n, 5, {.disk_write = cost, .disk_read = cost}}, 5);
  f(cairn::multistage{n, 5, on_disk}, 5);
  f(cairn::leaves{n, 4, cairn::hrevolve{(n + 3) / 4, {{2, 0, 0}, {on_disk, cost, cost}}}}, 2);
}

struct totals {
  long calls = 0, saves = 0, loads = 0;
};

/// One sweep over a tiered store, compared with storing everything.
totals sweep(cairn::any_schedule const& plan, toys::failing_disk& store) {
  toys::failing_disk::disk& on = store.on;
  pendulum::step_calls = 0;
  totals const before{0, on.saves, on.loads};
  auto work = cairn::workspace_for<pendulum::state>(plan, store);
  auto const found =
      cairn::gradient(pendulum::in_place{}, pendulum::start(), plan, pendulum::seed, pendulum::leaf{}, work);
  CHECK(found == pendulum::stored{plan.steps()}.gradient);
  CHECK(work.step_calls() == cairn::wide(pendulum::step_calls));
  return {pendulum::step_calls, on.saves - before.saves, on.loads - before.loads};
}

}  // namespace

TEST_CASE("a lost state costs the steps from the nearest state that is held, and one save", "[store]") {
  each_planner(120, 33, 10, [](auto const& plan, cairn::slot_index) {
    toys::failing_disk::disk on;
    toys::failing_disk whole{on};
    totals const expected = sweep(plan, whole);
    long extra = 0;
    for (long k = 0; k < whole.loads; ++k) {
      toys::failing_disk store{on};
      store.lose_at = k;
      totals const found = sweep(plan, store);
      CHECK(found.calls == expected.calls + store.lost_distance);
      CHECK(found.saves <= expected.saves + 1);
      CHECK(found.loads <= expected.loads + 1);
      extra += store.lost_distance;
    }
    CHECK(extra > 0);
  });
}

TEST_CASE("a disk that fails costs one failed write a slot, and hardly more steps than the best plan over memory",
          "[store]") {
  each_planner(2000, 40, 10, [](auto const& plan, cairn::slot_index in_memory) {
    toys::failing_disk::disk on;
    on.writes_left = 0;
    toys::failing_disk store{on};
    auto const calls = double(sweep(plan, store).calls);
    for (auto const& [slot, times] : on.failed) CHECK(times == 1);
    CHECK(!on.failed.empty());
    step_index const leaf = plan.leaf();
    cairn::leaves const best{2000, leaf, cairn::revolve{2000 / leaf, in_memory, {.free_initial = true}}};
    CHECK(calls <= 1.05 * double(cairn::estimate(best).step_calls));
    for (long const works : {1, 5, 20}) {
      toys::failing_disk::disk part;
      part.writes_left = works;
      toys::failing_disk some{part};
      CHECK(double(sweep(plan, some).calls) <= 1.05 * calls);
      for (auto const& [slot, times] : part.failed) CHECK(times == 1);
    }
  });
}

TEST_CASE("a slot that cannot be written is tried once, and the plan goes on without it", "[store]") {
  each_planner(120, 33, 10, [](auto const& plan, cairn::slot_index) {
    toys::failing_disk::disk on;
    toys::failing_disk whole{on};
    totals const expected = sweep(plan, whole);
    for (cairn::slot_index slot = 0; slot < plan.slots(); ++slot) {
      toys::failing_disk::disk other;
      other.bad = slot;
      toys::failing_disk store{other};
      totals const found = sweep(plan, store);
      if (slot_tier(plan, slot) == cairn::tier::memory || other.failed.empty()) CHECK(found.calls == expected.calls);
      else {
        CHECK(other.failed.at(slot) == 1);
        CHECK(other.saves > 0);
        CHECK(found.calls <= 2 * expected.calls);
      }
    }
  });
}

namespace {

/// A plan of a user, who does not say which slot is on which tier.
struct untold {
  cairn::multistage inside;
  [[nodiscard]] step_index steps() const { return inside.steps(); }
  [[nodiscard]] cairn::slot_index slots() const { return inside.slots(); }
  [[nodiscard]] step_index leaf() const { return 1; }
  [[nodiscard]] auto walk() const { return inside.walk(); }
};

}  // namespace

TEST_CASE("a plan that says nothing of its tiers holds no more in memory where its slots on disk cannot be written",
          "[store]") {
  cairn::multistage const told{60, 3, 4};
  auto const states_of = [](auto const& plan) {
    toys::failing_disk::disk on;
    on.writes_left = 0;
    toys::failing_disk store{on};
    pendulum::state::peak = int(pendulum::state::alive);
    CHECK(cairn::gradient(pendulum::in_place{}, pendulum::start(), plan, pendulum::seed, pendulum::leaf{}, store) ==
          pendulum::stored{60}.gradient);
    CHECK(on.failed.size() == 4);
    return int(pendulum::state::peak);
  };
  CHECK(states_of(untold{told}) == states_of(cairn::any_schedule{told}));
}

namespace {

using stops::stop;

/// What a sweep has cost so far, and what it had cost after each reverse; ends its process before the k-th action.
struct meter {
  long left = -1;
  totals now;
  std::map<step_index, totals> after;
  void operator()(cairn::event const& e) {
    auto const& a = e.what();
    if (e.moment() == cairn::moment::before) {
      if (left-- == 0) throw stop{};
      return;
    }
    if (a.kind == cairn::action_kind::advance || a.kind == cairn::action_kind::turn) now.calls += long(a.to - a.from);
    if (a.kind == cairn::action_kind::turn) after[a.to] = now;
    if (a.kind == cairn::action_kind::reverse) after[a.from] = now;
    if (a.where == cairn::tier::memory || a.slot == cairn::no_slot) return;
    if (a.kind == cairn::action_kind::save) ++now.saves;
    if (a.kind == cairn::action_kind::load) ++now.loads;
  }
};

/// The most steps between two states that a disk holds, the initial state and state `end` included.
step_index stretch(toys::failing_disk::disk const& on, step_index end) {
  std::vector<step_index> held{0, end};
  for (auto const& [slot, one] : on.files)
    if (one.at < end) held.push_back(one.at);
  std::sort(held.begin(), held.end());
  step_index most = 0;
  for (std::size_t k = 1; k < held.size(); ++k) most = std::max(most, held[k] - held[k - 1]);
  return most;
}

/// Stops a sweep at each of its actions, and goes on, in the same process or in a new one that has only the disk.
void stop_everywhere(cairn::any_schedule const& plan, bool new_process) {
  step_index const n = plan.steps();
  pendulum::leaf const adjoint;
  auto const expected = pendulum::stored{n}.gradient;
  toys::failing_disk::disk on;
  meter whole;
  {
    toys::failing_disk store{on};
    REQUIRE(cairn::gradient(pendulum::in_place{}, pendulum::start(), plan, pendulum::seed, adjoint, store, whole) ==
            expected);
  }
  for (long k = 0;; ++k) {
    CAPTURE(k, new_process);
    toys::failing_disk store{on};
    auto work = cairn::workspace_for<pendulum::state>(plan, store);
    meter before;
    before.left = k;
    cairn::resume_point<pendulum::numbers> noted{-1, {}};
    auto const seed = [&](pendulum::state const& x) {
      noted = {n, x.v};
      return x.v;
    };
    auto const noting =
        cairn::hooked(adjoint, [&](pendulum::state const&, pendulum::numbers const& bar, step_index i, step_index) {
          noted = {i, bar};
        });
    try {
      auto const found = cairn::gradient(pendulum::in_place{}, pendulum::start(), plan, seed, noting, work, before);
      CHECK(found == expected);
      return;
    } catch (stop) {}
    totals const spent = noted.open < 0 ? before.now : whole.after.at(noted.open);
    step_index const gap = stretch(on, noted.open < 0 ? step_index(before.now.calls) : noted.open);
    toys::failing_disk next{on};
    auto fresh = cairn::workspace_for<pendulum::state>(plan, next);
    auto& used = new_process ? fresh : work;
    meter rest;
    pendulum::step_calls = 0;
    if (noted.open < 0)
      CHECK(cairn::resume(pendulum::in_place{}, pendulum::start(), plan, pendulum::seed, adjoint, used, rest) ==
            expected);
    else CHECK(cairn::resume(pendulum::in_place{}, pendulum::start(), plan, noted, adjoint, used, rest) == expected);
    CHECK(used.step_calls() == cairn::wide(pendulum::step_calls));
    CHECK(pendulum::step_calls <= whole.now.calls - spent.calls + gap);
    CHECK(rest.now.saves <= whole.now.saves - spent.saves);
    CHECK(rest.now.loads <= whole.now.loads - spent.loads);
  }
}

}  // namespace

TEST_CASE("where another slot on disk works, a sweep obeys its plan to the end", "[store]") {
  cairn::any_schedule const plan = cairn::multistage{60, 3, 4};
  auto const obeyed = [&](cairn::slot_index bad) {
    toys::failing_disk::disk on;
    on.bad = bad;
    toys::failing_disk store{on};
    meter seen;
    CHECK(cairn::gradient(pendulum::in_place{}, pendulum::start(), plan, pendulum::seed, pendulum::leaf{}, store,
                          seen) == pendulum::stored{60}.gradient);
    CHECK(on.failed.size() == (bad == cairn::no_slot ? 0 : 1));
    long writes = bad != cairn::no_slot;  // one to another slot shows that the disk works
    auto walk = plan.walk();
    for (auto a = walk.next(); a.kind != cairn::action_kind::done; a = walk.next())
      writes += a.kind == cairn::action_kind::save && a.where != cairn::tier::memory && a.slot != bad;
    CHECK(on.saves == writes);
    return std::vector{seen.now.calls, seen.now.saves, seen.now.loads};
  };
  for (cairn::slot_index const bad : {3, 4, 5}) CHECK(obeyed(bad) == obeyed(cairn::no_slot));
}

TEST_CASE("an observer hears the end of every action, also of a save or a load whose slot cannot be written",
          "[store]") {
  cairn::any_schedule const plan = cairn::multistage{60, 3, 4};
  int not_again = 0;
  for (long writes = 0; writes <= 4; ++writes)
    for (long lost = 0; lost < 12; ++lost) {
      toys::failing_disk::disk on;
      on.writes_left = writes;
      toys::failing_disk store{on};
      store.lose_at = lost;
      cairn::action begun{};
      long under_way = 0;
      auto const hears = [&](cairn::event const& e) {
        under_way += e.moment() == cairn::moment::before ? 1 : -1;
        if (e.moment() == cairn::moment::before) begun = e.what();
        else if (begun != e.what() || under_way != 0) FAIL("another action ends");
      };
      CHECK(cairn::gradient(pendulum::in_place{}, pendulum::start(), plan, pendulum::seed, pendulum::leaf{}, store,
                            hears) == pendulum::stored{60}.gradient);
      CHECK(under_way == 0);
      not_again += writes == 4 && !on.failed.empty();
    }
  CHECK(not_again > 0);  // each slot was written once, and one could not be written again after a loss
}

TEST_CASE("what is thrown after a lost state was made again is reported with its own step", "[store]") {
  cairn::any_schedule const plan = cairn::multistage{60, 3, 4};
  toys::failing_disk::disk on;
  toys::failing_disk store{on};
  store.lose_at = 0;
  auto work = cairn::workspace_for<pendulum::state>(plan, store);
  step_index thrown = -1;
  auto const stops = [&](cairn::event const& e) {
    if (store.lost_distance == 0 || e.moment() == cairn::moment::after) return;
    thrown = e.what().from;
    throw stop{};
  };
  CHECK_THROWS_AS(cairn::gradient(pendulum::in_place{}, pendulum::start(), plan, pendulum::seed, pendulum::leaf{}, work,
                                  stops), stop);
  CHECK(thrown > 0);
  CHECK(work.failure().step == thrown);
}

TEST_CASE("a sweep stopped at any action takes the rest of its plan and at most one stretch", "[store]") {
  for (bool const new_process : {false, true})
    for (step_index const n : {1, 2, 61, 120})
      each_planner(n, 33, 10, [&](auto const& plan, cairn::slot_index) { stop_everywhere(plan, new_process); });
}

namespace {

/// The most steps of a forward run after which nothing new is on the disk.
step_index longest_without(cairn::any_schedule const& plan) {
  step_index last = 0, most = 0;
  for (auto walk = plan.walk();;) {
    cairn::action const a = walk.next();
    bool const turns = a.kind == cairn::action_kind::turn;
    if (!turns && (a.kind != cairn::action_kind::save || a.where == cairn::tier::memory)) continue;
    most = std::max(most, (turns ? a.to : a.from) - last);
    last = a.from;
    if (turns) return most;
  }
}

/// Stops the forward run of 500 steps after so many calls, again and again, and goes on each time.
void stop_again_and_again(long every, bool new_process) {
  int goes_on = 0;
  each_planner(500, 12, 1, [&](auto const& plan, cairn::slot_index) {
    if (new_process && longest_without(plan) >= every) return;  // no state is written between two stops
    ++goes_on;
    toys::failing_disk::disk on;
    toys::failing_disk whole{on};
    long const undisturbed = sweep(plan, whole).calls;
    on.files.clear();
    stops::forward_stops run{every};
    long stopped = 0;
    toys::failing_disk store{on};
    auto work = cairn::workspace_for<pendulum::state>(plan, store);
    auto const go = [&](auto& used) {
      pendulum::numbers found;
      try {
        found = cairn::resume(run.step(), pendulum::start(), plan, run.seed(), pendulum::leaf{}, used);
      } catch (stop) { ++stopped; }
      return found;
    };
    pendulum::numbers found;
    while (found.empty() && stopped < 100) {
      toys::failing_disk next{on};
      auto fresh = cairn::workspace_for<pendulum::state>(plan, next);
      found = go(new_process ? fresh : work);
    }
    CHECK(found == pendulum::stored{500}.gradient);
    CHECK(stopped >= 500 / every);
    CHECK(double(run.calls) <= 1.25 * double(undisturbed));
  });
  CHECK(goes_on >= (every > 100 ? 5 : 3));
}

}  // namespace

TEST_CASE("a forward run that is stopped again and again ends", "[store]") {
  for (bool const new_process : {false, true})
    for (long const every : {37, 211}) stop_again_and_again(every, new_process);
}
