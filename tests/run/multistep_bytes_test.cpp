// SPDX-License-Identifier: Apache-2.0
// Memory of loops over rings, with several bars, and with jumps: what is predicted is what is counted, and a warm sweep
// allocates nothing. This program replaces operator new.
#include <algorithm>
#include <array>
#include <functional>
#include <type_traits>
#include <utility>
#include <vector>
#include <cairn/cairn.hpp>
#include <cairn/core/ring.hpp>
#include <cairn/run/dry_run.hpp>
#include <cairn/run/with/each_bar.hpp>
#include <cairn/run/with/jumps.hpp>
#include "support/catch.hpp"
#include "support/heap.hpp"
#include "support/multistep.hpp"

using cairn::any_schedule;
using cairn::ring;
using cairn::step_index;
using multistep::field;
namespace {

constexpr std::size_t size = 200;

std::vector<any_schedule> plans(step_index n) {
  return {cairn::revolve{n, 1}, cairn::revolve{n, 4}, cairn::uniform{n}, cairn::store_all(n),
          cairn::two_level{n, 7, 2, {.periods_on = cairn::tier::memory}}};
}
template <class Step, class Adjoint, class State, class Bar>
constexpr cairn::sweep_form form_of = {cairn::detail::shape_of_step<Step, State>().form,
                                       cairn::detail::shape_of_adjoint<Adjoint, State, Bar>().form};

/// One cold gradient takes what is predicted, and the second and third of one workspace take nothing from the heap.
template <class State, class Bar, class Step, class Adjoint>
void check(any_schedule const& plan, Step step, State const& x0, Bar const& seed, Adjoint adjoint) {
  CAPTURE(plan.steps(), plan.slots());
  cairn::workload const work{.state_bytes = cairn::bytes_of(x0),
                             .state_inline_bytes = sizeof(State),
                             .initial_bytes = 0,
                             .adjoint_bytes = cairn::bytes_of(seed),
                             .form = form_of<Step, Adjoint, State, Bar>};
  auto const told = cairn::estimate(plan, work);
  (void)cairn::gradient(step, x0, plan, seed, adjoint);  // what step and adjoint keep for themselves
  std::size_t counted = 0;
  {
    heap::mark const mark;
    [[maybe_unused]] Bar const bar = cairn::gradient(step, x0, plan, seed, adjoint);
    counted = mark.rise() + sizeof(Bar);
  }
  CHECK(counted == std::size_t(told.peak_bytes - shared_table_bytes_of(plan)));

  auto work_space = cairn::workspace_for<State>(plan);
  for (int round = 0; round < 3; ++round) {
    Bar given = seed;
    heap::mark const mark;
    [[maybe_unused]] Bar const bar = cairn::gradient(step, x0, plan, std::move(given), adjoint, work_space);
    if (round > 0) CHECK(mark.allocated() == 0);
  }
}

}  // namespace

TEST_CASE("a loop over a ring takes the predicted bytes, and none from the heap once it is warm") {
  for (step_index const n : {1, 2, 50})
    for (auto const& plan : plans(n)) {
      using multistep::bdf2;
      using multistep::leapfrog;
      using ab3 = multistep::adams_bashforth<3>;
      leapfrog leap;
      auto const x0 = leapfrog::start(size);
      check(plan, std::ref(leap), x0, x0, leapfrog::adjoint);
      check(plan, bdf2{}, x0, x0, bdf2::adjoint);
      auto const start = ab3::start(size);
      check(plan, ab3{}, start, start, ab3::adjoint);
      using huge = ring<std::array<double, 3000>, 2>;
      static huge const many{};
      check(plan, [](huge& x) { x.rotate()[0] = x[1][1]; }, many, 1.0, [](huge const&, double& bar) { bar *= 2; });
    }
}

TEST_CASE("elements of a ring that change their sizes take the bytes that are rehearsed") {
  using state = ring<field, 3>;  // of y_i there are `length(i)` numbers
  auto const length = [](step_index i) { return std::size_t(100 + (i + 2) * 37 % 50); };
  auto const bytes = [&](step_index i) {
    return sizeof(state) + (length(i) + length(i - 1) + length(i - 2)) * sizeof(double);
  };
  auto const step = [&](state& x, step_index i) {
    field& next = x.rotate();
    next = field{};
    next = field(length(i + 1));
  };
  auto const adjoint = [](state const&, double& bar) { bar *= 2; };
  state const x0{field(length(0)), field(length(-1)), field(length(-2))};
  for (step_index const n : {1, 2, 30})
    for (auto const& plan : plans(n)) {
      CAPTURE(n, plan.slots());
      std::size_t const told = std::size_t(
          cairn::dry_run(plan, bytes, {}, {bytes(0), sizeof(state), 0, sizeof(double)}) - shared_table_bytes_of(plan));
      heap::mark const mark;
      (void)cairn::gradient(step, x0, plan, 1.0, adjoint);
      CHECK(mark.rise() + sizeof(double) == told);
    }
}

TEST_CASE("several bars take the predicted bytes, and none from the heap once the sweep is warm") {
  using multistep::leapfrog;
  leapfrog leap;
  auto const x0 = leapfrog::start(size);
  for (auto const& plan : plans(40)) {
    check(plan, std::ref(leap), x0, std::vector<leapfrog::state>{x0, x0, x0}, cairn::each_bar(leapfrog::adjoint));
    check(plan, std::ref(leap), x0, std::array<leapfrog::state, 2>{x0, x0}, cairn::each_bar(leapfrog::adjoint));
  }
}

TEST_CASE("a warm sweep with jumps takes nothing from the heap") {
  auto const step = [](field& x, step_index i) { for (double& v : x) v += 0.01 * double(i) - 0.1 * v * v; };
  auto const adjoint = [](field const& x, field& bar, step_index) {
    for (std::size_t k = 0; k < x.size(); ++k) bar[k] *= 1 - 0.2 * x[k];
  };
  auto const leaf = [&](field const& x, field& bar, step_index first, step_index last) {
    static std::vector<field> all(7, field(size));
    all[0] = x;
    for (step_index i = first; i + 1 < last; ++i) {
      field& next = all[std::size_t(i - first) + 1] = all[std::size_t(i - first)];
      step(next, i);
    }
    for (step_index i = last; i-- > first;) adjoint(all[std::size_t(i - first)], bar, i);
  };
  auto const halve = [](field& x) { for (double& v : x) v *= 0.5; };
  auto const halve_back = [](field const&, field& bar) { for (double& v : bar) v *= 0.5; };
  auto const warm = [&](auto const& plan, auto const& loop) {
    auto work = cairn::workspace_for<field>(plan);
    field const x0(size, 0.3);
    for (int round = 0; round < 3; ++round) {
      field seed(size, 1.0);
      heap::mark const mark;
      field const bar = cairn::gradient(loop.step, x0, plan, std::move(seed), loop.adjoint, work);
      if (round > 0) CHECK(mark.allocated() == 0);
    }
  };
  auto const jumps = [&](auto const& back) {
    return cairn::with_jumps{step,
                             back,
                             cairn::jump_at(0, halve, halve_back),
                             cairn::jump_at(9, halve, halve_back),
                             cairn::jump_at(9, halve, halve_back),
                             cairn::jump_after(39, halve, halve_back),
                             cairn::jump_when([](field const& x) { return x[0] > 0.4; }, halve, halve_back)};
  };
  warm(cairn::revolve{40, 3}, jumps(adjoint));
  warm(cairn::leaves{40, 7, cairn::revolve{6, 2}}, jumps(leaf));
}
