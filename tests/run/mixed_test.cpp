// SPDX-License-Identifier: Apache-2.0
// Plans that keep states and tapes within one budget, obeyed by the executor: the bits of storing everything, and the
// predicted runs.
#include <cstddef>
#include <cairn/cairn.hpp>
#include <cairn/schedule/bptt.hpp>
#include <cairn/schedule/mixed.hpp>
#include <cairn/schedule/runge_kutta.hpp>
#include "support/catch.hpp"
#include "support/pendulum.hpp"

using cairn::slot_index;
using cairn::step_index;
using Catch::Matchers::ContainsSubstring;

namespace {

/// The states before and after a step, of which there are so many at once.
struct step_tape {
  static inline int alive = 0, peak = 0;
  pendulum::numbers before;
  pendulum::state after;
  step_tape(pendulum::numbers x, pendulum::state const& x1) : before{std::move(x)}, after{x1} {
    peak = ++alive > peak ? alive : peak;
  }
  step_tape(step_tape const&) = delete;
  ~step_tape() { --alive; }
};
struct record {
  step_tape operator()(pendulum::state& x, step_index i) const {
    auto before = x.v;
    pendulum::record{}(x, i);
    return {std::move(before), x};
  }
};
struct replay {
  void operator()(step_tape const& tape, pendulum::numbers& bar) const { pendulum::swing_back(tape.before, bar); }
};

long restarts = 0, restarts_allowed = 0;
struct no_restart {};
/// A reference into the tape, or a state of its own; throws when no more are allowed.
struct restart_by_reference {
  pendulum::state const& operator()(step_tape const& tape) const {
    if (++restarts > restarts_allowed) throw no_restart{};
    return tape.after;
  }
};
struct restart_by_value {
  pendulum::state operator()(step_tape const& tape) const { return restart_by_reference{}(tape); }
};
constexpr long any_number = 1'000'000;

auto once() { return cairn::recorded{record{}, replay{}}; }
auto by_reference() { return cairn::recorded{record{}, replay{}, restart_by_reference{}}; }
auto by_value() { return cairn::recorded{record{}, replay{}, restart_by_value{}}; }

/// One gradient: its bits, its runs, its restarts, its tapes, and nothing left behind.
template <class Plan, class Step, class Adjoint>
void check(Plan const& plan, Step step, Adjoint const& adjoint, pendulum::numbers const& expected) {
  auto const work = cairn::workload{
      .form = {cairn::detail::shape_of_step<Step, pendulum::state>().form, cairn::adjoint_form::recorded}};
  auto const predicted = cairn::estimate(plan, work);
  auto const counts = cairn::verify(plan);
  // Only an adjoint that records can run a plan with tapes: nothing else need be said.
  if (cairn::tapes_of(plan) > 0) CHECK(cairn::estimate(plan).step_calls == predicted.step_calls);
  restarts_allowed = any_number;
  {
    auto kept = cairn::workspace_for<pendulum::state>(plan);
    CHECK(cairn::gradient(step, pendulum::start(), plan, pendulum::seed, adjoint, kept) == expected);
    CHECK(kept.step_calls() == predicted.step_calls);
    CHECK(kept.states_compared() == 0);
  }
  int const outside = pendulum::state::alive;
  pendulum::step_calls = restarts = step_tape::peak = 0;
  CHECK(cairn::gradient(step, pendulum::start(), plan, pendulum::seed, adjoint) == expected);
  CHECK(cairn::wide(pendulum::step_calls) == predicted.step_calls);
  CHECK(predicted.step_calls == predicted.forward_steps);
  CHECK(cairn::wide(restarts) == counts.restarts);
  CHECK(step_tape::peak <= counts.peak_tapes + 1);
  CHECK(step_tape::alive == 0);
  CHECK(pendulum::state::alive == outside);
}

template <class Plan>
void check_steps(Plan const& plan, pendulum::numbers const& expected) {
  CAPTURE(plan.steps(), plan.units(), plan.tape_units(), plan.tapes_restart());
  check(plan, pendulum::in_place{}, by_reference(), expected);
  check(plan, pendulum::by_value{}, by_value(), expected);
  check(plan, pendulum::out_of_place{}, by_reference(), expected);
  check(cairn::any_schedule{plan}, pendulum::in_place{}, by_value(), expected);
  if (!plan.tapes_restart()) check(plan, pendulum::out_of_place{}, once(), expected);
}

}  // namespace

