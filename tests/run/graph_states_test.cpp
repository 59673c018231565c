// SPDX-License-Identifier: Apache-2.0
// Graphs whose operations draw random numbers, and change and read buffers: whatever a plan runs again, values,
// adjoints, buffers and generators are those of running each operation once, by an evaluation that shares no code with
// cairn.
#include <cairn/plan/graph/graph_budget.hpp>
#include <cairn/plan/graph/graph_planner.hpp>
#include <cairn/plan/graph/replay.hpp>
#include <cairn/profile/graph_profiler.hpp>
#include <cairn/run/graph.hpp>

#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <random>
#include <stdexcept>
#include <vector>

#include "support/catch.hpp"

using namespace cairn;

namespace {

using field = std::vector<double>;
/// A counter that can be saved but not copied.
class counter {
 public:
  counter() = default;
  counter(counter const&) = delete;
  std::int64_t save() const { return count_; }
  void restore(std::int64_t kept) { count_ = kept; }
  double next() { return double(++count_); }

 private:
  std::int64_t count_ = 0;
};
/// What operations use besides their inputs.
struct outside {
  std::mt19937_64 dice{11}, coin{12};
  field mean = field(3, 0.5), scale = field(2, 1.0);
  counter calls;
};
enum class kind { mix, noise, toss, follow, read_mean, grow, count, input };
constexpr int kinds = 7;

double draw(std::mt19937_64& from) { return double(from() >> 11) * 0x1p-53; }
/// The factor by which an operation multiplies the product of its inputs; changes what it uses.
double factor(kind is, outside& all, field const& x) {
  switch (is) {
    case kind::noise: return 0.5 + draw(all.dice);
    case kind::toss: return draw(all.coin) < 0.5 ? 0.75 : 1.0 + draw(all.dice) * all.scale[1];
    case kind::follow:
      for (double& one : all.mean) one = 0.9 * one + 0.1 * x[0];
      return 0.5 + all.mean[1];
    case kind::read_mean: return 1.0 + 0.25 * std::tanh(all.mean[0]);
    case kind::grow:
      all.scale[1] = 0.5 + 0.5 * draw(all.coin) * std::cos(all.mean[2]);
      return all.scale[1];
    case kind::count: return 1.0 + 1.0 / (10 + all.calls.next());
    default: return 1.0;
  }
}

struct node {
  kind is;
  int a, b;
};
/// Random nodes, the first of which are inputs.
std::vector<node> random_nodes(unsigned seed, int size) {
  std::mt19937 numbers{seed};
  std::vector<node> nodes{{kind::input, 0, 0}, {kind::input, 0, 0}};
  auto const near = [&](int v) { return v - 1 - int(numbers() % unsigned(std::min(v, 5))); };
  for (int k = 0; k < size; ++k) {
    int const v = int(nodes.size());
    nodes.push_back({kind(numbers() % kinds), near(v), near(v)});
  }
  return nodes;
}
constexpr std::size_t width = 128;

/// What a sweep leaves.
struct outcome {
  std::vector<field> bars;  // of the inputs
  double sum = 0;           // of the outputs
  field buffers;
  std::uint64_t dice, coin;
  double calls;
  friend bool operator==(outcome const&, outcome const&) = default;

