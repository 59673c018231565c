// SPDX-License-Identifier: Apache-2.0
// A workspace for sweeps over graphs: warm sweeps allocate nothing and have the bits and the counted peak of sweeps
// without one, after anything else; what it keeps is counted and freed.
#include <cairn/plan/graph/graph_budget.hpp>
#include <cairn/plan/graph/graph_planner.hpp>
#include <cairn/run/graph.hpp>

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "support/catch.hpp"
#include "support/heap.hpp"
#include "support/said.hpp"

using namespace cairn;
namespace reads = cairn::adjoint_reads;
using Catch::Matchers::ContainsSubstring;

namespace {

using triple = std::array<double, 3>;
/// A type whose alignment is not that of operator new.
struct alignas(64) wide_pair {
  double a = 0, b = 0;
};
/// Counts how many there are, and throws at a given call of an operation or an adjoint.
struct calls {
  static inline int alive = 0, until_throw = -1;
  static void one() {
    if (until_throw >= 0 && until_throw-- == 0) throw std::runtime_error{"a call failed"};
  }
};
struct counted {
  triple at{};
  counted() { ++calls::alive; }
  explicit counted(triple const& from) : at{from} { ++calls::alive; }
  counted(counted const& other) : at{other.at} { ++calls::alive; }
  counted& operator=(counted const&) = default;
  ~counted() { --calls::alive; }
  void operator+=(counted const& more) {
    for (std::size_t k = 0; k < 3; ++k) at[k] += more.at[k];
  }
  std::size_t bytes() const { return sizeof(counted); }
  template <class F>
  void visit_buffers(F& f) const {
    f(at.data(), sizeof(at));
  }
};

/// A ladder of operations on several types that own nothing: joins, values read twice, a tape, views, an aligned type.
struct ladder {
  explicit ladder(int rungs) {
    auto last = x;
    for (int k = 0; k < rungs; ++k) {
      auto const bent = net.add(
          reads::inputs | reads::tape<triple>,
          [](counted const& v, double const& by, triple* slopes) {
            calls::one();
            counted made;
            for (std::size_t i = 0; i < 3; ++i) made.at[i] = std::sin(by * v.at[i]);
            if (slopes != nullptr)
              for (std::size_t i = 0; i < 3; ++i) (*slopes)[i] = std::cos(by * v.at[i]);
            return made;
          },
          [](counted const& v, double const& by, triple const& slopes, counted const& bar,
             graph_adjoint<counted>& sum, double& bybar) {
            calls::one();
            counted more;
            for (std::size_t i = 0; i < 3; ++i) {
              more.at[i] = bar.at[i] * slopes[i] * by;
              bybar += bar.at[i] * slopes[i] * v.at[i];
            }
            sum += more;
          },
          last, w);
      auto const ends = net.view<triple>([](counted const& v) { return std::span<double const>{v.at}; },
                                         [](triple const& bar, graph_adjoint<counted>& sum) {
                                           sum.or_make();
                                           sum += counted{bar};
                                         },
                                         bent);
      auto const pair = net.add(
          reads::nothing,
          [](std::span<double const> v) {
            calls::one();
            return wide_pair{v[0] + v[1], v[2]};
          },
          [](wide_pair const& bar, graph_adjoint<triple>& sum) {
            calls::one();
            triple& into = sum.or_make();
            into[0] += bar.a, into[1] += bar.a, into[2] += bar.b;
          },
          ends);
      last = net.add(
          reads::output | reads::input<1>,
          [](counted const& v, wide_pair const& p) {
            calls::one();
            counted made{v};
            for (double& one : made.at) one = std::tanh(one * p.a + p.b);
            return made;
          },
          [](wide_pair const& p, counted const& y, counted const& bar, graph_adjoint<counted>& sum,
             graph_adjoint<wide_pair>& psum) {
            calls::one();
            counted more;
            wide_pair& into = psum;
            for (std::size_t i = 0; i < 3; ++i) {
              double const slope = bar.at[i] * (1 - y.at[i] * y.at[i]);
              more.at[i] = slope * p.a;
              into.a += slope * y.at[i], into.b += slope;
            }
            sum += more;
          },
          bent, pair);
    }
    auto const y = net.add(
        reads::inputs,
        [](counted const& v, counted const& first) {
          double sum = 0;
          for (std::size_t i = 0; i < 3; ++i) sum += v.at[i] * first.at[i];
          return sum;
        },
        [](counted const& v, counted const& first, double bar, graph_adjoint<counted>& sum,
           graph_adjoint<counted>& firstsum) {
          counted more{v}, other{first};
          for (double& one : more.at) one *= bar;
          for (double& one : other.at) one *= bar;
          sum += other;
          firstsum += more;
        },
        last, x);
    seeds = {y.seed(end)};
  }
  std::vector<graph_plan> plans() const {
    graph_planner planner{graph_probe<std::chrono::steady_clock>(net, inputs, seeds, 1)};
    auto all = planner.pareto(4);
    REQUIRE(all.size() > 1);
    return all;
  }
  ladder(ladder const&) = delete;

