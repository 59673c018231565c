// SPDX-License-Identifier: Apache-2.0
// The gradients of several objectives from one sweep: the bits of a sweep for each, and the step calls of one.
#include <array>
#include <cmath>
#include <string>
#include <utility>
#include <vector>
#include <cairn/cairn.hpp>
#include <cairn/core/ring.hpp>
#include <cairn/run/with/each_bar.hpp>
#include <cairn/run/with/jumps.hpp>
#include "support/catch.hpp"
#include "support/pendulum.hpp"
#include "support/plans.hpp"

using cairn::any_schedule;
using cairn::each_bar;
using cairn::step_index;
using two_numbers = pendulum::numbers;  // angle and speed

namespace {

// Three objectives: the angle, the speed, and half their squares.
auto const angle = [](pendulum::state const&) { return two_numbers{1, 0}; };
auto const speed = [](pendulum::state const&) { return two_numbers{0, 1}; };
auto const squares = [](pendulum::state const& x) { return x.v; };
template <class Bars>
Bars seeds_of(pendulum::state const& x) { return {angle(x), speed(x), squares(x)}; }

/// The state after a tape's step, too.
struct step_tape {
  two_numbers before, after;
};
auto recording() {
  auto const record = [](pendulum::state& x, step_index i) {
    two_numbers before = pendulum::record{}(x, i);
    return step_tape{std::move(before), x.v};
  };
  auto const reverse = [](step_tape const& tape, two_numbers& bar) { pendulum::swing_back(tape.before, bar); };
  return cairn::recorded{record, reverse, [](step_tape const& tape) { return pendulum::state{tape.after}; }};
}

template <class Bars, class Adjoint>
void check(any_schedule const& plan, Adjoint const& adjoint) {
  auto const calls_of = [&](auto const& seed, auto const& back, auto& into) {
    pendulum::step_calls = 0;
    into = cairn::gradient(pendulum::in_place{}, pendulum::start(), plan, seed, back);
    return pendulum::step_calls;
  };
  std::array<two_numbers, 3> alone;
  long const calls = calls_of(angle, adjoint, alone[0]);
  (void)calls_of(speed, adjoint, alone[1]);
  (void)calls_of(squares, adjoint, alone[2]);
  Bars together;
  CHECK(calls_of(seeds_of<Bars>, each_bar(adjoint), together) == calls);
  for (std::size_t k = 0; k < 3; ++k)
    if (together[k] != alone[k]) FAIL("another gradient of objective " << k);
}

}  // namespace

TEST_CASE(
    "one sweep gives several gradients with the bits of a sweep for each, and the step calls of one, for every plan "
    "and form of adjoint") {
  std::size_t checked = 0;
  for (step_index const n : {0, 1, 2, 7, 20})
    each_in_memory(n, [&](std::string const& name, auto const& typed) {
      INFO(name);
      using list = std::vector<two_numbers>;
      any_schedule const plan{typed};
      bool const tapes = tapes_of(plan) > 0 || tapes_restart(plan);
      if (plan.leaf() == 1) check<list>(plan, recording());
      if (tapes) return;
      check<list>(plan, pendulum::leaf{});
      if (plan.leaf() > 1) return;
      check<list>(plan, pendulum::one_step{});
      check<std::array<two_numbers, 3>>(plan, pendulum::one_step_by_value{});
      check<list>(plan, pendulum::with_next{});
      check<list>(plan, pendulum::recorded());
      ++checked;
    });
  CHECK(checked > 150);
}

TEST_CASE("a kept run is reversed with several bars, of a number that is known late") {
  cairn::revolve const plan{40, 4};
  auto run = cairn::checkpointed_loop(pendulum::in_place{}, pendulum::start(), plan);
  auto const one = run.reverse(angle, pendulum::one_step{});
  for (std::size_t const count : {0u, 1u, 5u}) {
    auto const all = run.reverse(std::vector<two_numbers>(count, two_numbers{1, 0}), each_bar(pendulum::one_step{}));
    CHECK(all == std::vector<two_numbers>(count, one));
  }
}

TEST_CASE("gradients by parameters are those of each objective where they are a part of the bar") {
  struct bar_type {
    double x, p;
    bool operator==(bar_type const&) const = default;
  };
  double const p = 0.7;
  auto const step = [p](double& x) { x += 0.1 * p * std::sin(x); };
  auto const adjoint = [p](double x, bar_type& bar) {
    bar.p += 0.1 * std::sin(x) * bar.x;
    bar.x *= 1 + 0.1 * p * std::cos(x);
  };
  auto const value = [](double x) { return bar_type{1, 0 * x}; };
  auto const square = [](double x) { return bar_type{x, 0}; };
  cairn::revolve const plan{30, 3};
  auto const both = [&](double x) { return std::array{value(x), square(x)}; };
  auto const all = cairn::gradient(step, 0.5, plan, both, each_bar(adjoint));
  CHECK(all[0] == cairn::gradient(step, 0.5, plan, value, adjoint));
  CHECK(all[1] == cairn::gradient(step, 0.5, plan, square, adjoint));
  CHECK(all[0].p != all[1].p);
}

TEST_CASE("several bars go through hooks, jumps, nested loops and replay checks") {
  auto const step = [](double& x, step_index i) { x = std::sin(x + 1e-3 * double(i)); };
  auto const adjoint = [](double x, double& bar, step_index i) { bar *= std::cos(x + 1e-3 * double(i)); };
  auto const jump = cairn::jump_at(3, [](double& x) { x *= x; }, [](double x, double& bar) { bar *= 2 * x; });
  auto const loop = cairn::with_jumps{step, adjoint, jump};
  using bars = cairn::ring<double, 2>;
  auto const observe = [](double x, double& bar, step_index i) { if (i % 4 == 0) bar += x; };
  auto const observe_each = [&](double x, bars& all, step_index i) { for (double& bar : all) observe(x, bar, i); };
  cairn::revolve const plan{24, 3};
  auto const alone = [&](double seed) {
    return cairn::gradient(loop.step, 0.5, plan, seed, cairn::hooked(loop.adjoint, observe));
  };
  bars const expected{alone(1), alone(-3)}, seeds{1.0, -3.0};
  CHECK(cairn::gradient(loop.step, 0.5, plan, seeds, each_bar(cairn::hooked(loop.adjoint, observe))) == expected);
  CHECK(cairn::gradient(loop.step, 0.5, plan, seeds, cairn::hooked(each_bar(loop.adjoint), observe_each)) == expected);

  cairn::sweep_options const checked{.verify = cairn::replay_check::every_step};
  cairn::nested const inside{cairn::revolve{6, 2}, loop.step, each_bar(cairn::hooked(loop.adjoint, observe)), checked};
  CHECK(cairn::gradient(inside.step, 0.5, cairn::revolve{4, 2}, seeds, inside.adjoint, checked) == expected);
  cairn::nested const outside{cairn::revolve{6, 2}, loop.step, cairn::hooked(loop.adjoint, observe), checked};
  CHECK(cairn::gradient(outside.step, 0.5, cairn::revolve{4, 2}, seeds, each_bar(outside.adjoint), checked) ==
        expected);
}
