// SPDX-License-Identifier: Apache-2.0
// A sweep that is stopped at any action goes on from (open steps, adjoint, surviving slots) to the same bits.
#include <cmath>
#include <string>
#include <cairn/cairn.hpp>
#include <cairn/planning.hpp>
#include <cairn/schedule/fingerprint.hpp>
#include "support/catch.hpp"
#include "support/stops.hpp"
#include "support/toy_stores.hpp"

using cairn::step_index;
using stops::solver;
using stops::stop;
using stops::stop_at;
namespace {

/// Stops at every event in turn and resumes; returns how many stops there were, and the most steps a resumed sweep ran.
template <class Step, class Adjoint, class Plan, class Workspace>
long stop_everywhere(Plan const& plan, Adjoint adjoint, Workspace make_workspace, auto&& disturb) {
  auto const expected = pendulum::stored{plan.steps()}.gradient;
  for (long k = 0;; ++k) {
    auto work = make_workspace();
    cairn::resume_point<pendulum::numbers> noted{plan.steps(), {}};
    bool turned = false;
    auto const seed = [&](pendulum::state const& x) {
      turned = true;
      noted.bar = x.v;
      return x.v;
    };
    auto const noting = cairn::hooked(adjoint, [&](pendulum::state const&, pendulum::numbers const& bar, step_index i) {
      noted = {i, bar};
    });
    try {
      auto const whole = cairn::gradient(Step{}, pendulum::start(), plan, seed, noting, work, stop_at{k});
      CHECK(whole == expected);
      return k;
    } catch (stop) {
    }
    disturb(work);
    if (turned) CHECK(cairn::resume(Step{}, pendulum::start(), plan, noted, adjoint, work) == expected);
    else CHECK(cairn::gradient(Step{}, pendulum::start(), plan, pendulum::seed, adjoint, work) == expected);
  }
}

}  // namespace

TEST_CASE("a sweep stopped at any action resumes from the slots in memory to the same bits") {
  auto const nothing = [](auto&) {};
  for (step_index const n : {1, 2, 20}) {
    cairn::revolve const plan{n, 3};
    auto const fresh = [&] { return cairn::workspace_for<pendulum::state>(plan); };
    CHECK(stop_everywhere<pendulum::in_place>(plan, pendulum::one_step{}, fresh, nothing) > 2 * n);
    stop_everywhere<pendulum::by_value>(plan, pendulum::one_step{}, fresh, nothing);
    stop_everywhere<pendulum::out_of_place>(plan, pendulum::one_step_by_value{}, fresh, nothing);
    cairn::uniform const blocks{n};
    stop_everywhere<pendulum::in_place>(
        blocks, pendulum::one_step{}, [&] { return cairn::workspace_for<pendulum::state>(blocks); }, nothing);
  }
}

TEST_CASE("a sweep stopped at any action resumes from a store that outlives it, also when slots are gone") {
  cairn::revolve const plan{20, 4};
  toys::serialising store;
  std::mt19937 random{3};
  auto const fresh = [&] { return cairn::workspace_for<pendulum::state>(plan, store); };
  stop_everywhere<pendulum::in_place>(plan, pendulum::one_step{}, fresh, [&](auto&) {
    for (auto at = store.slots.begin(); at != store.slots.end();)
      at = random() % 2 ? store.slots.erase(at) : std::next(at);
  });
}

namespace {

/// As `losing<keeping>`, and refuses to save where something lies.
struct strict_losing : toys::losing<toys::keeping> {
  void save(auto& frames, cairn::place where, step_index i, cairn::frame_id frame) {
    if (inner.kept.count(where.slot) != 0) FAIL("slot " << where.slot << " is full");
    losing::save(frames, where, i, frame);
  }
};

}  // namespace

