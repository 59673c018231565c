// SPDX-License-Identifier: Apache-2.0
// A budget in the place of a plan, and what a probe holds while it measures.
#include <cairn/plan/graph/graph_budget.hpp>
#include <cairn/plan/graph/replay.hpp>
#include <cairn/run/graph.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "support/catch.hpp"

using namespace cairn;
namespace reads = cairn::adjoint_reads;

namespace {

/// Numbers that count the bytes of all there are.
struct field {
  static inline std::int64_t alive = 0, most = 0;
  std::vector<double> numbers;
  explicit field(std::size_t size, double each = 0.0) : numbers(size, each) { grow(std::int64_t(size)); }
  field(field const& other) : numbers{other.numbers} { grow(std::int64_t(numbers.size())); }
  field& operator=(field const&) = delete;
  ~field() { grow(-std::int64_t(numbers.size())); }
  std::size_t bytes() const { return numbers.size() * sizeof(double); }
  template <class F>
  void visit_buffers(F& f) const {
    f(numbers.data(), bytes());
  }
  static void grow(std::int64_t size) {
    alive += size * std::int64_t(sizeof(double));
    most = std::max(most, alive);
  }
};

/// A chain of squares with a sum over every third value.
struct squares {
  explicit squares(int length) {
    auto last = x;
    for (int k = 0; k < length; ++k) {
      auto const next = net.add(
          reads::inputs,
          [](field const& a) {
            field made(a.numbers.size());
            for (std::size_t i = 0; i < a.numbers.size(); ++i) made.numbers[i] = 0.5 * a.numbers[i] * a.numbers[i];
            return made;
          },
          [](field const& a, field const& bar, graph_adjoint<field>& sum) {
            field& into = sum.or_make(a.numbers.size());
            for (std::size_t i = 0; i < a.numbers.size(); ++i) into.numbers[i] += a.numbers[i] * bar.numbers[i];
          },
          last);
      if (k % 3 == 2 && k + 1 < length) ends.push_back(next);
      last = next;
    }
    for (auto const& end : ends) net.output(end);
    net.output(last);
    ends.push_back(last);
  }
  std::vector<graph_seed> seeds(field const& bar) const {
    std::vector<graph_seed> all;
    for (auto const& end : ends) all.push_back(end.seed(bar));
    return all;
  }
  graph_builder net;
  graph_value<field> x = net.input<field>();
  std::vector<graph_value<field>> ends;
};

std::vector<action> store_all(operation_graph const& graph) {
  return detail::segmented_actions({graph, "test"}, {graph.size()});
}

}  // namespace

TEST_CASE("a budget in the place of a plan is measured and planned once", "[run][graph]") {
  squares of{11};
  field const x0(100, 1.5), bar(100, 1.0);
  auto stored = graph_gradient(of.net, {of.x.is(x0)}, store_all(of.net.graph()), of.seeds(bar));
  graph_budget within{"7kB"};
  CHECK_THROWS_AS(within.plan(), invalid_call);
  CHECK_THROWS_AS(within.measured(), invalid_call);
  REQUIRE(stored.peak_bytes() > 7000);
  for (int k = 0; k < 3; ++k) {
    auto bars = graph_gradient(of.net, {of.x.is(x0)}, within, of.seeds(bar));
    CHECK(bars.of(of.x).numbers == stored.of(of.x).numbers);
    CHECK(bars.peak_bytes() <= 7000);
    CHECK(bars.peak_bytes() == within.plan().cost.peak);
    CHECK(within.plans() == 1);
  }
  CHECK(within.plan().cost.runs > of.net.size());
  CHECK(within.measured().operations[0].bytes == 800);
  CHECK(within.measured().operations[0].time > 0);
  int shown = 0;
  sweep_failure failure;
  (void)graph_gradient(of.net, {of.x.is(x0)}, within, of.seeds(bar), [&](event const&) { ++shown; }, failure,
                       sweep_options{.verify = replay_check::every_step});
  CHECK(shown == 2 * int(within.plan().actions.size()) + 2);
  CHECK(within.plans() == 1);
}

