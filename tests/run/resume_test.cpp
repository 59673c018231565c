// SPDX-License-Identifier: Apache-2.0
// A sweep that is stopped at any action goes on from (open steps, adjoint, surviving slots) to the same bits.
#include <cmath>
#include <string>
#include <cairn/cairn.hpp>
#include "support/catch.hpp"
#include "support/toy_stores.hpp"

using cairn::step_index;
namespace {

struct stop {};

/// An object that stays where it is and saves snapshots.
class solver {
 public:
  solver() = default;
  solver(solver const&) = delete;
  void advance() { u = std::sin(u); }
  [[nodiscard]] double save() const { return u; }
  void restore(double kept) { u = kept; }
  double u = 2.1;
};

/// Stops a sweep before or after its k-th action.
struct stop_at {
  long left;
  void operator()(cairn::event const&) {
    if (left-- == 0) throw stop{};
  }
};

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

  auto empty = cairn::workspace_for<pendulum::state>(plan);
  pendulum::step_calls = 0;
  CHECK(cairn::resume(pendulum::in_place{}, pendulum::start(), plan, cairn::resume_point{12, bar}, pendulum::one_step{},
                      empty) == all.gradient);
  CHECK(with_slots < pendulum::step_calls);
  CHECK(cairn::resume(pendulum::in_place{}, pendulum::start(), plan, cairn::resume_point{12, bar},
                      pendulum::with_next{}, empty) == all.gradient);
  CHECK(cairn::resume(pendulum::out_of_place{}, pendulum::start(), plan, cairn::resume_point{12, bar},
                      pendulum::recorded(), empty) == all.gradient);
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
  auto work = cairn::workspace_for<pendulum::state>(plan, store);
  CHECK(cairn::resume(pendulum::in_place{}, pendulum::start(), plan, cairn::resume_point{12, bar}, pendulum::one_step{},
                      work) == all.gradient);
}

TEST_CASE("a resumed sweep that stops again knows its initial state") {
  cairn::revolve const plan{20, 3};
  auto const expected = pendulum::stored{20}.gradient;
  auto work = cairn::workspace_for<pendulum::state>(plan);
  cairn::resume_point<pendulum::numbers> noted{20, {}};
  step_index stop_before = 15;
  auto const noting =
      cairn::hooked(pendulum::one_step{}, [&](pendulum::state const&, pendulum::numbers const& bar, step_index i) {
        noted = {i, bar};
        if (i == stop_before) throw stop{};
      });
  CHECK_THROWS_AS(cairn::gradient(pendulum::in_place{}, pendulum::start(), plan, pendulum::seed, noting, work), stop);
  stop_before = 7;
  CHECK_THROWS_AS(cairn::resume(pendulum::in_place{}, pendulum::start(), plan, noted, noting, work), stop);
  auto other = pendulum::start();
  other.v[0] += 1e-9;
  CHECK_THROWS_AS(cairn::resume(pendulum::in_place{}, other, plan, noted, pendulum::one_step{}, work),
                  cairn::invalid_call);
  CHECK(cairn::resume(pendulum::in_place{}, pendulum::start(), plan, noted, pendulum::one_step{}, work) == expected);
}