TEST_CASE("a resumed sweep that loses more checkpoints still knows what the other slots hold") {
  for (unsigned round = 0; round < 40; ++round) {
    cairn::revolve const plan{60, 12};
    strict_losing store;
    store.random.seed(round);
    auto work = cairn::workspace_for<pendulum::state>(plan, store);
    auto const expected = pendulum::stored{60}.gradient;
    cairn::resume_point<pendulum::numbers> noted{60, {}};
    auto const noting =
        cairn::hooked(pendulum::one_step{}, [&](pendulum::state const&, pendulum::numbers const& bar, step_index i) {
          noted = {i, bar};
          if (i == 50) throw stop{};
        });
    CHECK_THROWS_AS(cairn::gradient(pendulum::in_place{}, pendulum::start(), plan, pendulum::seed, noting, work), stop);
    CHECK(cairn::resume(pendulum::in_place{}, pendulum::start(), plan, noted, pendulum::one_step{}, work) == expected);
  }
}

TEST_CASE("a new process resumes with a workspace that has seen nothing") {
  cairn::revolve const plan{20, 4};
  auto const all = pendulum::stored{20};
  auto bar = all.states.back();
  for (step_index i = 20; i-- > 12;) pendulum::swing_back(all.states[std::size_t(i)], bar);

  toys::serialising store;
  store.slots[1] = {5, all.states[5]};
  store.slots[3] = {11, all.states[11]};
  auto work = cairn::workspace_for<pendulum::state>(plan, store);
  pendulum::step_calls = 0;
  CHECK(cairn::resume(pendulum::in_place{}, pendulum::start(), plan, cairn::resume_point{12, bar}, pendulum::one_step{},
                      work) == all.gradient);
  long const with_slots = pendulum::step_calls;

  CHECK(work.step_calls() == cairn::wide(with_slots));

  auto empty = cairn::workspace_for<pendulum::state>(plan);
  auto const from_nothing = [&](auto step, auto adjoint) {
    pendulum::step_calls = 0;
    CHECK(cairn::resume(step, pendulum::start(), plan, cairn::resume_point{12, bar}, adjoint, empty) == all.gradient);
    CHECK(with_slots < pendulum::step_calls);
    CHECK(empty.step_calls() == cairn::wide(pendulum::step_calls));
  };
  from_nothing(pendulum::in_place{}, pendulum::one_step{});
  from_nothing(pendulum::in_place{}, pendulum::with_next{});  // runs to x1 of the first adjoint again
  from_nothing(pendulum::out_of_place{}, pendulum::recorded());
}

TEST_CASE("resume refuses a position outside the loop") {
  cairn::revolve const plan{20, 4};
  auto work = cairn::workspace_for<pendulum::state>(plan);
  for (step_index const open : {-1, 21})
    CHECK_THROWS_AS(cairn::resume(pendulum::in_place{}, pendulum::start(), plan,
                                  cairn::resume_point{open, pendulum::numbers{1, 1}}, pendulum::one_step{}, work),
                    cairn::invalid_call);
}

TEST_CASE("resume refuses an object that is where the exception left it, and takes it once it is restored") {
  auto const step = [](solver& x) { x.advance(); };
  auto const adjoint = [](solver const& x, double& bar) { bar *= std::cos(x.u); };
  for (bool const initial_is_free : {false, true}) {
    cairn::revolve const plan{20, 4, {.free_initial = initial_is_free}};
    solver all;
    double const expected = cairn::gradient(step, all, plan, 1.0, adjoint);
    long stopped = 0;
    for (long k = 0;; ++k) {
      solver x;
      auto work = cairn::workspace_for<solver>(plan);
      cairn::resume_point<double> noted{20, 1.0};
      bool turned = false;
      auto const seed = [&](solver const&) {
        turned = true;
        return 1.0;
      };
      auto const noting = cairn::hooked(adjoint, [&](solver const&, double bar, step_index i) { noted = {i, bar}; });
      try {
        double const whole = cairn::gradient(step, x, plan, seed, noting, work, stop_at{k});
        CHECK(whole == expected);
        break;
      } catch (stop) {
      }
      if (!turned) continue;
      ++stopped;
      if (x.u != solver{}.u) {
        CHECK_THROWS_AS(cairn::resume(step, x, plan, noted, adjoint, work), cairn::invalid_call);
        CHECK_THROWS_AS(cairn::resume(step, x, plan, noted, adjoint, work), cairn::invalid_call);  // and says so again
      }
      x.restore(solver{}.u);
      CHECK(cairn::resume(step, x, plan, noted, adjoint, work) == expected);
    }
    CHECK(stopped > 20);
  }
}

