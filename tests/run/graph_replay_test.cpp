// SPDX-License-Identifier: Apache-2.0
// The replay check of graphs: an operation that is not a function of its inputs is found wherever a plan runs it again,
// and no other is accused.
#include <cairn/plan/graph/graph_planner.hpp>
#include <cairn/rules/detail/graph_segments.hpp>
#include <cairn/run/graph.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "support/catch.hpp"
#include "support/planted_faults.hpp"

using namespace cairn;
namespace reads = cairn::adjoint_reads;

namespace {

using actions = std::vector<action>;

/// A random graph of numbers in which operation `bad` gives another one from its second run on.
struct moody_graph {
  moody_graph(unsigned seed, int size, int bad) : runs(std::size_t(size)) {
    std::mt19937 numbers{seed};
    std::vector<graph_value<double>> values{x};
    for (int v = 0; v < size; ++v) {
      auto const draw = [&] { return values[values.size() - 1 - numbers() % std::min<std::size_t>(values.size(), 5)]; };
      auto const run = [this, v, bad](double a, double b) {
        int const before = runs[std::size_t(v)]++;
        return 0.3 * a + 0.25 * b + v + (v == bad && before > 0 ? 1e-3 : 0.0);
      };
      auto const back = [](double bar, double& abar, double& bbar) { abar += 0.3 * bar, bbar += 0.25 * bar; };
      auto const a = draw(), b = draw();
      values.push_back(v % 3 == 0 ? net.add(reads::nothing, run, back, a, b)
                       : v % 3 == 1
                           ? net.add(
                                 reads::input<0> | reads::output, run,
                                 [](double, double, double bar, double& abar, double& bbar) {
                                   abar += 0.3 * bar, bbar += 0.25 * bar;
                                 },
                                 a, b)
                           : net.add(
                                 reads::input<1> | reads::tape<int>,
                                 [run](double p, double q, int*) { return run(p, q); },
                                 [](double, int, double bar, double& abar, double& bbar) {
                                   abar += 0.3 * bar, bbar += 0.25 * bar;
                                 },
                                 a, b));
    }
    made = values;
  }
  operation_graph graph() const {
    operation_graph of = net.graph();
    for (std::size_t v = 0; v < of.operations.size(); ++v) of.operations[v].time = 1 + std::int64_t(v * 5 % 7);
    return of;
  }
  /// The adjoint of x.   \throws nondeterminism_error
  double bar(actions const& plan, replay_check mode) {
    std::fill(runs.begin(), runs.end(), 0);
    std::vector<graph_seed> seeds;
    std::vector<char> is_read(made.size());
    auto const of = net.graph();
    for (auto const& one : of.operations)
      for (step_index const input : one.inputs) is_read[std::size_t(input)] = 1;
    double const one = 1, x0 = 0.5;
    for (std::size_t v = 0; v < of.operations.size(); ++v)
      if (!is_read[v]) seeds.push_back(made[v + 1].seed(one));
    auto bars = graph_gradient(net, {x.is(x0)}, plan, seeds, sweep_options{.verify = mode});
    return bars.of(x);
  }

  graph_builder net;
  graph_value<double> x = net.input<double>();
  std::vector<graph_value<double>> made;
  std::vector<int> runs;
};

std::vector<actions> plans_for(operation_graph const& graph) {
  std::vector<actions> all;
  graph_planner planner{graph, {.exact_operations = 8, .effort = 20'000}};
  for (auto const& plan : planner.pareto(4)) all.push_back(plan.actions);
  for (step_index const width : {1, 2, 3, 5}) {
    std::vector<step_index> ends;
    for (step_index end = width; end < graph.size(); end += width) ends.push_back(end);
    ends.push_back(graph.size());
    all.push_back(detail::segmented_actions({graph, "test"}, ends));
  }
  return all;
}
std::optional<nondeterminism_error> found(moody_graph& net, actions const& plan, replay_check mode) {
  try {
    (void)net.bar(plan, mode);
    return {};
  } catch (nondeterminism_error const& e) { return e; }
}

}  // namespace

TEST_CASE("an operation of a graph that is not a function of its inputs is found in every plan that runs it again",
          "[run][graph][replay]") {
  planted_faults faults;
  for (int const size : {1, 3, 7, 13})
    for (unsigned seed = 0; seed < 12; ++seed)
      for (auto const& plan : plans_for(moody_graph{seed, size, -1}.graph())) {
        auto const runs = runs_of(plan, size);
        for (int bad = 0; bad < size; ++bad) {
          CAPTURE(size, seed, bad);
          moody_graph net{seed, size, bad};
          auto const exact = found(net, plan, replay_check::every_step);
          auto const ranged = found(net, plan, replay_check::checkpoints);
          REQUIRE_FALSE(found(net, plan, replay_check::off));
          faults.hold(bad, runs[std::size_t(bad)], exact, ranged);
        }
      }
  CHECK(faults.found > 300);
  CHECK(faults.unseen > 300);
}

TEST_CASE("a graph of functions passes the replay check, and its adjoint keeps its bits", "[run][graph][replay]") {
  for (int const size : {1, 4, 9, 13})
    for (unsigned seed = 20; seed < 30; ++seed) {
      moody_graph net{seed, size, -1};
      auto const graph = net.graph();
      double const right = net.bar(detail::segmented_actions({graph, "test"}, {graph.size()}), replay_check::off);
      for (auto const& plan : plans_for(graph))
        for (auto const mode : {replay_check::checkpoints, replay_check::every_step})
          REQUIRE(net.bar(plan, mode) == right);
    }
}

TEST_CASE("a value that its bytes do not determine is refused by a replay check where it would be compared",
          "[run][graph][replay]") {
  class hidden {  // nothing says whether its bytes are all of it
   public:
    explicit hidden(double number) : number_{number} {}
    double number() const { return number_; }

   private:
    double number_;
  };
  graph_builder net;
  auto const x = net.input<double>();
  auto const copy = net.add<double>(
      reads::nothing, [](double a) { return hidden{a}; }, [](double bar, double& sum) { sum += bar; }, x);
  auto const y = net.add(
      reads::inputs, [](hidden const& a) { return a.number() * a.number(); },
      [](hidden const& a, double bar, double& sum) { sum += 2 * a.number() * bar; }, copy);
  double const x0 = 3;
  using namespace graph_actions;
  actions const again{advance(0), advance(1), drop(0), turn(2), advance(0), reverse(1), reverse(0)},
      once{advance(0), advance(1), turn(2), reverse(1), reverse(0)};
  auto const run = [&](actions const& plan, replay_check mode) {
    return graph_gradient(net, {x.is(x0)}, plan, {y.seed(1.0)}, sweep_options{.verify = mode}).of(x);
  };
  CHECK(run(again, replay_check::off) == 6);
  CHECK(run(once, replay_check::checkpoints) == 6);
  using Catch::Matchers::ContainsSubstring;
  CHECK_THROWS_WITH(run(again, replay_check::checkpoints),
                    ContainsSubstring("the replay check cannot determine the bytes of a state (state = 1)"));
}
