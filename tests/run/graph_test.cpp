// SPDX-License-Identifier: Apache-2.0
// Graphs of operations as users build them: what adjoints read, views, tapes, limits, refusals, and what exceptions
// leave behind.
#include <cairn/plan/graph/graph_planner.hpp>
#include <cairn/plan/graph/replay.hpp>
#include <cairn/run/graph.hpp>

#include <algorithm>
#include <array>
#include <chrono>
#include <complex>
#include <cstddef>
#include <cstdint>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "support/catch.hpp"
#include "support/said.hpp"

using namespace cairn;
using namespace cairn::graph_actions;
namespace reads = cairn::adjoint_reads;
using Catch::Matchers::ContainsSubstring;

namespace {

using field = std::vector<double>;
using watch = std::chrono::steady_clock;
using plan = std::vector<action>;

/// Every operation once, those with a tape recorded, then the adjoints.
plan store_all(operation_graph const& graph) {
  plan made;
  for (step_index v = 0; v < graph.size(); ++v)
    made.push_back(graph.operations[std::size_t(v)].tape_bytes > 0 ? record(v) : advance(v));
  made.push_back(turn(graph.size()));
  for (step_index v = graph.size(); v-- > 0;) made.push_back(reverse(v));
  return made;
}
/// Counts how many there are.
struct counted {
  static inline int alive = 0;
  double number = 0;
  counted() { ++alive; }
  explicit counted(double from) : number{from} { ++alive; }
  counted(counted const& other) : number{other.number} { ++alive; }
  counted& operator=(counted const&) = default;
  ~counted() { --alive; }
  std::size_t bytes() const { return sizeof(counted); }
};

}  // namespace

TEST_CASE("a graph of no operation gives back what its seeds say", "[run][graph]") {
  graph_builder net;
  CHECK(graph_gradient(net, {}, plan{turn(0)}, {}).peak_bytes() == 0);
  CHECK(graph_probe<watch>(net, {}, {}).size() == 0);
  auto const x = net.input<double>(), unused = net.input<double>();
  net.output(x);
  double const x0 = 3;
  auto bars = graph_gradient(net, {x.is(x0), unused.is(x0)}, plan{turn(0)}, {x.seed([](double at) { return 2 * at; })});
  CHECK(bars.of(x) == 6);
  CHECK_FALSE(bars.has(unused));
  CHECK(bars.peak_bytes() == 0);
  CHECK_THAT(support::said<error>([&] { (void)bars.of(unused); }),
             ContainsSubstring("nothing contributed to its adjoint"));
}

TEST_CASE("one operation, and two", "[run][graph]") {
  graph_builder net;
  auto const x = net.input<double>();
  auto const square = net.add(
      reads::inputs, [](double a, double b) { return a * b; },
      [](double a, double b, double bar, double& abar, double& bbar) { abar += bar * b, bbar += bar * a; }, x, x);
  double const x0 = 3;
  auto one = graph_gradient(net, {x.is(x0)}, plan{advance(0), turn(1), reverse(0)}, {square.seed(1)});
  CHECK(one.of(x) == 6);
  CHECK(one.peak_bytes() == 2 * std::int64_t(sizeof(double)));
  auto const third = net.add(
      reads::inputs | reads::output, [](double a, double b) { return a * b; },
      [](double a, double b, double y, double bar, double& abar, double& bbar) {
        CHECK(y == a * b);
        abar += bar * b, bbar += bar * a;
      },
      square, x);
  auto two = graph_gradient(net, {x.is(x0)},
                            plan{advance(0), advance(1), drop(0), turn(2), advance(0), reverse(1), reverse(0)},
                            {third.seed(1.0)});
  CHECK(two.of(x) == 27);
}