TEST_CASE("resume refuses a value that is not the initial state, however far the sweep had come") {
  for (bool const initial_is_free : {false, true}) {
    cairn::revolve const plan{20, 3, {.free_initial = initial_is_free}};
    auto const expected = pendulum::stored{20}.gradient;
    for (bool const moved_in : {false, true}) {
      long stopped = 0, known = 0;
      for (long k = 0;; ++k) {
        auto work = cairn::workspace_for<pendulum::state>(plan);
        cairn::resume_point<pendulum::numbers> noted{20, {}};
        bool turned = false;
        auto const seed = [&](pendulum::state const& x) {
          turned = true;
          return noted.bar = x.v;
        };
        auto const noting = cairn::hooked(pendulum::one_step{},
                                          [&](pendulum::state const&, pendulum::numbers const& bar, step_index i) {
                                            noted = {i, bar};
                                          });
        auto const x0 = pendulum::start();
        try {
          auto const whole =
              moved_in ? cairn::gradient(pendulum::in_place{}, pendulum::start(), plan, seed, noting, work, stop_at{k})
                       : cairn::gradient(pendulum::in_place{}, x0, plan, seed, noting, work, stop_at{k});
          CHECK(whole == expected);
          break;
        } catch (stop) {
        }
        if (!turned) continue;
        ++stopped;
        auto other = x0;
        other.v[0] = std::nextafter(other.v[0], 10.0);
        try {
          (void)cairn::resume(pendulum::in_place{}, other, plan, noted, pendulum::one_step{}, work);
        } catch (cairn::invalid_call const& refused) {
          ++known;
          CHECK(std::string(refused.what()).find("x0 is not the initial state of the sweep that stopped") !=
                std::string::npos);
          CHECK(cairn::resume(pendulum::in_place{}, x0, plan, noted, pendulum::one_step{}, work) == expected);
        }
      }
      CHECK(stopped > 20);
      if (!moved_in) CHECK(known == stopped);
      else CHECK(known > 0);
    }
  }
}

TEST_CASE("the initial state of one stopped sweep is not asked of the next one") {
  cairn::revolve const plan{20, 3};
  for (int at = 0; at < 40; ++at) {
    toys::serialising store;
    auto work = cairn::workspace_for<pendulum::state>(plan, store);
    auto const from = [](double v) {
      auto x = pendulum::start();
      x.v[0] = v;
      return x;
    };
    // The first one stops in its initial state, the next one anywhere: then its own may not be known.
    auto const stops = [](pendulum::state const& x, pendulum::numbers& bar, step_index i) {
      if (i == 0) throw stop{};
      pendulum::swing_back(x.v, bar);
    };
    CHECK_THROWS_AS(cairn::gradient(pendulum::in_place{}, from(0.5), plan, pendulum::seed, stops, work), stop);
    int left = at;
    auto const step = [&](pendulum::state& x, step_index i) {
      if (left-- == 0) throw stop{};
      pendulum::in_place{}(x, i);
    };
    CHECK_THROWS_AS(cairn::gradient(step, from(0.6), plan, pendulum::seed, stops, work), stop);
    CHECK_NOTHROW(cairn::resume(pendulum::in_place{}, from(0.6), plan, pendulum::seed, pendulum::one_step{}, work));
  }
}