  void note(outside& all) {
    buffers = all.mean;
    buffers.insert(buffers.end(), all.scale.begin(), all.scale.end());
    dice = all.dice(), coin = all.coin(), calls = all.calls.next();
  }
};
/// Each operation once, in order, everything kept; y = tanh(f x_a x_b).
outcome by_hand(std::vector<node> const& nodes, std::vector<field> const& inputs) {
  outside all;
  outcome found;
  std::vector<field> values(nodes.size()), bars(nodes.size(), field(width, 0.0));
  std::vector<double> factors(nodes.size());
  std::vector<char> read(nodes.size());
  for (std::size_t v = 0; v < nodes.size(); ++v) {
    auto const& of = nodes[v];
    if (of.is == kind::input) {
      values[v] = inputs[v];
      continue;
    }
    field const &x = values[std::size_t(of.a)], &y = values[std::size_t(of.b)];
    factors[v] = factor(of.is, all, x);
    for (std::size_t k = 0; k < width; ++k) values[v].push_back(std::tanh(factors[v] * x[k] * y[k]));
    read[std::size_t(of.a)] = read[std::size_t(of.b)] = 1;
  }
  for (std::size_t v = 0; v < nodes.size(); ++v)
    if (nodes[v].is != kind::input && !read[v])
      for (std::size_t k = 0; k < width; ++k) bars[v][k] += 1.0, found.sum += values[v][k];
  for (std::size_t v = nodes.size(); v-- > 0;) {
    auto const& of = nodes[v];
    if (of.is == kind::input) continue;
    field const &x = values[std::size_t(of.a)], &y = values[std::size_t(of.b)];
    for (std::size_t k = 0; k < width; ++k) {
      double const slope = bars[v][k] * factors[v] * (1 - values[v][k] * values[v][k]);
      bars[std::size_t(of.a)][k] += slope * y[k];
      bars[std::size_t(of.b)][k] += slope * x[k];
    }
  }
  found.bars = {bars[0], bars[1]};
  found.note(all);
  return found;
}

/// The same graph in cairn's words.
struct built {
  outside all;
  graph_builder net;
  std::vector<graph_value<field>> values, inputs;
  std::vector<graph_seed> seeds;
  double sum = 0;
  struct seeding {
    double* sum;
    field operator()(field const& y) const {
      for (double const one : y) *sum += one;
      return field(y.size(), 1.0);
    }
  } ones{&sum};

  explicit built(std::vector<node> const& nodes) {
    auto const dice = net.state(all.dice), coin = net.state(all.coin), mean = net.state(all.mean),
               scale = net.state(all.scale), calls = net.state(all.calls);
    std::vector<char> read(nodes.size());
    for (auto const& of : nodes) {
      if (of.is == kind::input) {
        values.push_back(net.input<field>());
        inputs.push_back(values.back());
        continue;
      }
      auto const forward = [this, is = of.is](field const& x, field const& y, double* kept) {
        double const f = factor(is, all, x);
        if (kept != nullptr) *kept = f;
        field made;
        for (std::size_t k = 0; k < width; ++k) made.push_back(std::tanh(f * x[k] * y[k]));
        return made;
      };
      auto const adjoint = [](field const& x, field const& y, field const& made, double f, field const& bar,
                              graph_adjoint<field>& xbar, graph_adjoint<field>& ybar) {
        field &into = xbar.or_make(width, 0.0), &other = ybar.or_make(width, 0.0);
        for (std::size_t k = 0; k < width; ++k) {
          double const slope = bar[k] * f * (1 - made[k] * made[k]);
          into[k] += slope * y[k];
          other[k] += slope * x[k];
        }
      };
      namespace reads = adjoint_reads;
      auto const value = net.add(reads::inputs | reads::output | reads::tape<double>, forward, adjoint,
                                 values[std::size_t(of.a)], values[std::size_t(of.b)]);
      read[std::size_t(of.a)] = read[std::size_t(of.b)] = 1;
      values.push_back(value);
      switch (of.is) {
        case kind::noise: net.changes(value, dice); break;
        case kind::toss: net.changes(value, coin), net.changes(value, dice), net.reads(value, scale); break;
        case kind::follow: net.changes(value, mean); break;
        case kind::read_mean: net.reads(value, mean); break;
        case kind::grow: net.reads(value, mean), net.changes(value, coin), net.changes(value, scale); break;
        case kind::count: net.changes(value, calls); break;
        default: break;
      }
    }
    for (std::size_t v = 0; v < nodes.size(); ++v)
      if (nodes[v].is != kind::input && !read[v]) seeds.push_back(values[v].seed(ones));
  }
  built(built const&) = delete;
  std::vector<graph_binding> bindings(std::vector<field> const& given) const {
    return {inputs[0].is(given[0]), inputs[1].is(given[1])};
  }
  void begin_again() {
    all.dice.seed(11), all.coin.seed(12);
    all.mean.assign(3, 0.5), all.scale.assign(2, 1.0);
    all.calls.restore(0);
    sum = 0;
  }
  outcome left_by(graph_adjoints& bars) {
    outcome found;
    for (auto const& x : inputs) found.bars.push_back(bars.has(x) ? bars.of(x) : field(width, 0.0));
    found.sum = sum;
    found.note(all);
    return found;
  }
};
field numbers(double first) {
  field made;
  for (std::size_t k = 0; k < width; ++k) made.push_back(first + 1.5 * std::sin(double(k)));
  return made;
}
std::vector<field> const given{numbers(0.3), numbers(1.2)};

void check_random_graphs(unsigned graphs) {
  int plans = 0, again = 0;
  for (unsigned seed = 0; seed < graphs; ++seed) {
    int const size = 1 + int(seed * 7 % 30);
    CAPTURE(seed, size);
    auto const nodes = random_nodes(seed, size);
    auto const expected = by_hand(nodes, given);
    built made{nodes};
    auto const inputs = made.bindings(given);
    operation_graph graph = graph_probe<std::chrono::steady_clock>(made.net, inputs, made.seeds, 1);
    for (std::size_t v = 0; v < graph.operations.size(); ++v)  // the same plans on every machine
      graph.operations[v].time = 1 + std::int64_t(v * 5 % 7), graph.operations[v].adjoint_time = 2;
    made.sum = 0;  // the probe has called the seeds
    auto const check = [&](std::vector<action> const& plan) {
      auto bars = graph_gradient(made.net, inputs, plan, made.seeds);
      ++plans;
      auto const cost = replay(graph, plan);
      again += cost.runs > graph.size();
      REQUIRE(made.left_by(bars) == expected);
      REQUIRE(bars.peak_bytes() == cost.peak);
      made.begin_again();
    };
    for (auto const options :
         {graph_options{.effort = 20'000}, graph_options{.exact_operations = 0, .effort = 5'000}}) {
      graph_planner planner{graph, options};
      for (auto const& plan : planner.pareto(6)) {
        check(plan.actions);
        CHECK(plan.cost.peak <= plan.budget);
      }
    }
    std::vector<step_index> ends;
    for (step_index end = 3; end < graph.size(); end += 3) ends.push_back(end);
    ends.push_back(graph.size());
    check(detail::segmented_actions({graph, "test"}, ends));
  }
  std::printf("%d plans, of which %d run operations again\n", plans, again);
  CHECK(plans >= 5 * int(graphs));
  CHECK(again > plans / 2);
}

}  // namespace