TEST_CASE("a budget is planned anew for other sizes, for another graph, and on request", "[run][graph]") {
  squares of{8};
  field const few(10, 1.0), large(50, 1.0);
  graph_budget within{"1MB"};
  auto const peak = [&](field const& x0) {
    return graph_gradient(of.net, {of.x.is(x0)}, within, of.seeds(x0)).peak_bytes();
  };
  auto const first = peak(few);
  CHECK(peak(large) == 5 * first);  // by the plan for the small ones, which is then forgotten
  CHECK_THROWS_AS(within.plan(), invalid_call);
  CHECK(peak(large) == 5 * first);
  CHECK(within.plans() == 2);
  CHECK(within.plan().cost.peak == 5 * first);
  within.forget();
  CHECK(peak(large) == 5 * first);
  CHECK(within.plans() == 3);
  of.net.describe(of.ends.front(), {.work = 100'000});
  CHECK(peak(large) > 100'000);
  CHECK(within.plans() == 4);
  CHECK(within.plan().cost.peak > 100'000);
}

TEST_CASE("a budget keeps its plan where an operation has no adjoint", "[run][graph]") {
  graph_builder net;
  auto const x = net.input<field>();
  auto const copy = [](field const& a) { return field{a}; };
  auto const dead = net.add(
      reads::nothing, copy, [](field const&, graph_adjoint<field>&) {}, x);
  auto const y = net.add(
      reads::nothing, [](field const&, field const& b) { return field{b}; },
      [](field const& bar, graph_adjoint<field>&, graph_adjoint<field>& sum) { sum.or_make(bar.numbers.size()); }, dead,
      x);
  net.describe(y, {.adjoint_work = 1000});  // most bytes are there when its adjoint runs
  field const x0(20, 1.0);
  graph_budget within{"1MB"};
  for (int k = 0; k < 3; ++k) {
    std::int64_t const counted = graph_gradient(net, {x.is(x0)}, within, {y.seed(x0)}).peak_bytes();
    CHECK(counted < within.plan().cost.peak);  // which holds the adjoint that is not made
  }
  CHECK(within.plans() == 1);
}

TEST_CASE("a budget that is too small is refused with the least", "[run][graph]") {
  squares of{6};
  field const x0(100, 1.0);
  graph_budget within{1000};
  CHECK_THROWS_AS(graph_gradient(of.net, {of.x.is(x0)}, within, of.seeds(x0)), infeasible_budget);
  CHECK(within.plans() == 0);
  CHECK(field::alive == 800);
}

TEST_CASE("a probe does not hold all values at once", "[run][graph][long]") {
  squares const of{64};
  field const x0(1000, 1.0), bar(1000, 1.0);
  std::int64_t const value = 8000;
  field::most = field::alive;
  std::int64_t const before = field::alive;
  auto const measured = graph_probe<std::chrono::steady_clock>(of.net, {of.x.is(x0)}, of.seeds(bar), 1);
  std::int64_t const held = field::most - before;
  CHECK(held >= 8 * value);
  // The outputs, a third of all values, stay for the loss, and their adjoints beside them.
  CHECK(held < 60 * value);
  graph_planner planner{measured};
  CHECK(replay(measured, store_all(measured)).peak > 80 * value);
  for (auto const& one : measured.operations) {
    CHECK(one.bytes == value);
    CHECK(one.adjoint_bytes == value);
    CHECK(one.time > 0);
    CHECK(one.adjoint_time > 0);
  }
  auto const plan = planner.plan(planner.least_budget());
  CHECK(graph_gradient(of.net, {of.x.is(x0)}, plan, of.seeds(bar)).peak_bytes() == plan.cost.peak);
}
