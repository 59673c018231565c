// SPDX-License-Identifier: Apache-2.0
// A loop of unknown length that is stopped on its way forward, or anywhere else, goes on to the same bits.
#include "support/catch.hpp"
#include "support/failing_disk.hpp"
#include "support/stops.hpp"
#include "support/toy_stores.hpp"
#include <algorithm>
#include <cmath>
#include <vector>
#include <cairn/cairn.hpp>

using cairn::step_index;
using stops::solver;
using stops::stop;
using stops::stop_at;

namespace {

/// Stops everywhere, and goes on in what `next` makes of the old workspace.
template <class Step, class Adjoint>
long stop_everywhere(step_index n, Adjoint adjoint, cairn::online const& plan, auto make_workspace, auto&& next) {
  auto const expected = pendulum::stored{n}.gradient;
  cairn::run_while const loop{[n](pendulum::state const&, step_index i) { return i < n; }, plan};
  for (long k = 0;; ++k) {
    CAPTURE(n, k);
    auto work = make_workspace();
    try {
      auto const whole = cairn::resume(Step{}, pendulum::start(), loop, pendulum::seed, adjoint, work, stop_at{k});
      CHECK(whole == expected);
      return k;
    } catch (stop) {}
    next(work, [&](auto& used) {
      CHECK(cairn::resume(Step{}, pendulum::start(), loop, pendulum::seed, adjoint, used) == expected);
    });
  }
}

}  // namespace

TEST_CASE("a loop of unknown length stopped at any action goes on to the same bits") {
  auto const same = [](auto& work, auto go) { go(work); };
  for (step_index const n : {0, 1, 2, 37})
    for (step_index const slots : {1, 2, 5}) {
      cairn::online const plan{slots};
      auto const fresh = [&] { return cairn::workspace_for<pendulum::state>(plan); };
      CHECK(stop_everywhere<pendulum::in_place>(n, pendulum::one_step{}, plan, fresh, same) >= 2 * n);
      stop_everywhere<pendulum::by_value>(n, pendulum::with_next{}, plan, fresh, same);
      stop_everywhere<pendulum::out_of_place>(n, pendulum::one_step{}, plan, fresh, same);
    }
}

TEST_CASE("a new process goes on with a loop of unknown length from a store that outlives it") {
  cairn::online const plan{4};
  for (step_index const n : {0, 1, 2, 37}) {
    toys::serialising store;
    auto const work_over_it = [&] { return cairn::workspace_for<pendulum::state>(plan, store); };
    auto const in_new_process = [&](auto&, auto go) {
      auto work = work_over_it();
      go(work);
      store.slots.clear();
    };
    stop_everywhere<pendulum::in_place>(n, pendulum::one_step{}, plan, work_over_it, in_new_process);
    stop_everywhere<pendulum::out_of_place>(n, pendulum::with_next{}, plan, work_over_it, in_new_process);
  }
}

TEST_CASE("a loop of unknown length that is stopped again and again ends, and hardly runs a step twice") {
  step_index const n = 500;
  cairn::online const plan{40};
  cairn::run_while const loop{[](pendulum::state const&, step_index i) { return i < n; }, plan};
  for (long const every : {37, 211}) {
    auto work = cairn::workspace_for<pendulum::state>(plan);
    stops::forward_stops run{every};
    long stopped = 0;
    auto const sweep = [&] {
      return cairn::resume(run.step(), pendulum::start(), loop, run.seed(), pendulum::one_step{}, work);
    };
    pendulum::numbers found;
    while (found.empty() && stopped < 100) try {
        found = sweep();
      } catch (stop) { ++stopped; }
    CHECK(found == pendulum::stored{n}.gradient);
    CHECK(stopped >= n / every);
    auto const undisturbed = double(cairn::estimate(plan.stopping_at(n, false)).step_calls);
    CHECK(double(run.calls) <= 1.25 * undisturbed);
  }
}

TEST_CASE("a loop of unknown length that was stopped before its end is at no position of its way back") {
  cairn::online const plan{4};
  auto work = cairn::workspace_for<pendulum::state>(plan);
  auto const endless = [](pendulum::state const&, step_index) { return true; };
  CHECK_THROWS_AS(cairn::checkpointed_while(pendulum::in_place{}, pendulum::start(), endless, plan, work, stop_at{9}),
                  stop);
  for (step_index const open : {1, 2, 9})
    CHECK_THROWS_AS(cairn::resume(pendulum::in_place{}, pendulum::start(), plan,
                                  cairn::resume_point{open, pendulum::numbers{1, 1}}, pendulum::one_step{}, work),
                    cairn::invalid_call);
}

TEST_CASE("a loop of unknown length that goes on is refused tapes before any step runs") {
  struct with_tapes : cairn::online {
    static step_index tapes() { return 1; }
  };
  with_tapes const plan{cairn::online{3}};
  auto const more = [](pendulum::state const&, step_index i) { return i < 5; };
  auto work = cairn::workspace_for<pendulum::state>(plan);
  pendulum::step_calls = 0;
  CHECK_THROWS_AS(cairn::resume(pendulum::in_place{}, pendulum::start(), cairn::run_while{more, plan}, pendulum::seed,
                                pendulum::one_step{}, work),
                  cairn::invalid_plan);
  CHECK(pendulum::step_calls == 0);
}