TEST_CASE("a small seed is kept in a variable, and a larger one is referred to", "[run][graph]") {
  using complex = std::complex<double>;
  struct pair {
    double first, second;
    operator complex() const { return {first, second}; }
  };
  struct alignas(16) aligned {
    double number;
    operator double() const {
      CHECK(reinterpret_cast<std::uintptr_t>(this) % alignof(aligned) == 0);
      return number;
    }
  };
  double const x0 = 3;
  complex const z0{3, 4};
  graph_builder net, of_complex;
  auto const x = net.input<double>();
  auto const y = net.add(
      reads::nothing, [](double a) { return 2 * a; }, [](double bar, double& sum) { sum += 2 * bar; }, x);
  auto const z = of_complex.input<complex>();
  auto const w = of_complex.add(
      reads::nothing, [](complex a) { return 2.0 * a; }, [](complex bar, complex& sum) { sum += 2.0 * bar; }, z);
  plan const all{advance(0), turn(1), reverse(0)};
  auto const number = y.seed(1.5), whole = y.seed(2), narrow = y.seed(0.5f), wide = y.seed(aligned{4});
  auto const function = y.seed([](double at) { return 3 * at; });
  auto const with_number = y.seed([by = 5.0](double at) { return by * at; });
  auto const both = w.seed(complex{1, 2}), from_pair = w.seed(pair{3, 4});
  std::vector<std::byte> const other_bytes(1024, std::byte{0x55});  // takes the place of temporaries
  std::vector<graph_seed> const many(7, wide);                      // copies are seeds, too
  auto const bar = [&](graph_seed const& seed) { return graph_gradient(net, {x.is(x0)}, all, {seed}).of(x); };
  CHECK(bar(number) == 3);
  CHECK(bar(whole) == 4);
  CHECK(bar(narrow) == 1);
  CHECK(bar(function) == 36);
  CHECK(bar(with_number) == 60);
  for (graph_seed const& one : many) CHECK(bar(one) == 8);
  CHECK(graph_gradient(of_complex, {z.is(z0)}, all, {both}).of(z) == complex{2, 4});
  CHECK(graph_gradient(of_complex, {z.is(z0)}, all, {from_pair}).of(z) == complex{6, 8});

  double changed = 1;
  complex changed_too{1, 2};
  auto const largest_copied = w.seed(changed_too);
  std::array<double, 3> parts{1, 2, 3};
  auto const sum = [&changed](double) { return changed; };
  auto const copied = y.seed(changed), through = y.seed(sum);
  auto const larger = [parts](double) { return parts[0] + parts[1] + parts[2]; };
  auto const referred = y.seed(larger);
  changed = 10;
  changed_too = 10;
  CHECK(bar(copied) == 2);
  CHECK(graph_gradient(of_complex, {z.is(z0)}, all, {largest_copied}).of(z) == complex{2, 4});
  CHECK(bar(through) == 20);
  CHECK(bar(referred) == 12);
  CHECK(bar(y.seed([parts](double) { return parts[2]; })) == 6);  // until the end of the call
}

TEST_CASE("an adjoint gets what it says that it reads, and a view has no bytes but those of its adjoint",
          "[run][graph]") {
  graph_builder net;
  auto const x = net.input<field>();
  auto const twice = net.add(
      reads::nothing,
      [](field const& a) {
        field y = a;
        for (double& one : y) one *= 2;
        return y;
      },
      [](field const& bar, graph_adjoint<field>& sum) {
        field more = bar;
        for (double& one : more) one *= 2;
        sum += std::move(more);
      },
      x);
  auto const half = net.view<field>([](field const& a) { return std::span{a}.first(a.size() / 2); },
                                    [](field const& bar, graph_adjoint<field>& sum) {
                                      field& into = sum.or_make(2 * bar.size(), 0.0);
                                      for (std::size_t k = 0; k < bar.size(); ++k) into[k] += bar[k];
                                    },
                                    twice);
  auto const mean = net.add(
      reads::tape<std::size_t>,
      [](std::span<double const> a, std::size_t* count) {
        if (count != nullptr) *count = a.size();
        double sum = 0;
        for (double const one : a) sum += one;
        return sum / double(a.size());
      },
      [](std::size_t count, double bar, graph_adjoint<field>& sum) { sum += field(count, bar / double(count)); }, half);
  CHECK(net.size() == 2);  // a view is none
  operation_graph const graph = net.graph();
  CHECK(graph.operations[1].inputs == std::vector<step_index>{0});
  CHECK(graph.operations[1].adjoint_needs_inputs == false);
  CHECK_FALSE(graph.operations[0].adjoint_needs_output);
  CHECK_FALSE(graph.operations[1].adjoint_needs_output);
  field const x0{1, 2, 3, 4};
  auto const measured = graph_probe<watch>(net, {x.is(x0)}, {mean.seed(1)});
  std::int64_t const whole = std::int64_t(sizeof(field) + 4 * sizeof(double)),
                     part = whole - 2 * std::int64_t(sizeof(double));
  CHECK(measured.operations[0].bytes == whole);
  CHECK(measured.operations[0].adjoint_bytes == whole);
  CHECK(measured.operations[1].bytes == std::int64_t(sizeof(double)));
  CHECK(measured.operations[1].tape_bytes == std::int64_t(sizeof(std::size_t)));
  CHECK(measured.operations[1].adjoint_work == part);  // the adjoint of the view
  CHECK(measured.operations[0].time > 0);
  CHECK(measured.operations[1].adjoint_time > 0);
  for (plan const& by : {store_all(graph), plan{advance(0), advance(1), drop(0), turn(2), drop(1), advance(0),
                                                record(1), reverse(1), reverse(0)}}) {
    cairn::sweep_report report;
    auto bars = graph_gradient(net, {x.is(x0)}, by, {mean.seed(1)}, report);
    CHECK(bars.of(x) == field{1, 1, 0, 0});
    CHECK(bars.peak_bytes() == replay(measured, by).peak);
    CHECK(report.steps == 2);
    CHECK(report.slots == 0);
    CHECK(report.predicted_bytes == cairn::unknown_bytes);  // a list of actions does not say
    CHECK(report.state_bytes == cairn::wide(bars.peak_bytes()));
    CHECK(report.counted.tapes == cairn::wide(replay(measured, by).peak_tapes));
    CHECK(report.counted.adjoints == cairn::wide(replay(measured, by).peak_adjoints));
    CHECK(report.counted.total() == report.state_bytes);
    CHECK(report.step_calls == cairn::wide(replay(measured, by).runs));
  }
  CHECK_THROWS_AS(
      graph_gradient(net, {x.is(x0)}, plan{advance(0), advance(1), turn(2), reverse(1), reverse(0)}, {mean.seed(1)}),
      invalid_schedule);
}