TEST_CASE(
    "gradient within a budget of states and tapes has the bits of storing everything, and the predicted runs") {
  for (step_index const n : {0, 1, 2, 3, 7, 20, 41}) {
    auto const expected = pendulum::stored{n}.gradient;
    for (slot_index const units : {1, 2, 3, 6, 11, 60})
      for (slot_index const tape : {1, 3}) {
        check_steps(cairn::mixed{n, units, {.tape_units = tape}}, expected);
        check_steps(cairn::mixed{n, units, {.tape_units = tape, .tapes_restart = true}}, expected);
        check_steps(cairn::mixed{n, units, {.tape_units = tape, .free_initial = true}}, expected);
        check_steps(cairn::runge_kutta{n, units, {.stages = tape}}, expected);
        for (auto const keep : {cairn::bptt_keep::states, cairn::bptt_keep::tapes, cairn::bptt_keep::both})
          check_steps(cairn::bptt{n, units - 1, {.tape_units = tape, .keep = keep}}, expected);
      }
  }
}

TEST_CASE("a plan that restarts from tapes asks how before any step runs") {
  cairn::mixed const plan{20, 6, {.tape_units = 2, .tapes_restart = true}};
  REQUIRE(plan.tapes_restart());
  pendulum::step_calls = 0;
  CHECK_THROWS_AS(cairn::gradient(pendulum::in_place{}, pendulum::start(), plan, pendulum::seed, once()),
                  cairn::invalid_plan);
  CHECK_THROWS_WITH(cairn::gradient(pendulum::in_place{}, pendulum::start(), plan, pendulum::seed, once()),
                    ContainsSubstring("the plan restarts from tapes, but the adjoint does not say how"));
  CHECK_THROWS_WITH(
      cairn::gradient(pendulum::in_place{}, pendulum::start(), plan, pendulum::seed, pendulum::one_step{}),
      ContainsSubstring("the plan keeps tapes, but the adjoint records none"));
  CHECK(pendulum::step_calls == 0);
}

TEST_CASE("a plan that could restart from tapes but never does asks for nothing") {
  cairn::mixed const all_fit{20, 19, {.tapes_restart = true}};
  CHECK(cairn::gradient(pendulum::in_place{}, pendulum::start(), all_fit, pendulum::seed, once()) ==
        pendulum::stored{20}.gradient);
  cairn::mixed const none_fits{20, 3, {.tape_units = 4, .tapes_restart = true}};
  CHECK(cairn::gradient(pendulum::in_place{}, pendulum::start(), none_fits, pendulum::seed, pendulum::one_step{}) ==
        pendulum::stored{20}.gradient);
}

TEST_CASE("a restart that throws leaves nothing behind and a workspace that can be used again") {
  step_index const n = 30;
  auto const expected = pendulum::stored{n}.gradient;
  auto const each_restart = [&](auto const& plan, auto const& adjoint) {
    auto const total = long(plan.counts().restarts);
    REQUIRE(total > 2);
    auto work = cairn::workspace_for<pendulum::state>(plan);
    for (restarts_allowed = 0; restarts_allowed < total; ++restarts_allowed) {
      restarts = 0;
      CHECK_THROWS_AS(cairn::gradient(pendulum::in_place{}, pendulum::start(), plan, pendulum::seed, adjoint, work),
                      no_restart);
      CHECK(step_tape::alive == 0);
      restarts = -total;
      CHECK(cairn::gradient(pendulum::in_place{}, pendulum::start(), plan, pendulum::seed, adjoint, work) == expected);
    }
  };
  int const outside = pendulum::state::alive;
  each_restart(cairn::mixed{n, 6, {.tape_units = 2, .tapes_restart = true}}, by_reference());
  each_restart(cairn::runge_kutta{n, 6, {.stages = 3}}, by_value());
  each_restart(cairn::bptt{n, 5, {.tape_units = 2, .keep = cairn::bptt_keep::tapes}}, by_value());
  CHECK(pendulum::state::alive == outside);
}