TEST_CASE("random graphs that draw and change buffers have the bits of running each operation once", "[run][graph]") {
  check_random_graphs(8);
}
TEST_CASE("1,000 plans of random graphs that draw and change buffers", "[run][graph][long]") {
  check_random_graphs(200);
}

TEST_CASE("a budget for a graph with states plans it and leaves the states of one run", "[run][graph]") {
  auto const nodes = random_nodes(5, 16);
  auto const expected = by_hand(nodes, given);
  built made{nodes};
  auto const inputs = made.bindings(given);
  auto const measured = graph_probe<std::chrono::steady_clock>(made.net, inputs, made.seeds, 1);
  graph_planner planner{measured};
  auto const most = (planner.least_budget() + planner.plan("1MB").cost.peak) / 2;
  made.sum = 0;
  graph_budget within{most};
  for (int step = 0; step < 3; ++step) {
    if (step == 1) made.begin_again();
    auto bars = graph_gradient(made.net, inputs, within, made.seeds);
    if (step == 0) made.sum = expected.sum;  // the probe has called the seeds, too
    CHECK(bars.peak_bytes() <= most);
    if (step != 2) CHECK(made.left_by(bars) == expected);
    if (step == 0) CHECK(within.plan().cost.runs > made.net.size());
  }
  CHECK(within.plans() == 1);
}

TEST_CASE("probes and profiles leave the states of a graph as they were", "[run][graph]") {
  auto const nodes = random_nodes(9, 12);
  built made{nodes};
  auto const inputs = made.bindings(given);
  outside const fresh;
  auto const is_fresh = [&] {
    auto const& now = made.all;
    return now.dice == fresh.dice && now.coin == fresh.coin && now.mean == fresh.mean && now.scale == fresh.scale &&
           now.calls.save() == 0;
  };
  CHECK(graph_probe<std::chrono::steady_clock>(made.net, inputs, made.seeds, 1).operations[0].copy_bytes >= 0);
  CHECK(is_fresh());
  auto const none = [] { return std::size_t{1000}; };
  graph_profiler<> profiler{{.memory = {.held = none, .peak = none, .reset_peak = [] {}}}};
  (void)profiler.run(made.net, inputs, made.seeds);
  CHECK(is_fresh());
}

