// SPDX-License-Identifier: Apache-2.0
// Where an object is when a sweep is over: anywhere, in the initial state, or in the final one.
#include <cairn/cairn.hpp>
#include <cairn/run/resume.hpp>
#include <limits>
#include "support/catch.hpp"
#include "support/pendulum.hpp"
#include "support/toy_stores.hpp"

namespace {

using cairn::object_ends;
using cairn::step_index;
using pendulum::numbers;

struct solver {
  numbers v{1.0, 0.5};  // as pendulum::start(), without a state that would count
  solver() = default;
  solver(solver const&) = delete;
  [[nodiscard]] pendulum::state save() const { return pendulum::state{v}; }
  void restore(pendulum::state const& snapshot) { v = snapshot.v; }
};
auto const step = [](solver& x, step_index i) { ++pendulum::step_calls, pendulum::swing(x.v, x.v, i); };
auto const seed = [](solver const& x) { return x.v; };
auto const reads = [](solver const& x, numbers& bar, step_index) { pendulum::swing_back(x.v, bar); };
auto const moves = [](solver& x, numbers& bar, step_index) {
  pendulum::swing_back(x.v, bar);
  x.v.assign(2, std::numeric_limits<double>::quiet_NaN());
};

/// Snapshots at once in a sweep, and what is predicted.
template <class Sweep>
void check_peak(cairn::any_schedule const& plan, cairn::sweep_form form, Sweep sweep) {
  form.snapshots = true;
  int const outside = pendulum::state::alive;
  pendulum::state::peak = outside;
  sweep();
  CHECK(pendulum::state::peak - outside == int(cairn::estimate(plan, {.form = form}).peak_states));
}

void check_ends(cairn::any_schedule const& plan) {
  step_index const n = plan.steps();
  CAPTURE(n, plan.slots());
  pendulum::stored const all{n};
  for (auto const ends : {object_ends::anywhere, object_ends::at_initial, object_ends::at_final}) {
    CAPTURE(int(ends));
    auto const stands = [&](solver const& x) {
      if (ends == object_ends::at_initial) CHECK(x.v == all.states.front());
      if (ends == object_ends::at_final) CHECK(x.v == all.states.back());
    };
    check_peak(plan, {.ends = ends}, [&] {
      solver x;
      pendulum::step_calls = 0;
      CHECK(cairn::gradient(step, x, plan, seed, moves, ends) == all.gradient);
      CHECK(cairn::wide(pendulum::step_calls) == cairn::estimate(plan).step_calls);
      stands(x);
    });
    check_peak(plan, {.keeps_run = true, .ends = ends}, [&] {
      solver x;
      auto run = cairn::checkpointed_loop(step, x, plan, ends);
      CHECK(run.final_state().v == all.states.back());
      for (int again = 0; again < 2; ++again) {
        CHECK(run.reverse(seed, moves) == all.gradient);
        stands(x);
        if (ends == object_ends::at_final) CHECK(run.final_state().v == all.states.back());
      }
    });
    auto work = cairn::workspace_for<solver>(plan);
    auto checked = cairn::workspace_for<solver>(
        plan, cairn::sweep_options{.verify = cairn::replay_check::checkpoints, .object = ends});
    for (int again = 0; again < 2; ++again) {
      solver x, y, z;
      CHECK(cairn::gradient(step, x, plan, seed, moves, work, cairn::no_observer{}, ends) == all.gradient);
      stands(x);
      CHECK(cairn::gradient(step, y, plan, seed, moves, checked) == all.gradient);
      stands(y);
      CHECK(cairn::gradient(step, z, plan, seed, moves, [](cairn::event const&) {}, ends) == all.gradient);
      stands(z);
    }
  }
  solver x;  // not requested: an adjoint that only reads ends where its last call found the object
  CHECK(cairn::gradient(step, x, plan, seed, reads) == all.gradient);
  CHECK(x.v == all.states.front());
}

}  // namespace

TEST_CASE("an object ends where it is wanted, with as many snapshots as are predicted") {
  for (step_index const n : {0, 1, 2, 30}) {
    for (step_index const slots : {1, 4}) {
      check_ends(cairn::revolve{n, slots});
      check_ends(cairn::revolve{n, slots, {.free_initial = true}});
    }
    check_ends(cairn::uniform{n});
    check_ends(cairn::store_all(n));
  }
}