TEST_CASE("an adjoint gets the inputs that it names, and the others need not be there", "[run][graph]") {
  graph_builder net;
  auto const x = net.input<double>();
  auto const scaled = [&](double by) {
    return net.add(
        reads::nothing, [by](double a) { return by * a; }, [by](double bar, double& sum) { sum += by * bar; }, x);
  };
  auto const a = scaled(2), b = scaled(3), c = scaled(5);
  auto const y = net.add(  // a + b b + c c c x
      reads::input<1> | reads::input<2, 3> | reads::output,
      [](double p, double q, double r, double s) { return p + q * q + r * r * r * s; },
      [](double q, double r, double s, double made, double bar, double& pbar, double& qbar, double& rbar,
         double& sbar) {
        CHECK(made == 2 + 9 + 125);
        pbar += bar, qbar += 2 * q * bar, rbar += 3 * r * r * s * bar, sbar += r * r * r * bar;
      },
      a, b, c, x);
  auto const graph = net.graph();
  CHECK(graph.operations[3].inputs == std::vector<step_index>{0, 1, 2});
  CHECK(graph.operations[3].adjoint_needs_inputs == needed_inputs{false, true, true});
  double const x0 = 1;
  plan const lean{advance(0), advance(1), advance(2), advance(3), drop(0),   turn(4),
                  reverse(3), reverse(2), reverse(1), advance(0), reverse(0)};
  auto bars = graph_gradient(net, {x.is(x0)}, lean, {y.seed(1)});
  CHECK(bars.of(x) == 2 + 2 * 3 * 3 + 3 * 25 * 5 + 125);
  CHECK(bars.peak_bytes() == replay(graph, lean).peak);
  CHECK_THROWS_AS(graph_gradient(net, {x.is(x0)},
                                 plan{advance(0), advance(1), advance(2), advance(3), turn(4), drop(1), reverse(3),
                                      reverse(2), reverse(1), reverse(0)},
                                 {y.seed(1)}),
                  invalid_schedule);
}

TEST_CASE("outputs may be several, views and inputs, and each has its seed", "[run][graph]") {
  graph_builder net;
  auto const x = net.input<double>();
  auto const scaled = [&](double by) {
    return net.add(
        reads::nothing, [by](double a) { return by * a; }, [by](double bar, double& sum) { sum += by * bar; }, x);
  };
  auto const a = scaled(2), b = scaled(3);
  auto const seen = net.view([](double y) { return -y; }, [](double bar, double& sum) { sum -= bar; }, a);
  net.output(seen), net.output(b), net.output(x);
  double const x0 = 5;
  auto const all = store_all(net.graph());
  auto bars = graph_gradient(net, {x.is(x0)}, all, {seen.seed(1), b.seed(10), x.seed(100), a.seed(0.5)});
  CHECK(bars.of(x) == 100 + 30 - 2 + 1);
  auto const measured = graph_probe<watch>(net, {x.is(x0)}, {seen.seed(1), b.seed(10), x.seed(100), a.seed(0.5)}, 1);
  CHECK(measured.loss_work == std::int64_t(sizeof(double)));  // the adjoint of the view
  CHECK_THAT(support::said<error>([&] { (void)graph_gradient(net, {x.is(x0)}, all, {b.seed(1)}); }),
             ContainsSubstring("an output of the graph has no seed (operation = 0)"));
  graph_builder other;
  auto const none = other.input<double>();
  auto const stranger = other.add(
      reads::nothing, [](double y) { return y; }, [](double, double&) {}, none);
  (void)other.add(
      reads::nothing, [](double y) { return y; }, [](double, double&) {}, stranger);
  auto const all_of_other = store_all(other.graph());
  CHECK_THAT(support::said<error>(
                 [&] { (void)graph_gradient(other, {none.is(x0)}, all_of_other, {stranger.seed(1)}); }),
             ContainsSubstring("a seed is given for something that is not an output of the graph"));
}