TEST_CASE("a sweep that goes on with its seed refuses an adjoint that its plan is not for, and fills in a report") {
  cairn::leaves const leafy{20, 4, cairn::revolve{5, 2}};
  auto work = cairn::workspace_for<pendulum::state>(leafy);
  pendulum::step_calls = 0;
  CHECK_THROWS_AS(
      cairn::resume(pendulum::in_place{}, pendulum::start(), leafy, pendulum::seed, pendulum::one_step{}, work),
      cairn::invalid_plan);
  CHECK(pendulum::step_calls == 0);
  cairn::revolve const plan{20, 3};
  auto used = cairn::workspace_for<pendulum::state>(plan);
  cairn::sweep_report report;
  (void)cairn::resume(pendulum::in_place{}, pendulum::start(), plan, pendulum::seed, pendulum::one_step{}, used,
                      report);
  CHECK(report.steps == 20);
  CHECK(report.slots == 3);
  CHECK(report.step_calls == cairn::wide(pendulum::step_calls));
}

TEST_CASE("resume looks for the initial state in a store that outlives its sweeps") {
  cairn::revolve const plan{20, 4};
  auto const all = pendulum::stored{20};
  auto bar = all.states.back();
  for (step_index i = 20; i-- > 12;) pendulum::swing_back(all.states[std::size_t(i)], bar);
  toys::serialising store;
  store.slots[0] = {0, all.states[0]};
  store.slots[2] = {11, all.states[11]};
  auto other = pendulum::start();
  other.v[0] += 1e-9;
  {
    auto work = cairn::workspace_for<pendulum::state>(plan, store);
    CHECK_THROWS_AS(
        cairn::resume(pendulum::in_place{}, other, plan, cairn::resume_point{12, bar}, pendulum::one_step{}, work),
        cairn::invalid_call);
  }
  toys::losing<toys::serialising> damaged{store};
  damaged.p = 1;  // what cannot be read is not another initial state
  auto work = cairn::workspace_for<pendulum::state>(plan, store);
  CHECK(cairn::resume(pendulum::in_place{}, pendulum::start(), plan, cairn::resume_point{12, bar}, pendulum::one_step{},
                      work) == all.gradient);
  auto over_damaged = cairn::workspace_for<pendulum::state>(plan, damaged);
  CHECK(cairn::resume(pendulum::in_place{}, pendulum::start(), plan, cairn::resume_point{12, bar}, pendulum::one_step{},
                      over_damaged) == all.gradient);
  CHECK(damaged.lost > 0);
}

namespace {
/// An adjoint that notes the position after each step, and stops after the one named at that time.
auto noting_until(cairn::resume_point<pendulum::numbers>& noted, step_index const& stop_before) {
  return cairn::hooked(pendulum::one_step{}, [&](pendulum::state const&, pendulum::numbers const& bar, step_index i) {
    noted = {i, bar};
    if (i == stop_before) throw stop{};
  });
}
}  // namespace
TEST_CASE("a resumed sweep that stops again knows its initial state") {
  cairn::revolve const plan{20, 3};
  auto const expected = pendulum::stored{20}.gradient;
  auto work = cairn::workspace_for<pendulum::state>(plan);
  cairn::resume_point<pendulum::numbers> noted{20, {}};
  step_index stop_before = 15;
  auto const noting = noting_until(noted, stop_before);
  CHECK_THROWS_AS(cairn::gradient(pendulum::in_place{}, pendulum::start(), plan, pendulum::seed, noting, work), stop);
  stop_before = 7;
  CHECK_THROWS_AS(cairn::resume(pendulum::in_place{}, pendulum::start(), plan, noted, noting, work), stop);
  auto other = pendulum::start();
  other.v[0] += 1e-9;
  CHECK_THROWS_AS(cairn::resume(pendulum::in_place{}, other, plan, noted, pendulum::one_step{}, work),
                  cairn::invalid_call);
  CHECK(cairn::resume(pendulum::in_place{}, pendulum::start(), plan, noted, pendulum::one_step{}, work) == expected);
}