  graph_builder net;
  graph_value<counted> x = net.input<counted>();
  graph_value<double> w = net.input<double>();
  counted const x0{triple{0.3, -0.4, 0.5}};
  double const w0 = 1.1, end = 1.5;
  std::vector<graph_binding> const inputs{x.is(x0), w.is(w0)};
  std::vector<graph_seed> seeds;
};

/// What a sweep gives, to the bit.
struct outcome {
  triple x;
  double w;
  std::int64_t peak;
  friend bool operator==(outcome const&, outcome const&) = default;
};
outcome outcome_of(ladder const& of, graph_adjoints made) {
  return {made.of(of.x).at, made.of(of.w), made.peak_bytes()};
}
template <class Plan, class... Rest>
outcome run(ladder const& of, Plan&& plan, Rest&&... rest) {
  return outcome_of(of, graph_gradient(of.net, of.inputs, plan, of.seeds, rest...));
}

}  // namespace

TEST_CASE("a warm sweep over a graph allocates nothing, with the bits and the peak of one without a workspace",
          "[run][graph]") {
  ladder const of{5};
  auto const plans = of.plans();
  graph_workspace work;
  std::size_t again = 0;
  for (auto const& plan : plans) {
    outcome const expected = run(of, plan);
    CHECK(expected.x == run(of, plans.front()).x);
    again += plan.cost.runs > of.net.size();
    for (replay_check const verify : {replay_check::off, replay_check::checkpoints, replay_check::every_step}) {
      sweep_options const options{.verify = verify};
      sweep_failure failure;
      int shown = 0;
      auto const count = [&shown](event const&) { ++shown; };
      CHECK(run(of, plan, work, options, failure, count) == expected);
      outcome second{}, third{};
      heap::mark const before;
      second = run(of, plan, options, failure, work, count);
      third = run(of, plan, work);
      std::size_t const allocated = before.allocated();
      CHECK(allocated == 0);
      CHECK(second == expected);
      CHECK(third == expected);
      CHECK(shown > 2 * int(plan.actions.size()));
    }
  }
  CHECK(again > 0);
  CHECK(work.box_bytes() > 0);
}

TEST_CASE("plans and budgets change in one workspace", "[run][graph]") {
  ladder const of{4};
  auto const plans = of.plans();
  graph_workspace work;
  for (auto const& plan : plans) (void)run(of, plan, work);
  std::vector<outcome> expected;
  for (auto const& plan : plans) expected.push_back(run(of, plan));
  std::size_t wrong = 0;
  heap::mark const before;
  for (int round = 0; round < 3; ++round)
    for (std::size_t k = 0; k < plans.size(); ++k) wrong += run(of, plans[k], work) != expected[k];
  std::size_t const allocated = before.allocated();
  CHECK(wrong == 0);
  CHECK(allocated == 0);

  for (auto const& plan : plans) {
    graph_budget within{plan.budget};
    CHECK(run(of, within, work).x == expected.front().x);
    outcome second{};
    heap::mark const warm;
    second = run(of, within, work);
    std::size_t const made = warm.allocated();
    CHECK(made == 0);
    CHECK(second == run(of, within));
    CHECK(second.peak <= plan.budget);
    CHECK(within.plans() == 1);
  }
}