TEST_CASE("a value without contributions has no adjoint, and no adjoint is called for it", "[run][graph]") {
  graph_builder net;
  auto const x = net.input<double>();
  bool called = false;
  auto const dead = net.add(
      reads::nothing, [](double a) { return a; }, [&](double, double&) { called = true; }, x);
  auto const y = net.add(
      reads::nothing, [](double, double b) { return b; },
      [](double bar, graph_adjoint<double>&, double& sum) { sum += bar; }, dead, x);
  double const x0 = 1;
  CHECK(graph_gradient(net, {x.is(x0)}, store_all(net.graph()), {y.seed(4)}).of(x) == 4);
  CHECK_FALSE(called);
  net.describe(y, {.adjoint_work = 100});
  auto const measured = graph_probe<watch>(net, {x.is(x0)}, {y.seed(4)}, 1);
  CHECK(measured.operations[1].adjoint_work == 100);
  CHECK(measured.operations[0].adjoint_work == 0);
  CHECK(measured.operations[0].adjoint_bytes == std::int64_t(sizeof(double)));  // if it ever gets one
  net.describe(dead, {.adjoint_work = 50});
  CHECK(graph_probe<watch>(net, {x.is(x0)}, {y.seed(4)}, 1).operations[0].adjoint_work == 50);
  CHECK_FALSE(called);
}

TEST_CASE("an observer sees the value that an operation has made, and none at the turn", "[run][graph]") {
  graph_builder net;
  auto last = net.input<double>();
  auto const x = last;
  for (int k = 0; k < 3; ++k)
    last = net.add(
        reads::nothing, [](double a) { return a + 1; }, [](double bar, double& sum) { sum += bar; }, last);
  std::vector<double> seen;
  auto const observer = [&](event const& e) {
    if (e.moment() != moment::after) return;
    auto const one = [&](void const* bytes, std::size_t size) {
      REQUIRE(size == sizeof(double));
      seen.push_back(*static_cast<double const*>(bytes));
    };
    bool const shown = e.each_buffer(one);
    CHECK(shown == (e.what().kind == action_kind::advance));
  };
  double const x0 = 10;
  (void)graph_gradient(net, {x.is(x0)}, plan{advance(0), advance(1), drop(0), advance(2), turn(3), reverse(2),
                                             reverse(1), reverse(0)}, {last.seed(1)}, observer);
  CHECK(seen == std::vector<double>{11, 12, 13});
}