TEST_CASE("a sweep that a new process resumes from a store may stop again, and goes on there") {
  cairn::revolve const plan{20, 3};
  toys::serialising store;
  cairn::resume_point<pendulum::numbers> noted{20, {}};
  step_index stop_before = 15;
  auto const noting = noting_until(noted, stop_before);
  auto const over_store = [&] { return cairn::workspace_for<pendulum::state>(plan, store); };
  auto work = over_store(), another = over_store();
  CHECK_THROWS_AS(cairn::gradient(pendulum::in_place{}, pendulum::start(), plan, pendulum::seed, noting, work), stop);
  for (stop_before = 12; stop_before > 3; stop_before -= 4)
    CHECK_THROWS_AS(cairn::resume(pendulum::in_place{}, pendulum::start(), plan, noted, noting, another), stop);
  CHECK(cairn::resume(pendulum::in_place{}, pendulum::start(), plan, noted, pendulum::one_step{}, another) ==
        pendulum::stored{20}.gradient);
}

namespace {

/// Stops a gradient at every event in turn, and lets it go on with the seed as if nothing were noted.
template <class Step, class Adjoint, class Plan, class Workspace>
void go_on_from_anywhere(Plan const& plan, Adjoint adjoint, Workspace make_workspace, bool elsewhere = false) {
  auto const expected = pendulum::stored{plan.steps()}.gradient;
  for (long k = 0;; ++k) {
    auto work = make_workspace();
    try {
      (void)cairn::gradient(Step{}, pendulum::start(), plan, pendulum::seed, adjoint, work, stop_at{k});
      return;
    } catch (stop) {
    }
    auto another = make_workspace();
    auto& used = elsewhere ? another : work;
    CHECK(cairn::resume(Step{}, pendulum::start(), plan, pendulum::seed, adjoint, used) == expected);
  }
}

}  // namespace

TEST_CASE("a sweep that stopped anywhere goes on with its seed, to the same bits") {
  for (step_index const n : {1, 2, 17}) {
    cairn::any_schedule const plan = cairn::revolve{n, 3}, blocks = cairn::uniform{n},
                              leafy = cairn::leaves{n, 3, cairn::revolve{(n + 2) / 3, 2}};
    auto const fresh = [&] { return cairn::workspace_for<pendulum::state>(plan); };
    go_on_from_anywhere<pendulum::in_place>(plan, pendulum::one_step{}, fresh);
    go_on_from_anywhere<pendulum::by_value>(blocks, pendulum::with_next{}, fresh);
    go_on_from_anywhere<pendulum::out_of_place>(plan, pendulum::recorded(), fresh);
    go_on_from_anywhere<pendulum::out_of_place>(leafy, pendulum::leaf{}, fresh);
    auto const checked = [&] {
      return cairn::workspace_for<pendulum::state>(plan, cairn::sweep_options{cairn::replay_check::every_step});
    };
    go_on_from_anywhere<pendulum::in_place>(plan, pendulum::one_step{}, checked);
    toys::serialising store;
    auto const over = [&] { return cairn::workspace_for<pendulum::state>(plan, store); };
    go_on_from_anywhere<pendulum::in_place>(plan, pendulum::one_step{}, over, true);
    toys::threaded late;
    auto const over_late = [&] { return cairn::workspace_for<pendulum::state>(plan, late); };
    go_on_from_anywhere<pendulum::in_place>(plan, pendulum::one_step{}, over_late, true);
  }
}