TEST_CASE("so it does over a store that keeps no frames") {
  pendulum::stored const all{30};
  for (auto const ends : {object_ends::at_initial, object_ends::at_final})
    for (bool const free : {false, true}) {
      cairn::revolve const plan{30, 3, {.free_initial = free}};
      toys::serialising store;
      solver x, y;
      CHECK(cairn::gradient(step, x, plan, seed, moves, store, ends) == all.gradient);
      CHECK(x.v == (ends == object_ends::at_final ? all.states.back() : all.states.front()));
      auto run = cairn::checkpointed_loop(step, y, plan, store, ends);
      for (int again = 0; again < 2; ++again) CHECK(run.reverse(seed, moves) == all.gradient);
      CHECK(y.v == x.v);
    }
}

TEST_CASE("so it does after a loop of unknown length") {
  pendulum::stored const all{30};
  for (auto const ends : {object_ends::at_initial, object_ends::at_final}) {
    solver x;
    auto run = cairn::checkpointed_while(
        step, x, [](solver const&, step_index i) { return i < 30; }, cairn::online{3}, ends);
    CHECK(run.reverse(seed, moves) == all.gradient);
    CHECK(x.v == (ends == object_ends::at_final ? all.states.back() : all.states.front()));
  }
}

TEST_CASE("a budget for an object counts the snapshots that its end needs, and leaves no slot out that fits") {
  cairn::sweep_report report;
  step_index const n = 30;
  pendulum::stored const all{n};
  for (auto const ends : {object_ends::anywhere, object_ends::at_initial, object_ends::at_final}) {
    auto const check_run = [&](auto const& plan, step_index slots) {
      solver x;
      pendulum::step_calls = 0;
      CHECK(cairn::gradient(step, x, plan, all.states.back(), moves, report, ends) == all.gradient);
      CHECK(cairn::wide(pendulum::step_calls) == cairn::estimate(cairn::revolve{n, slots}).step_calls);
    };
    for (step_index const slots : {2, 3, 5}) {
      CAPTURE(int(ends), slots);
      check_run(cairn::revolve{n, slots}, slots);
      auto const bytes = std::int64_t(report.predicted_bytes);
      check_run(cairn::budget_of{n, bytes}, slots);
      CHECK(std::int64_t(report.predicted_bytes) == bytes);
      check_run(cairn::budget_of{n, bytes - 1}, slots - 1);
    }
  }
}

TEST_CASE("a resumed sweep leaves the object in the initial state, and refuses the final one before any step") {
  cairn::revolve const plan{30, 3};
  pendulum::stored const all{30};
  auto work = cairn::workspace_for<solver>(plan);
  solver x;
  cairn::resume_point<numbers> noted{};
  auto const stops = cairn::hooked(moves, [&](solver const&, numbers const& bar, step_index i) {
    noted = {i, bar};
    if (i == 11) throw 1;
  });
  CHECK_THROWS_AS(cairn::gradient(step, x, plan, seed, stops, work), int);
  x.v = all.states.front();
  long const calls = pendulum::step_calls;
  CHECK_THROWS_AS(cairn::resume(step, x, plan, noted, moves, work, object_ends::at_final), cairn::invalid_call);
  CHECK(pendulum::step_calls == calls);
  CHECK(cairn::resume(step, x, plan, noted, moves, work, object_ends::at_initial) == all.gradient);
  CHECK(x.v == all.states.front());
  for (auto const ends : {object_ends::at_initial, object_ends::at_final}) {  // on the way forward it may end anywhere
    solver y;
    CHECK(cairn::resume(step, y, plan, seed, moves, work, ends) == all.gradient);
    CHECK(y.v == (ends == object_ends::at_final ? all.states.back() : all.states.front()));
    cairn::online const open{3};
    auto used = cairn::workspace_for<solver>(open);
    solver z;
    CHECK(cairn::resume(step, z, cairn::run_while{[](solver const&, step_index i) { return i < 30; }, open}, seed,
                        moves, used, ends) == all.gradient);
    CHECK(z.v == y.v);
  }
}