TEST_CASE("graphs change in one workspace, and a builder between its sweeps", "[run][graph]") {
  ladder small{2}, large{6};
  auto const few = small.plans(), many = large.plans();
  outcome const of_small = run(small, few.front()), of_large = run(large, many.front());
  graph_workspace work;
  for (int k = 0; k < 2; ++k) {
    CHECK(run(small, few.front(), work) == of_small);
    CHECK_THROWS_AS(run(large, few.front(), work), invalid_schedule);
    CHECK(run(large, many.front(), work) == of_large);
    CHECK_THROWS_AS(run(small, many.front(), work), invalid_schedule);
    CHECK_THROWS_AS(graph_gradient(small.net, {}, few.front(), small.seeds, work), invalid_call);
  }
  CHECK(run(small, few.front(), work) == of_small);
  // One more operation, which reads what an old plan has dropped or never makes.
  auto const more = small.net.add(
      reads::nothing, [](double v) { return 2 * v; }, [](double bar, double& sum) { sum += 2 * bar; }, small.w);
  small.seeds.push_back(more.seed(small.end));
  CHECK_THROWS_AS(run(small, few.front(), work), invalid_schedule);
  auto const now = small.plans();
  CHECK(run(small, now.front(), work) == run(small, now.front()));
  // What is declared of an operation counts, too.
  graph_budget within{"1MB"};
  (void)run(small, within, work);
  int plans = 1;
  for (graph_facts const& facts :
       {graph_facts{.work = 100'000}, {.bytes = 100'000}, {.adjoint_bytes = 100'000}, {.adjoint_work = 100'000},
        {.time = 5}, {.adjoint_time = 5}}) {
    small.net.describe(more, facts);
    std::int64_t const peak = run(small, within, work).peak;
    CHECK((peak > 100'000) == (facts.time + facts.adjoint_time == 0));
    CHECK(within.plans() == ++plans);
  }
}

TEST_CASE("a workspace serves after an exception of any call, and holds no value after it", "[run][graph]") {
  ladder const of{3};
  auto const plans = of.plans();
  graph_workspace work;
  for (auto const& plan : plans) {
    outcome const expected = run(of, plan);
    bool failed = true;
    int k = 0;
    for (; failed; ++k) {
      CAPTURE(k);
      failed = false;
      int const alive = calls::alive;
      work.clear();
      CHECK(calls::alive <= alive);
      int const standing = calls::alive;
      calls::until_throw = k;
      try {
        (void)graph_gradient(of.net, of.inputs, plan, of.seeds, work);
      } catch (std::runtime_error const&) {
        failed = true;
      }
      calls::until_throw = -1;
      if (failed) CHECK(calls::alive == standing);
      CHECK(run(of, plan, work) == expected);
      outcome warm{};
      heap::mark const before;
      warm = run(of, plan, work);
      std::size_t const allocated = before.allocated();
      CHECK(allocated == 0);
      CHECK(warm == expected);
    }
    CHECK(k > 2 * of.net.size() - 2);
    std::size_t left = 0;
    for (int one = 0; one < k; ++one) {
      std::size_t const before = heap::held;
      {
        graph_workspace passing;
        calls::until_throw = one;
        try {
          (void)graph_gradient(of.net, of.inputs, plan, of.seeds, passing);
        } catch (std::runtime_error const&) {
        }
        calls::until_throw = -1;
      }
      left += heap::held - before;
    }
    CHECK(left == 0);
  }
}

TEST_CASE("a workspace in use is refused, and serves afterwards", "[run][graph]") {
  graph_builder net;
  auto const x = net.input<double>();
  graph_workspace work;
  std::vector<action> const none{graph_actions::turn(0)};
  graph_builder const empty;
  int asked = 0;
  auto const y = net.add(
      reads::nothing,
      [&](double v) {
        if (asked == 1) (void)graph_gradient(empty, {}, none, {}, work);
        if (asked == 2) work.clear();
        return 3 * v;
      },
      [](double bar, double& sum) { sum += 3 * bar; }, x);
  std::vector<action> const plan{graph_actions::advance(0), graph_actions::turn(1), graph_actions::reverse(0)};
  double const x0 = 2;
  for (asked = 1; asked <= 2; ++asked) {
    CHECK_THROWS_AS(graph_gradient(net, {x.is(x0)}, plan, {y.seed(1.0)}, work), reentrancy_error);
    int const then = std::exchange(asked, 0);
    CHECK(graph_gradient(net, {x.is(x0)}, plan, {y.seed(1.0)}, work).of(x) == 3);
    asked = then;
  }
}

namespace {

/// Three operations or two: a(x), b, which reads a or x, and c, which reads a or b. What is said of them varies.
struct small_graph {
  int size = 3;
  bool b_reads_a = true;
  int read_by_c = 1;
  bool needs_input = false;       ///< the adjoint of c
  std::vector<int> outputs = {};  ///< none: what no operation reads
  int state_reader = -1;          ///< of a state that a changes; -1: there is no state
  bool changes_it = false;        ///< the reader, too
};
struct built_graph {
  explicit built_graph(small_graph const& of) {
    auto const forward = [](double v) { return 2 * v; };
    auto const plain = [&](graph_value<double> from) {
      return net.add(
          reads::nothing, forward, [](double bar, double& sum) { sum += 2 * bar; }, from);
    };
    std::vector<graph_value<double>> made{plain(x)};
    made.push_back(plain(of.b_reads_a ? made[0] : x));
    std::vector<bool> is_output{!of.b_reads_a, true, true};
    if (of.size == 3) {
      auto const read = made[std::size_t(of.read_by_c)];
      is_output[std::size_t(of.read_by_c)] = false;
      made.push_back(of.needs_input ? net.add(
                                          reads::inputs, forward,
                                          [](double, double bar, double& sum) { sum += 2 * bar; }, read)
                                    : plain(read));
    }
    if (of.state_reader >= 0) {
      auto const state = net.state(outside);
      net.changes(made[0], state);
      auto const reader = made[std::size_t(of.state_reader)];
      of.changes_it ? net.changes(reader, state) : net.reads(reader, state);
    }
    if (!of.outputs.empty()) is_output.assign(3, false);
    for (int const k : of.outputs) {
      net.output(made[std::size_t(k)]);
      is_output[std::size_t(k)] = true;
    }
    for (std::size_t k = 0; k < made.size(); ++k)
      if (is_output[k]) seeds.push_back(made[k].seed(double(k + 1)));
  }
  built_graph(built_graph const&) = delete;
  /// The adjoint of x, -1 if the graph cannot obey the plan.
  double bar(std::vector<action> const& plan, graph_workspace& work) const {
    double const x0 = 1;
    try {
      return graph_gradient(net, {x.is(x0)}, plan, seeds, work).of(x);
    } catch (invalid_schedule const&) {
      return -1;
    }
  }
  double outside = 0;
  graph_builder net;
  graph_value<double> x = net.input<double>();
  std::vector<graph_seed> seeds;
};

}  // namespace

TEST_CASE("a workspace that has served a graph refuses for another one what a new workspace does", "[run][graph]") {
  using namespace graph_actions;
  std::vector<small_graph> const graphs{{.size = 2}, {}, {.b_reads_a = false}, {.read_by_c = 0}, {.needs_input = true},
                                        {.outputs = {2}}, {.outputs = {2, 0}}, {.outputs = {2, 1}},
                                        {.outputs = {2, 1, 0}}, {.b_reads_a = false, .state_reader = 1},
                                        {.b_reads_a = false, .state_reader = 2},
                                        {.b_reads_a = false, .state_reader = 0},
                                        {.b_reads_a = false, .state_reader = 1, .changes_it = true}};
  std::vector<std::vector<action>> plans{{advance(0), advance(1), turn(2), reverse(1), reverse(0)}};
  std::vector<step_index> order{0, 1, 2};
  do
    for (step_index const dropped : {-1, 0, 1}) {
      std::vector<action> plan;
      for (step_index const v : order) plan.push_back(advance(v));
      if (dropped >= 0) plan.push_back(drop(dropped));
      for (action const& last : {turn(3), reverse(2), reverse(1), reverse(0)}) plan.push_back(last);
      plans.push_back(plan);
    }
  while (std::next_permutation(order.begin(), order.end()));
  int obeyed = 0, wrong = 0;
  for (auto const& other : graphs) {
    built_graph const now{other};
    std::vector<double> expected;
    for (auto const& plan : plans) {
      graph_workspace fresh;
      expected.push_back(now.bar(plan, fresh));
      obeyed += expected.back() > 0;
    }
    for (auto const& one : graphs) {
      built_graph const before{one};
      graph_workspace work;
      for (std::size_t k = 0; k < plans.size(); ++k) {
        (void)before.bar(plans[one.size == 2 ? 0 : 1], work);
        wrong += now.bar(plans[k], work) != expected[k];
      }
    }
  }
  CHECK(wrong == 0);
  CHECK(obeyed > 30);
}

TEST_CASE("a warm sweep over a graph with a state allocates nothing where no operation runs again", "[run][graph]") {
  built_graph const of{{.state_reader = 2}};
  using namespace graph_actions;
  std::vector<action> const plan{advance(0), advance(1), advance(2), turn(3), reverse(2), reverse(1), reverse(0)};
  std::vector<graph_binding> const inputs{of.x.is(of.outside)};
  graph_workspace work;
  auto const runs = [&] { (void)graph_gradient(of.net, inputs, plan, of.seeds, work); };
  runs();
  heap::mark const before;
  runs();
  CHECK(before.allocated() == 0);
}

TEST_CASE("a sweep that is refused has freed the adjoints of the one before in its workspace", "[run][graph]") {
  ladder const of{2};
  auto const plan = of.plans().front();
  graph_workspace work;
  int const alive = calls::alive;
  auto const runs = [&] { (void)graph_gradient(of.net, of.inputs, plan, of.seeds, work); };
  runs();
  CHECK(calls::alive > alive);
  graph_budget too_small{1};
  CHECK_THROWS_AS(graph_gradient(of.net, of.inputs, too_small, of.seeds, work), infeasible_budget);
  CHECK(calls::alive == alive);
  runs();
  CHECK_THROWS_AS(graph_gradient(of.net, {}, plan, of.seeds, work), invalid_call);
  CHECK(calls::alive == alive);
}

TEST_CASE("adjoints in a workspace end with its next sweep", "[run][graph]") {
  ladder const of{2};
  auto const plan = of.plans().front();
  graph_workspace work, other;
  auto first = graph_gradient(of.net, of.inputs, plan, of.seeds, work);
  auto apart = graph_gradient(of.net, of.inputs, plan, of.seeds, other);
  CHECK(first.has(of.x));
  triple const kept = first.of(of.x).at;
  auto second = graph_gradient(of.net, of.inputs, plan, of.seeds, work);
  CHECK_FALSE(first.has(of.x));
  CHECK_THAT(support::said<error>([&] { (void)first.of(of.x); }),
             ContainsSubstring("another sweep has begun in the workspace of these adjoints"));
  CHECK(second.of(of.x).at == kept);
  CHECK(apart.of(of.x).at == kept);
  CHECK(first.peak_bytes() == second.peak_bytes());
  work.clear();
  CHECK_FALSE(second.has(of.x));
  CHECK_THROWS_AS(second.of(of.x), invalid_call);
  CHECK(work.box_bytes() == 0);
}

TEST_CASE("what values own is freed as the plan says, and a workspace keeps only small boxes", "[run][graph][long]") {
  using field = std::vector<double>;
  using block = std::array<double, 500>;
  constexpr std::size_t size = 500;
  graph_builder net;
  auto const x = net.input<field>();
  auto last = x;
  for (int k = 0; k < 24; ++k) {
    auto const bent = net.add(
        reads::inputs,
        [](field const& v) {
          field made = v;
          for (double& one : made) one -= 0.1 * one * one;
          return made;
        },
        [](field const& v, field const& bar, graph_adjoint<field>& sum) {
          field& into = sum.or_make(v.size(), 0.0);
          for (std::size_t i = 0; i < v.size(); ++i) into[i] += (1 - 0.2 * v[i]) * bar[i];
        },
        last);
    if (k % 6 != 5) {
      last = bent;
      continue;
    }
    auto const inside = net.add(
        reads::nothing,
        [](field const& v) {
          block made;
          for (std::size_t i = 0; i < size; ++i) made[i] = v[i];
          return made;
        },
        [](block const& bar, graph_adjoint<field>& sum) { sum += field(bar.begin(), bar.end()); }, bent);
    last = net.add(
        reads::nothing, [](block const& v) { return field(v.begin(), v.end()); },
        [](field const& bar, graph_adjoint<block>& sum) {
          block& into = sum.or_make();
          for (std::size_t i = 0; i < size; ++i) into[i] += bar[i];
        },
        inside);
  }
  field const x0(size, 0.5), seed(size, 1.0);
  std::vector<graph_binding> const inputs{x.is(x0)};
  std::vector<graph_seed> const seeds{last.seed(seed)};
  graph_planner planner{graph_probe<std::chrono::steady_clock>(net, inputs, seeds, 1)};
  auto const plan = planner.plan(planner.least_budget());
  REQUIRE(plan.cost.runs > net.size());
  REQUIRE(plan.cost.peak < 10 * std::int64_t(sizeof(block)));
  field const expected = graph_gradient(net, inputs, plan, seeds).of(x);
  std::size_t const start = heap::held;
  {
    graph_workspace work;
    // Tables, and one box for each value, tape and adjoint that is there at a time.
    std::size_t const beside = 600 * std::size_t(net.size()) + 1000, adjoint = sizeof(double) * size;
    for (int k = 0; k < 3; ++k) {
      heap::mark const before;
      auto made = graph_gradient(net, inputs, plan, seeds, work);
      CHECK(made.peak_bytes() == plan.cost.peak);
      CHECK(before.rise() <= std::size_t(plan.cost.peak) + 2 * adjoint + beside);
      CHECK(made.of(x) == expected);
      CHECK(heap::held - start <= adjoint + beside);
      CHECK(work.box_bytes() < 100 * std::size_t(net.size()));
    }
    std::size_t const boxes = work.box_bytes();
    CHECK(boxes > 0);
    (void)graph_gradient(net, inputs, plan, seeds, work);
    CHECK(work.box_bytes() == boxes);
    CHECK(heap::held > start + boxes);
    work.clear();
    CHECK(heap::held == start);
    CHECK(graph_gradient(net, inputs, plan, seeds, work).of(x) == expected);
  }
  CHECK(heap::held == start);
}