TEST_CASE("a sweep that stopped on its way forward runs no step before the last state that is held") {
  step_index const n = 20;
  auto const plan = cairn::store_all(n);
  for (step_index last = 0; last < n; ++last) {
    toys::serialising store;
    auto work = cairn::workspace_for<pendulum::state>(plan, store);
    auto const step = [&](pendulum::state& x, step_index i) {
      if (i == last) throw stop{};
      pendulum::in_place{}(x, i);
    };
    CHECK_THROWS_AS(
        cairn::gradient(step, pendulum::start(), plan, pendulum::seed, pendulum::one_step{}, work), stop);
    auto another = cairn::workspace_for<pendulum::state>(plan, store);  // of a new process, say
    step_index first = n;
    auto const noting = [&](pendulum::state& x, step_index i) {
      first = i < first ? i : first;
      pendulum::in_place{}(x, i);
    };
    pendulum::step_calls = 0;
    cairn::sweep_report report;
    CHECK(cairn::resume(noting, pendulum::start(), plan, pendulum::seed, pendulum::one_step{}, another, report) ==
          pendulum::stored{n}.gradient);
    CHECK(report.steps == n);
    CHECK(report.slots == plan.slots());
    CHECK(report.step_calls == cairn::wide(pendulum::step_calls));
    CHECK(report.state_bytes > 0);
    CHECK(report.predicted_bytes == cairn::unknown_bytes);
    step_index const held = last < n - 1 ? last : n - 2;  // the state before the turn is in no slot
    CHECK(first == held);
    CHECK(pendulum::step_calls == n - held);
  }
}

TEST_CASE("an object goes on from the way, too") {
  cairn::revolve const plan{30, 3};
  auto const step = [](solver& x) { x.advance(); };
  auto const adjoint = [](solver const& x, double& bar) { bar *= std::cos(x.u); };
  solver whole;
  double const expected = cairn::gradient(step, whole, plan, 1.0, adjoint);
  for (int at = 0; at < 30; at += 7) {
    auto work = cairn::workspace_for<solver>(plan);
    int left = at;
    auto const stops = [&](solver& x) {
      if (left-- == 0) throw stop{};
      x.advance();
    };
    solver x;
    CHECK_THROWS_AS(cairn::gradient(stops, x, plan, 1.0, adjoint, work), stop);
    solver again;
    CHECK(cairn::resume(step, again, plan, 1.0, adjoint, work) == expected);
  }
}

TEST_CASE("an object whose steps are kept on tapes goes on from anywhere, and ends where it was asked to") {
  auto const step = [](solver& x) { x.advance(); };
  struct tape {
    double slope, after;
  };
  long left = -1;  // calls of `record` until it stops the sweep
  auto const record = [&](solver& x) {
    if (left-- == 0) throw stop{};
    double const slope = std::cos(x.u);
    x.advance();
    return tape{slope, x.u};
  };
  auto const reverse = [](tape const& at, double& bar) { bar *= at.slope; };
  auto const restart = [](tape const& at) { return at.after; };
  cairn::recorded const adjoint{record, reverse, restart};
  auto const seed = [](solver const&) { return 1.0; };
  long stopped = 0;
  auto const check = [&](cairn::any_schedule const& plan, cairn::object_ends ends) {
    solver whole;
    double const expected = cairn::gradient(step, whole, plan, seed, adjoint, ends);
    auto const goes_on = [&](auto& work) {
      ++stopped, left = -1;
      solver again, other;
      other.advance();
      if (cairn::tapes_of(plan) > 0)
        CHECK_THROWS_AS(cairn::resume(step, other, plan, seed, adjoint, work, ends), cairn::invalid_call);
      CHECK(cairn::resume(step, again, plan, seed, adjoint, work, ends) == expected);
      if (ends != cairn::object_ends::anywhere) CHECK(again.u == whole.u);
    };
    for (long k = 0, done = 0; done < 2; ++k) {
      done = 0;
      for (bool const in_record : {false, true}) {
        auto work = cairn::workspace_for<solver>(plan);
        left = in_record ? k : -1;
        solver x;
        try {
          double const found = cairn::gradient(step, x, plan, seed, adjoint, work, ends, stop_at{in_record ? -1 : k});
          CHECK(found == expected);
          ++done;
        } catch (stop) {
          goes_on(work);
        }
      }
    }
  };
  using enum cairn::object_ends;
  for (auto const ends : {anywhere, at_initial, at_final}) {
    for (std::int64_t units = 1; units <= 12; ++units) check(cairn::mixed{13, units}, ends);
    for (std::int64_t units : {1, 4, 13}) check(cairn::bptt{{.steps = 13, .units = units}}, ends);
    check(cairn::revolve{13, 2}, ends);
    check(cairn::store_all(13), ends);
  }
  CHECK(stopped > 4000);
}