TEST_CASE("a probe measures each value as one run of each operation makes it, however often it runs them",
          "[run][graph]") {
  std::size_t calls = 0;
  graph_builder net;
  auto const x = net.input<double>();
  auto const state = net.state(calls);
  std::vector<graph_seed> seeds;
  auto const one = [](field const& made) { return made; };
  for (int k = 0; k < 4; ++k) {
    auto const y = net.add(
        adjoint_reads::nothing, [&](double a) { return field(++calls, a); },
        [](field const& bar, double& sum) { sum += bar[0]; }, x);
    net.changes(y, state);
    seeds.push_back(y.seed(one));
  }
  double const x0 = 1;
  auto const measured = graph_probe<std::chrono::steady_clock>(net, {x.is(x0)}, seeds, 2);
  for (std::size_t k = 0; k < 4; ++k)
    CHECK(measured.operations[k].bytes == std::int64_t(sizeof(field) + (k + 1) * sizeof(double)));
  CHECK(calls == 0);
}

TEST_CASE("an exception of a run that is made again leaves the states as they were before it", "[run][graph]") {
  std::mt19937_64 dice{3};
  int calls = 0, fails = 0;
  graph_builder net;
  auto const x = net.input<double>();
  auto const drawn = net.add(
      adjoint_reads::inputs,
      [&](double a) {
        double const factor = draw(dice);
        if (++calls == fails) throw std::runtime_error("no more");
        return a * factor;
      },
      [](double, double bar, double& sum) { sum += bar; }, x);
  net.changes(drawn, net.state(dice));
  auto const end = net.add(
      adjoint_reads::inputs, [](double a) { return a * a; },
      [](double a, double bar, double& sum) { sum += 2 * a * bar; }, drawn);
  using namespace graph_actions;
  std::vector<action> const plan{advance(0), advance(1), drop(0), turn(2), advance(0), reverse(1), reverse(0)};
  double const x0 = 2;
  (void)graph_gradient(net, {x.is(x0)}, plan, {end.seed(1.0)});
  CHECK(calls == 2);
  auto once = std::mt19937_64{3};
  (void)draw(once);
  CHECK(dice == once);
  fails = 4;
  CHECK_THROWS_AS(graph_gradient(net, {x.is(x0)}, plan, {end.seed(1.0)}), std::runtime_error);
  (void)draw(once);
  CHECK(dice == once);
}

TEST_CASE("states of another builder, and values that no operation makes, are refused", "[run][graph]") {
  std::mt19937_64 dice, coin;
  graph_builder net, other;
  auto const x = net.input<double>();
  auto const y = net.add(
      adjoint_reads::nothing, [](double a) { return a; }, [](double bar, double& sum) { sum += bar; }, x);
  auto const state = net.state(dice);
  (void)other.state(dice);
  auto const foreign = other.state(coin);
  CHECK_THROWS_WITH(net.changes(x, state), Catch::Matchers::ContainsSubstring("no operation makes this value"));
  CHECK_THROWS_WITH(net.reads(y, foreign), Catch::Matchers::ContainsSubstring("does not belong to this graph"));
  net.reads(y, state);
  net.changes(y, state);
  CHECK(net.graph().operations[0].states_changed == std::vector<step_index>{0});
  CHECK(net.graph().operations[0].states_read.empty());
  CHECK(net.graph().operations[0].copy_bytes == std::int64_t(sizeof dice));
  net.reads(y, state);  // what changes a state may read it anyway
  net.changes(y, state);
  CHECK(net.graph().operations[0].states_changed == std::vector<step_index>{0});
  CHECK(net.graph().operations[0].states_read.empty());
}

TEST_CASE("an operation that reads a state needs a copy of it only if another one changes it", "[run][graph]") {
  double changing = 1, lasting = 2;
  graph_builder net;
  auto const x = net.input<double>();
  auto const add = [&] {
    return net.add(
        adjoint_reads::nothing, [](double a) { return a; }, [](double bar, double& sum) { sum += bar; }, x);
  };
  auto const changes = add(), reads = add(), reads_only = add(), neither = add();
  (void)neither;
  auto const first = net.state(changing), second = net.state(lasting);
  net.changes(changes, first);
  net.reads(reads, first);
  net.reads(reads, second);
  net.reads(reads_only, second);
  auto const graph = net.graph();
  CHECK(graph.operations[1].states_read == std::vector<step_index>{0, 1});
  std::vector<std::int64_t> copies;
  for (auto const& of : graph.operations) copies.push_back(of.copy_bytes);
  std::int64_t const one = sizeof(double);
  CHECK(copies == std::vector<std::int64_t>{one, one, 0, 0});
}