TEST_CASE("values that are empty, or one that is huge, and bytes that are declared", "[run][graph]") {
  graph_builder net;
  auto const x = net.input<field>();
  auto const empty = net.add(
      reads::output, [](field const&) { return field{}; },
      [](field const&, field const&, graph_adjoint<field>& sum) { (void)sum.or_make(); }, x);
  auto const large = net.add(
      reads::nothing, [](field const&) { return field(100'000, 1.0); },
      [](field const&, graph_adjoint<field>& sum) { (void)sum.or_make(); }, empty);
  auto const seventh = net.add(
      reads::nothing, [](field const& a) { return a[7]; },
      [](double bar, graph_adjoint<field>& sum) { sum.or_make(100'000u, 0.0)[7] += bar; }, large);
  net.describe(seventh,
               {.bytes = 1000, .adjoint_bytes = 500, .work = 30, .adjoint_work = 70, .time = 3, .adjoint_time = 4});
  field const x0{1};
  auto const graph = graph_probe<watch>(net, {x.is(x0)}, {seventh.seed(1)}, 1);
  CHECK(graph.operations[0].bytes == std::int64_t(sizeof(field)));
  CHECK(graph.operations[1].bytes == std::int64_t(sizeof(field) + 100'000 * sizeof(double)));
  CHECK(graph.operations[2].bytes == 1000);
  CHECK(graph.operations[2].work == 30);
  CHECK(net.graph().operations[2].time == 3);
  net.describe(empty, {.bytes = 0});  // a value of no bytes
  CHECK(net.graph().operations[0].bytes == 0);
  CHECK(graph_probe<watch>(net, {x.is(x0)}, {seventh.seed(1)}, 1).operations[0].bytes == 0);
  net.describe(empty, {});
  graph_planner planner{graph};
  for (std::int64_t const budget :
       {planner.least_budget(), planner.least_budget() + 400'000, std::int64_t{10'000'000}}) {
    auto const found = planner.plan(budget);
    CHECK(graph_gradient(net, {x.is(x0)}, found, {seventh.seed(1)}).peak_bytes() == found.cost.peak);
  }
  cairn::sweep_report report;
  auto const lean = planner.plan(planner.least_budget());
  (void)graph_gradient(net, {x.is(x0)}, lean, {seventh.seed(1)}, report);
  CHECK(report.predicted_bytes == cairn::wide(lean.cost.peak));
  for (auto const& of : {lean, planner.plan(10'000'000)}) {
    (void)graph_gradient(net, {x.is(x0)}, of, {seventh.seed(1)}, report);
    report.each_part([](std::string const& name, cairn::wide predicted, cairn::wide counted) {
      INFO(name);
      CHECK(predicted == counted);
    });
  }
  CHECK_THAT(support::said<error>([&] { net.describe(seventh, {.bytes = -2}); }),
             ContainsSubstring("the description of an operation is out of range (operation = 2, value = -2)"));
  CHECK_THAT(support::said<error>([&] { net.describe(x, {}); }), ContainsSubstring("no operation makes this value"));
  CHECK_THAT(support::said<error>([&] { (void)graph_probe<watch>(net, {x.is(x0)}, {seventh.seed(1)}, 0); }),
             ContainsSubstring("the graph has to be tried once at least"));
}

TEST_CASE("planners and runs count what is described of an operation, and the sizes of its types where nothing is",
          "[run][graph]") {
  graph_builder net;
  auto const x = net.input<double>();
  auto const back = [](int, float bar, double& sum) { sum += double(bar); };
  auto const y = net.add<float>(
      reads::tape<int>, [](double a, int*) { return a; }, back, x);
  auto const z = net.add(
      reads::nothing, [](double a) { return a; }, [](double bar, graph_adjoint<float>& sum) { sum += float(bar); }, y);
  auto const numbers = [&] {
    auto const graph = net.graph();
    auto const& of = graph.operations[0];
    return std::vector<std::int64_t>{of.bytes, of.tape_bytes, of.adjoint_bytes, of.work,
                                     of.adjoint_work, of.time, of.adjoint_time};
  };
  std::vector<std::int64_t> const of_types{8, 4, 4, 0, 0, 0, 0};
  CHECK(numbers() == of_types);
  net.describe(y, {.bytes = 1, .tape_bytes = 2, .adjoint_bytes = 3, .work = 4, .adjoint_work = 5, .time = 6,
                   .adjoint_time = 7});
  std::vector<std::int64_t> const described{1, 2, 3, 4, 5, 6, 7};
  CHECK(numbers() == described);
  auto const refuses = [&](auto value, graph_facts const& facts, std::string const& says) {
    CHECK_THAT(support::said<error>([&] { net.describe(value, facts); }), ContainsSubstring(says));
  };
  for (graph_facts const& facts : {graph_facts{.bytes = -2}, {.tape_bytes = -2}, {.adjoint_bytes = -2}})
    refuses(y, facts, "out of range (operation = 0, value = -2)");
  for (graph_facts const& facts :
       {graph_facts{.work = -1}, {.adjoint_work = -1}, {.time = -1}, {.adjoint_time = -1}})
    refuses(z, facts, "out of range (operation = 1, value = -1)");
  refuses(y, {.tape_bytes = 0}, "out of range (operation = 0, value = 0)");
  CHECK(numbers() == described);       // what is refused changes nothing
  net.describe(z, {.tape_bytes = 0});  // it has none
  double const x0 = 1;
  constexpr std::int64_t many = 100'000;
  plan const all{record(0), advance(1), turn(2), reverse(1), reverse(0)};
  for (graph_facts const& facts :
       {graph_facts{.bytes = many}, {.tape_bytes = many}, {.adjoint_bytes = many}, {.work = many},
        {.adjoint_work = many}}) {
    net.describe(y, facts);
    auto const peak = graph_gradient(net, {x.is(x0)}, all, {z.seed(1.0)}).peak_bytes();
    CHECK(peak > many);
    CHECK(peak == replay(net.graph(), all).peak);
  }
  net.describe(y, {});
  CHECK(numbers() == of_types);
}

TEST_CASE("a builder refuses the value of another one wherever it is given", "[run][graph]") {
  graph_builder net, other;
  int outside = 0;
  auto const x = net.input<double>();
  auto const y = net.add(
      reads::nothing, [](double a) { return a; }, [](double bar, double& sum) { sum += bar; }, x);
  auto const state = net.state(outside);
  (void)other.input<float>();
  auto const strange = other.input<float>();  // has the number of y, and another type
  auto const refuses = [](auto const& act) {
    CHECK_THAT(support::said<error>(act),
               ContainsSubstring("a value does not belong to this graph (value = 1, values = 2)"));
  };
  refuses([&] { net.output(strange); });
  refuses([&] { net.describe(strange, {}); });
  refuses([&] { net.changes(strange, state); });
  refuses([&] { net.reads(strange, state); });
  refuses([&] {
    (void)net.view([](float a) { return a; }, [](float, graph_adjoint<float>&) {}, strange);
  });
  double const x0 = 3;
  float const strange0 = 3;
  plan const all{advance(0), turn(1), reverse(0)};
  CHECK_THAT(support::said<error>([&] {
               (void)graph_gradient(net, {x.is(x0)}, all, {y.seed(1), strange.seed(1.0f)});
             }),
             ContainsSubstring("a seed is given for something that is not an output of the graph (value = 1)"));
  CHECK_THAT(support::said<error>([&] {
               (void)graph_gradient(net, {x.is(x0), strange.is(strange0)}, all, {y.seed(1)});
             }),
             ContainsSubstring("something that is not an input of the graph (value = 1)"));
  auto bars = graph_gradient(net, {x.is(x0)}, all, {y.seed(1)});
  CHECK(bars.of(x) == 1);
  CHECK_FALSE(bars.has(y));
  CHECK_FALSE(bars.has(strange));
  CHECK_THAT(support::said<error>([&] { (void)bars.of(y); }), ContainsSubstring("is not an input of the graph"));
}

TEST_CASE("the first number that a builder has not given yet names no value of its graph", "[run][graph]") {
  // Of a builder that is gone; the next one may well be given its memory.
  auto const fourth = [] {
    graph_builder gone;
    for (int k = 0; k < 3; ++k) (void)gone.input<double>();
    return gone.input<double>();
  }();
  graph_builder net;
  auto const x = net.input<double>(), by = net.input<double>();
  auto const y = net.add(
      reads::nothing, [](double a) { return a; }, [](double bar, double& sum) { sum += bar; }, x);
  double const x0 = 3;
  plan const all{advance(0), turn(1), reverse(0)};
  auto const said_of = [&](std::vector<graph_binding> const& inputs, std::vector<graph_seed> const& seeds) {
    return support::said<error>([&] { (void)graph_gradient(net, inputs, all, seeds); });
  };
  CHECK_THAT(said_of({x.is(x0), by.is(x0)}, {y.seed(1), fourth.seed(1)}),
             ContainsSubstring("a seed is given for something that is not an output of the graph (value = 3)"));
  CHECK_THAT(said_of({x.is(x0), by.is(x0), fourth.is(x0)}, {y.seed(1)}),
             ContainsSubstring("something that is not an input of the graph (value = 3)"));
  CHECK_THAT(support::said<error>([&] { net.output(fourth); }),
             ContainsSubstring("a value does not belong to this graph (value = 3, values = 3)"));
  auto bars = graph_gradient(net, {x.is(x0), by.is(x0)}, all, {y.seed(1)});
  CHECK(bars.of(x) == 1);
  CHECK_FALSE(bars.has(fourth));
}

TEST_CASE("a probe charges what recording takes beyond a run to the adjoint", "[run][graph]") {
  struct told_clock {
    using duration = std::chrono::duration<long, std::micro>;
    static duration& time() {
      static duration at{0};
      return at;
    }
    static duration now() { return time(); }
    static void pass(long microseconds) { time() += duration{microseconds}; }
  };
  graph_builder net;
  auto const x = net.input<double>();
  auto const taped = net.add(
      reads::tape<double>,
      [](double a, double* tape) { return told_clock::pass(tape != nullptr ? 30 : 10), tape ? *tape = a : a; },
      [](double, double bar, double& sum) { told_clock::pass(5), sum += bar; }, x);
  auto const plain = net.add(
      reads::nothing, [](double a) { return told_clock::pass(20), a; },
      [calls = 0](double bar, double& sum) mutable {  // its first call is slow, and is not timed
        told_clock::pass(calls++ == 0 ? 1000 : 3), sum += bar;
      },
      taped);
  double const x0 = 3;
  auto const of = graph_probe<told_clock>(net, {x.is(x0)},
                                          {plain.seed([](double) { return told_clock::pass(7), 1.0; })}, 1);
  CHECK(of.operations[0].time == 10'000);
  CHECK(of.operations[0].adjoint_time == 25'000);
  CHECK(of.operations[1].time == 20'000);
  CHECK(of.operations[1].adjoint_time == 3000);
  CHECK(of.loss_time == 7000);

  // Of an operation that the clock does not see, 1, 2, 4, ... 65,536 calls are timed: once without a tape and once with
  // it, though the probe runs the first operation twice.
  graph_builder still;
  long runs = 0, recordings = 0;
  auto y = still.input<double>();
  auto const start = y;
  for (int k = 0; k < 3; ++k)
    y = still.add(
        reads::tape<double>,
        [&, k](double a, double* tape) {
          if (k > 0) told_clock::pass(10);
          else ++(tape != nullptr ? recordings : runs);
          return tape ? *tape = a : a;
        },
        [](double, double bar, double& sum) { told_clock::pass(10), sum += bar; }, y);
  CHECK(graph_probe<told_clock>(still, {start.is(x0)}, {y.seed(1)}, 1).operations[0].time == 0);
  CHECK(runs == 1 << 17);
  CHECK(recordings == 1 << 17);
}

TEST_CASE("inputs that are not those of the graph, and plans that are not, are refused before anything runs",
          "[run][graph]") {
  graph_builder net, small;
  int runs = 0;
  auto const x = net.input<double>();
  auto const k = net.input<int>();
  auto const y = net.add(
      reads::inputs,
      [&](double a, int) {
        ++runs;
        return a;
      },
      [](double, int, double bar, double& sum, graph_adjoint<int>&) { sum += bar; }, x, k);
  double const x0 = 1;
  int const k0 = 2;
  plan const good{advance(0), turn(1), reverse(0)};
  auto const refused = [&](std::vector<graph_binding> inputs, std::vector<graph_seed> seeds,
                           plan by = {advance(0), turn(1), reverse(0)}) {
    return support::said<error>([&] { (void)graph_gradient(net, inputs, by, seeds); });
  };
  CHECK_THAT(refused({x.is(x0)}, {y.seed(1)}),
             ContainsSubstring("an input of the graph is not given (input = 1, inputs = 2)"));
  CHECK_THAT(refused({x.is(x0), x.is(x0), k.is(k0)}, {y.seed(1)}),
             ContainsSubstring("an input is given twice (input = 0)"));
  CHECK_THAT(refused({y.is(x0), k.is(k0)}, {y.seed(1)}),
             ContainsSubstring("a value is given for something that is not an input of the graph (value = 2)"));
  auto const stranger = small.input<float>();
  float const one = 1;
  CHECK_THAT(refused({stranger.is(one), k.is(k0)}, {y.seed(1)}),
             ContainsSubstring("an input is given a value of another type (input = 0)"));
  CHECK_THAT(refused({x.is(x0), k.is(k0)}, {}), ContainsSubstring("an output of the graph has no seed"));
  CHECK_THAT(refused({x.is(x0), k.is(k0)}, {y.seed(1)}, {advance(0), turn(1)}),
             ContainsSubstring("the plan ends before the adjoint of operation 0"));
  CHECK_THAT(refused({x.is(x0), k.is(k0)}, {y.seed(1)}, {turn(1), reverse(0)}),
             ContainsSubstring("without the value of an output"));
  CHECK_THAT(refused({x.is(x0), k.is(k0)}, {y.seed(1)}, {advance(0), advance(1), turn(1), reverse(0)}),
             ContainsSubstring("an operation that is not there"));
  CHECK(runs == 0);
  CHECK_THAT(support::said<error>([&] {
               (void)small.add(
                   reads::nothing, [](double a) { return a; }, [](double, double&) {}, y);
             }),
             ContainsSubstring("a value does not belong to this graph"));
  CHECK_THAT(support::said<error>([&] {
               (void)small.add(
                   reads::nothing, [](double a) { return a; }, [](double, double&) {}, x);
             }),
             ContainsSubstring("a value does not belong to this graph"));
  CHECK(graph_gradient(net, {x.is(x0), k.is(k0)}, good, {y.seed(1)}).of(x) == 1);
  CHECK(runs == 1);
}

TEST_CASE("contributions of different sizes are refused", "[run][graph]") {
  graph_builder net;
  auto const x = net.input<field>();
  auto const y = net.add(
      reads::nothing, [](field const& a) { return a[0]; },
      [](double bar, graph_adjoint<field>& sum) { sum += field(2, bar), sum += field(3, bar); }, x);
  field const x0{1};
  CHECK_THAT(support::said<error>([&] { (void)graph_gradient(net, {x.is(x0)}, store_all(net.graph()), {y.seed(1)}); }),
             ContainsSubstring("two contributions to one adjoint have different sizes (size = 2, size added = 3)"));
}

TEST_CASE("what an operation, an adjoint, a seed, a view or an observer throws leaves nothing behind", "[run][graph]") {
  graph_builder net;
  int countdown = -1;  // which call throws
  auto const call = [&] {
    if (countdown >= 0 && countdown-- == 0) throw std::runtime_error("stop");
  };
  auto const x = net.input<counted>();
  auto from = x;
  for (int k = 0; k < 4; ++k) {
    auto const seen = net.view(
        [&](counted const& a) {
          call();
          return counted{a.number};
        },
        [&](counted const& bar, graph_adjoint<counted>& sum) {
          call();
          sum.or_make().number += bar.number;
        },
        from);
    from = net.add(
        reads::inputs | reads::output | reads::tape<counted>,
        [&](counted const& a, counted const& b, counted* tape) {
          call();
          if (tape != nullptr) tape->number = b.number;
          return counted{a.number * b.number + 1};
        },
        [&](counted const& a, counted const& b, counted const&, counted const& tape, counted const& bar,
            graph_adjoint<counted>& abar, graph_adjoint<counted>& bbar) {
          call();
          abar.or_make().number += bar.number * tape.number;
          bbar.or_make().number += bar.number * a.number;
          CHECK(tape.number == b.number);
        },
        from, seen);
  }
  counted const x0{0.5}, seed{1.0};
  auto const seeds = [&](counted const&) {
    call();
    return seed;
  };
  auto const graph = graph_probe<watch>(net, {x.is(x0)}, {from.seed(seed)}, 1);
  double const right = graph_gradient(net, {x.is(x0)}, store_all(graph), {from.seed(seed)}).of(x).number;
  int const before = counted::alive;
  graph_planner planner{graph};
  plan const lean = planner.plan(planner.least_budget()).actions;
  plan late;  // tapes only where they are needed, on values that stand
  for (step_index v = 0; v < 4; ++v) late.push_back(advance(v));
  late.push_back(turn(4));
  for (step_index v = 4; v-- > 0;)
    late.push_back(record(v)), late.push_back(drop_tape(v)), late.push_back(record(v)), late.push_back(reverse(v));
  for (plan const& by : {store_all(graph), lean, late}) {
    int throws = 0;
    for (int at = 0;; ++at) {
      countdown = at;
      sweep_failure failure;
      int shown = 0;
      auto const observer = [&](event const& e) {
        ++shown;
        CHECK(e.bytes_held() <= 100'000);
        call();
      };
      bool thrown = false;
      try {
        auto bars = graph_gradient(net, {x.is(x0)}, by, {from.seed(seeds)}, failure, observer);
        CHECK(bars.of(x).number == right);
        CHECK(shown == 2 * int(by.size()) + 2);
      } catch (std::runtime_error const&) { thrown = true; }
      CHECK(counted::alive == before);
      if (!thrown) {
        CHECK_FALSE(failure.failed);
        break;
      }
      CHECK(failure.failed);
      CHECK(failure.step == failure.what.from);
      ++throws;
    }
    CHECK(throws > 30);
    countdown = -1;
    CHECK(graph_gradient(net, {x.is(x0)}, by, {from.seed(seed)}).of(x).number == right);
  }
}

TEST_CASE("what is counted is what is there, action by action", "[run][graph]") {
  graph_builder net;
  auto const x = net.input<counted>();
  std::vector<graph_value<counted>> values;
  counted outside{7.0};
  auto const state = net.state(outside);
  for (std::size_t k = 0; k < 6; ++k) {
    auto const a = k == 0 ? x : values[k - 1], b = k < 2 ? a : values[k - 2];
    auto const seen = net.view(  // lives during a call only, and its adjoint, too
        [](counted const& u) { return counted{u.number}; },
        [](counted const& bar, graph_adjoint<counted>& sum) { sum.or_make().number += bar.number; }, b);
    values.push_back(net.add(
        reads::inputs | reads::tape<counted>,
        [](counted const& u, counted const& v, counted*) { return counted{u.number + v.number}; },
        [](counted const&, counted const&, counted const&, counted const& bar, graph_adjoint<counted>& u,
           graph_adjoint<counted>& v) {
          u.or_make().number += bar.number;
          v.or_make().number += bar.number;
        },
        a, k % 2 == 0 ? b : seen));
    if (k % 2 == 0) net.changes(values.back(), state);
  }
  counted const x0{1.0}, seed{1.0};
  auto const graph = graph_probe<watch>(net, {x.is(x0)}, {values.back().seed(seed)}, 1);
  graph_planner planner{graph};
  for (auto const& by : planner.pareto(6)) {
    int const before = counted::alive;
    std::size_t most = 0;
    auto const observer = [&](event const& e) {
      bool const has_input_bar =
          e.what().kind == action_kind::done ||
          (e.what().kind == action_kind::reverse && e.what().from == 0 && e.moment() == moment::after);
      CHECK(std::size_t(counted::alive - before) == e.bytes_held() / sizeof(counted) + has_input_bar);
      most = (std::max)(most, e.bytes_held());
    };
    auto bars = graph_gradient(net, {x.is(x0)}, by, {values.back().seed(seed)}, observer);
    CHECK(bars.of(x).number == 26);
    CHECK(std::int64_t(most) <= bars.peak_bytes());
    CHECK(bars.peak_bytes() == by.cost.peak);
  }
}