TEST_CASE("another number of steps, or another plan, is refused before any step runs") {
  cairn::any_schedule const plan = cairn::revolve{20, 3};
  auto work = cairn::workspace_for<pendulum::state>(plan);
  cairn::resume_point noted{step_index{20}, pendulum::numbers{}, step_index{20}, cairn::fingerprint(plan)};
  auto const noting =
      cairn::hooked(pendulum::one_step{}, [&](pendulum::state const&, pendulum::numbers const& bar, step_index i) {
        noted.open = i;
        noted.bar = bar;
        if (i == 12) throw stop{};
      });
  CHECK_THROWS_AS(cairn::gradient(pendulum::in_place{}, pendulum::start(), plan, pendulum::seed, noting, work), stop);
  using Catch::Matchers::ContainsSubstring;
  pendulum::step_calls = 0;
  auto const with = [&](cairn::any_schedule const& other, auto position, auto& used) {
    return cairn::resume(pendulum::in_place{}, pendulum::start(), other, position, pendulum::one_step{}, used);
  };
  auto fresh = cairn::workspace_for<pendulum::state>(plan);
  SECTION("by the workspace in which it stopped") {
    cairn::resume_point const bare{noted.open, noted.bar};
    CHECK_THROWS_WITH(with(cairn::revolve{25, 3}, bare, work), ContainsSubstring("its steps = 20, steps = 25"));
    CHECK_THROWS_WITH(with(cairn::revolve{20, 4}, bare, work), ContainsSubstring("its slots = 3, slots = 4"));
    CHECK_THROWS_AS(with(cairn::leaves{20, 4, cairn::revolve{5, 3}}, bare, work), cairn::invalid_plan);
    CHECK_THROWS_AS(cairn::resume(pendulum::in_place{}, pendulum::start(), cairn::any_schedule{cairn::revolve{19, 3}},
                                  pendulum::seed, pendulum::one_step{}, work), cairn::invalid_call);
  }
  SECTION("by the number of steps that was noted") {
    cairn::resume_point const position{noted.open, noted.bar, step_index{20}};
    CHECK_THROWS_WITH(with(cairn::revolve{25, 3}, position, fresh), ContainsSubstring("another number of steps"));
  }
  SECTION("by the fingerprint that was noted") {
    CHECK_THROWS_WITH(with(cairn::uniform{20}, noted, fresh), ContainsSubstring("its fingerprint is not that"));
  }
  CHECK(pendulum::step_calls == 0);
  CHECK(with(plan, noted, work) == pendulum::stored{20}.gradient);
  CHECK(with(plan, noted, fresh) == pendulum::stored{20}.gradient);  // ended: the workspace is free for any plan
  CHECK(with(cairn::revolve{20, 5}, cairn::resume_point{noted.open, noted.bar}, fresh) ==
        pendulum::stored{20}.gradient);
}