TEST_CASE("a resumed loop that has ended says nothing about the next one in its workspace") {
  step_index const n = 20;
  auto const from = [](double v) {
    auto x = pendulum::start();
    x.v[0] = v;
    return x;
  };
  cairn::revolve const known{n, 3};
  cairn::run_while const open{[](pendulum::state const&, step_index i) { return i < n; }, cairn::online{3}};
  auto const check = [&](auto const& plan, auto work) {
    auto const sweep = [&](double v, auto... last) {
      return cairn::resume(pendulum::in_place{}, from(v), plan, pendulum::seed, pendulum::one_step{}, work, last...);
    };
    CHECK_THROWS_AS(sweep(0.5, stop_at{30}), stop);
    CHECK_THROWS_AS(sweep(0.6), cairn::invalid_call);
    for (double const v : {0.5, 0.6, 0.7})
      CHECK(sweep(v) == cairn::gradient(pendulum::in_place{}, from(v), cairn::store_all(n), pendulum::seed,
                                        pendulum::one_step{}));
  };
  check(known, cairn::workspace_for<pendulum::state>(known));
  check(open, cairn::workspace_for<pendulum::state>(open.plan));
}

TEST_CASE("the way back of a resumed loop of unknown length is planned for its length") {
  step_index const n = 60;
  for (step_index const slots : {1, 2, 5, 60}) {
    cairn::run_while const loop{[](pendulum::state const&, step_index i) { return i < n; }, cairn::online{slots}};
    auto work = cairn::workspace_for<pendulum::state>(loop.plan);
    CHECK(cairn::resume(pendulum::in_place{}, pendulum::start(), loop, pendulum::seed, pendulum::one_step{}, work) ==
          pendulum::stored{n}.gradient);
    // A run to find the length, and no more than if it had been known; the initial state is one more that is held.
    CHECK(work.step_calls() <= cairn::wide(n) + cairn::estimate(cairn::revolve{n, slots + 1}).step_calls);
  }
}

TEST_CASE("an object in a loop of unknown length goes on from its snapshots") {
  cairn::online const plan{4};
  auto const step = [](solver& s) { s.advance(); };
  auto const pull = [](solver const& s, double& bar) { bar *= std::cos(s.u); };
  cairn::run_while const loop{[](solver const&, step_index i) { return i < 30; }, plan};
  auto const seed = [](solver const&) { return 1.0; };
  double expected = 1;
  {
    std::vector<double> u{2.1};
    for (int i = 0; i < 30; ++i) u.push_back(std::sin(u.back()));
    for (std::size_t i = 30; i-- > 0;) expected *= std::cos(u[i]);
  }
  auto const whole = long(cairn::estimate(plan.stopping_at(30, false)).step_calls);
  long saved = 0;
  for (long k = 0;; ++k) {
    auto work = cairn::workspace_for<solver>(plan);
    solver s;
    try {
      double const bar = cairn::resume(step, s, loop, seed, pull, work, stop_at{k});
      CHECK(bar == expected);
      break;
    } catch (stop) {}
    s.u = 2.1;
    long calls = 0;
    auto const counted = [&](solver& one) {
      ++calls;
      one.advance();
    };
    CHECK(cairn::resume(counted, s, loop, seed, pull, work) == expected);
    CHECK(calls <= whole + 1);  // the turn of an object is made by a step of its own
    saved = std::max(saved, whole - calls);
  }
  CHECK(saved >= 20);
}

TEST_CASE("parameters of a loop of unknown length that goes on keep their gradient") {
  cairn::online const plan{3};
  double p = 0.7;
  bool changes = false;
  auto const step = [](double& x, double const& a) { x = a * std::sin(x); };
  auto const pull = [&](double const& x, double& bar, double const& a, double& da) {
    da += bar * std::sin(x);
    bar *= a * std::cos(x);
    if (changes) p = 0.8;
  };
  cairn::run_while const loop{[](double const& x, double const& a) { return x > 1e-3 * a; }, plan};
  cairn::sweep_report report;
  auto const run = [&](auto& work, double& dp, auto... more) {
    return cairn::resume(step, 2.1, loop, 1.0, pull, work, cairn::wrt{p, dp}, report, more...);
  };
  auto whole = cairn::workspace_for<double>(plan);
  double dp = 0;
  double const expected = run(whole, dp);
  double const sum = dp;
  CHECK(report.steps > 10);
  CHECK(report.step_calls == whole.step_calls());
  for (long k = 0; k < 1000; ++k) {
    auto work = cairn::workspace_for<double>(plan);
    try {
      (void)run(work, dp, stop_at{k});
      CHECK(k > 30);
      break;
    } catch (stop) {}
    CHECK(run(work, dp) == expected);
    CHECK(dp == sum);
  }
  changes = true;
  CHECK_THROWS_WITH(run(whole, dp), Catch::Matchers::ContainsSubstring("have changed"));
}