TEST_CASE("a loop of unknown length that stopped on its way back is resumed, here and in a new process") {
  step_index const n = 23;
  auto const expected = pendulum::stored{n}.gradient;
  cairn::online const plan{4};
  auto const more = [](pendulum::state const&, step_index i) { return i < n; };
  toys::serialising store;
  for (step_index stopped_at = 0; stopped_at < n; stopped_at += 3) {
    cairn::resume_point noted{n, pendulum::numbers{}};
    auto const noting =
        cairn::hooked(pendulum::one_step{}, [&](pendulum::state const&, pendulum::numbers const& bar, step_index i) {
          noted = {i, bar};
          if (i == stopped_at) throw stop{};
        });
    auto work = cairn::workspace_for<pendulum::state>(plan);
    auto run = cairn::checkpointed_while(pendulum::in_place{}, pendulum::start(), more, plan, work);
    CHECK_THROWS_AS(run.reverse(pendulum::seed, noting), stop);
    CHECK(cairn::resume(pendulum::in_place{}, pendulum::start(), plan, noted, pendulum::one_step{}, work) == expected);

    auto const outliving = [&] { return cairn::workspace_for<pendulum::state>(plan, store); };
    auto first = outliving();
    auto other = cairn::checkpointed_while(pendulum::out_of_place{}, pendulum::start(), more, plan, first);
    CHECK_THROWS_AS(other.reverse(pendulum::seed, noting), stop);
    auto second = outliving();
    CHECK_THROWS_WITH(
        cairn::resume(pendulum::out_of_place{}, pendulum::start(), plan, noted, pendulum::one_step{}, second),
        Catch::Matchers::ContainsSubstring("resume_point{open, bar, steps}"));
    CHECK(cairn::resume(pendulum::out_of_place{}, pendulum::start(), plan,
                        cairn::resume_point{noted.open, noted.bar, n}, pendulum::one_step{}, second) == expected);
  }
}

TEST_CASE("the records of adaptive steps are given back, on the way forward and back") {
  auto const first = [](double& x, step_index i) {
    double const h = 0.01 * (1 + std::abs(x)) + 0.001 * double(i % 3);
    x += h * std::sin(x);
    return h;
  };
  auto const again = [](double& x, double h) { x += h * std::sin(x); };
  auto const back = [](double x, double& bar, double h) { bar *= 1 + h * std::cos(x); };
  cairn::revolve const plan{40, 4};
  cairn::adaptive whole{first, again};
  double const expected = cairn::gradient(whole.step(), 1.0, plan, 1.0, whole.with_record(back));
  for (step_index const open : {0, 7, 30}) {  // stopped on the way back
    cairn::adaptive loop{first, again};
    cairn::resume_point noted{step_index{40}, 1.0};
    auto const noting = cairn::hooked(loop.with_record(back), [&](double, double bar, step_index i) {
      noted = {i, bar};
      if (i == open) throw stop{};
    });
    CHECK_THROWS_AS(cairn::gradient(loop.step(), 1.0, plan, 1.0, noting), stop);
    cairn::adaptive other{first, again};
    auto work = cairn::workspace_for<double>(plan);
    CHECK(cairn::resume(other.step(loop.records()), 1.0, plan, noted, other.with_record(back), work) == expected);
    CHECK(other.records() == whole.records());
  }
  for (step_index const at : {0, 1, 25, 39}) {  // stopped on the way forward: later steps choose
    cairn::adaptive loop{[&](double& x, step_index i) {
                           if (i == at) throw stop{};
                           return first(x, i);
                         }, again};
    CHECK_THROWS_AS(cairn::gradient(loop.step(), 1.0, plan, 1.0, loop.with_record(back)), stop);
    CHECK(loop.records().size() == std::size_t(at));
    cairn::adaptive other{first, again};
    auto work = cairn::workspace_for<double>(plan);
    CHECK(cairn::resume(other.step(loop.records()), 1.0, plan, 1.0, other.with_record(back), work) == expected);
    CHECK(other.records() == whole.records());
    cairn::adaptive repeating{first, again};  // a whole loop that repeats what another one chose
    auto step = repeating.step(whole.records());
    CHECK(cairn::gradient(step, 1.0, plan, 1.0, repeating.with_record(back)) == expected);
    CHECK_THROWS_AS(cairn::gradient(step, 1.0, plan, 1.0, repeating.with_record(back)), cairn::invalid_call);
  }
}
