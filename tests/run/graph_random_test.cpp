// SPDX-License-Identifier: Apache-2.0
// Random graphs of operations on several types, with joins, values read twice, views and tapes: every plan has the bits
// of an evaluation that stores everything and shares no code with cairn, and its counted peak is the predicted one to
// the byte.
#include <cairn/plan/graph/graph_planner.hpp>
#include <cairn/plan/graph/replay.hpp>
#include <cairn/run/graph.hpp>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <random>
#include <span>
#include <vector>

#include "support/catch.hpp"

using namespace cairn;

namespace {

using field = std::vector<double>;
using part = std::span<double const>;
/// A value that can be neither copied nor moved.
struct pinned {
  explicit pinned(field from) : numbers(std::move(from)) {}
  pinned(pinned const&) = delete;
  std::size_t bytes() const { return sizeof(pinned) + numbers.capacity() * sizeof(double); }
  field numbers;
};
enum class kind { input, product, sum, decay, relu, root, norm, scale, pin, unpin, tail, bend, gate };
/// What an evaluation by hand knows of a value.
struct node {
  kind is;
  std::vector<int> in;
  std::size_t size;
};

/// The same graph twice: in cairn's words and as nodes.
struct pair_of_graphs {
  graph_builder net;
  std::vector<node> nodes;
  template <class T>
  struct known {
    T value;
    int at;
  };
  std::vector<known<graph_value<field>>> fields;
  std::vector<known<graph_value<part, field>>> parts;
  std::vector<known<graph_value<double>>> numbers;
  std::vector<known<graph_value<pinned, field>>> pins;
  std::vector<known<graph_value<field>>> inputs;
  std::vector<graph_seed> seeds;
  std::vector<int> seeded;
  field ones;

  int note(kind is, std::vector<int> in, std::size_t size) {
    nodes.push_back({is, std::move(in), size});
    return int(nodes.size()) - 1;
  }
  std::size_t size_of(int at) const { return nodes[std::size_t(at)].size; }
};

template <class A>
void spread(graph_adjoint<field>& sum, std::size_t size, A at, std::size_t count) {
  field& into = sum.or_make(size, 0.0);
  for (std::size_t k = 0; k < count; ++k) into[k] += at(k);
}

/// Adds an operation on `a`, or `a` and `b`, which are fields or parts.
template <class A, class B>
void add(pair_of_graphs& g, kind is, pair_of_graphs::known<A> a, pair_of_graphs::known<B> b) {
  std::size_t const n = g.size_of(a.at), m = g.size_of(b.at), both = std::min(n, m);
  namespace reads = adjoint_reads;
  switch (is) {
    case kind::product: {
      auto const result = g.net.add(
          reads::inputs,
          [both](auto const& x, auto const& y) {
            field made(both);
            for (std::size_t k = 0; k < both; ++k) made[k] = x[k] * y[k];
            return made;
          },
          [=](auto const& x, auto const& y, field const& bar, graph_adjoint<field>& xbar, graph_adjoint<field>& ybar) {
            spread(
                xbar, n, [&](std::size_t k) { return bar[k] * y[k]; }, both);
            spread(
                ybar, m, [&](std::size_t k) { return bar[k] * x[k]; }, both);
          },
          a.value, b.value);
      g.fields.push_back({result, g.note(is, {a.at, b.at}, both)});
      break;
    }
    case kind::sum: {
      auto const result = g.net.add(
          reads::nothing,
          [both](auto const& x, auto const& y) {
            field made(both);
            for (std::size_t k = 0; k < both; ++k) made[k] = x[k] + y[k];
            return made;
          },
          [=](field const& bar, graph_adjoint<field>& xbar, graph_adjoint<field>& ybar) {
            spread(
                xbar, n, [&](std::size_t k) { return bar[k]; }, both);
            spread(
                ybar, m, [&](std::size_t k) { return bar[k]; }, both);
          },
          a.value, b.value);
      g.fields.push_back({result, g.note(is, {a.at, b.at}, both)});
      break;
    }
    case kind::bend: {  // x + y y: the first input is not read
      auto const result = g.net.add(
          reads::input<1>,
          [both](auto const& x, auto const& y) {
            field made(both);
            for (std::size_t k = 0; k < both; ++k) made[k] = x[k] + y[k] * y[k];
            return made;
          },
          [=](auto const& y, field const& bar, graph_adjoint<field>& xbar, graph_adjoint<field>& ybar) {
            spread(
                xbar, n, [&](std::size_t k) { return bar[k]; }, both);
            spread(
                ybar, m, [&](std::size_t k) { return bar[k] * (2 * y[k]); }, both);
          },
          a.value, b.value);
      g.fields.push_back({result, g.note(is, {a.at, b.at}, both)});
      break;
    }
    case kind::gate: {  // x where x > 1/2, and y elsewhere: the second input is not read
      auto const result = g.net.add(
          reads::input<0> | reads::tape<double>,
          [both](auto const& x, auto const& y, double* half) {
            field made(both);
            for (std::size_t k = 0; k < both; ++k) made[k] = x[k] > 0.5 ? x[k] : y[k];
            if (half != nullptr) *half = 0.5;
            return made;
          },
          [=](auto const& x, double half, field const& bar, graph_adjoint<field>& xbar, graph_adjoint<field>& ybar) {
            spread(
                xbar, n, [&](std::size_t k) { return x[k] > half ? bar[k] : 0.0; }, both);
            spread(
                ybar, m, [&](std::size_t k) { return x[k] > half ? 0.0 : bar[k]; }, both);
          },
          a.value, b.value);
      g.fields.push_back({result, g.note(is, {a.at, b.at}, both)});
      break;
    }
    case kind::decay: {
      auto const result = g.net.add(
          reads::output,
          [n](auto const& x) {
            field made(n);
            for (std::size_t k = 0; k < n; ++k) made[k] = std::exp(-x[k]);
            return made;
          },
          [n](field const& y, field const& bar, graph_adjoint<field>& xbar) {
            spread(
                xbar, n, [&](std::size_t k) { return -y[k] * bar[k]; }, n);
          },
          a.value);
      g.fields.push_back({result, g.note(is, {a.at}, n)});
      break;
    }
    case kind::relu: {
      auto const result = g.net.add(
          reads::tape<std::vector<char>>,
          [n](auto const& x, std::vector<char>* mask) {
            field made(n);
            if (mask != nullptr) mask->assign(n, 0);
            for (std::size_t k = 0; k < n; ++k) {
              made[k] = x[k] > 0.5 ? x[k] : 0.0;
              if (mask != nullptr) (*mask)[k] = x[k] > 0.5;
            }
            return made;
          },
          [n](std::vector<char> const& mask, field const& bar, graph_adjoint<field>& xbar) {
            spread(
                xbar, n, [&](std::size_t k) { return mask[k] ? bar[k] : 0.0; }, n);
          },
          a.value);
      g.fields.push_back({result, g.note(is, {a.at}, n)});
      break;
    }
    case kind::root: {
      auto const result = g.net.add(
          reads::inputs | reads::output | reads::tape<double>,
          [n](auto const& x, double* half) {
            field made(n);
            for (std::size_t k = 0; k < n; ++k) made[k] = std::sqrt(1 + x[k] * x[k]);
            if (half != nullptr) *half = 0.5;
            return made;
          },
          [n](auto const& x, field const& y, double const& half, field const& bar, graph_adjoint<field>& xbar) {
            spread(
                xbar, n, [&](std::size_t k) { return bar[k] * (half * x[k] / y[k]); }, n);
          },
          a.value);
      g.fields.push_back({result, g.note(is, {a.at}, n)});
      break;
    }
    case kind::norm: {
      auto const result = g.net.add(
          reads::inputs,
          [](auto const& x) {
            double sum = 0;
            for (double const one : x) sum += one * one;
            return sum;
          },
          [n](auto const& x, double bar, graph_adjoint<field>& xbar) {
            spread(
                xbar, n, [&](std::size_t k) { return bar * x[k]; }, n);
          },
          a.value);
      g.numbers.push_back({result, g.note(is, {a.at}, 1)});
      break;
    }
    case kind::pin: {
      auto const result = g.net.add<field>(
          reads::nothing, [](auto const& x) { return pinned{field(x.begin(), x.end())}; },
          [n](field const& bar, graph_adjoint<field>& xbar) {
            spread(
                xbar, n, [&](std::size_t k) { return bar[k]; }, n);
          },
          a.value);
      g.pins.push_back({result, g.note(is, {a.at}, n)});
      break;
    }
    case kind::tail: {
      auto const seen = g.net.template view<field>([](auto const& x) { return part{x}.subspan(1); },
                                                   [n](field const& bar, graph_adjoint<field>& sum) {
                                                     field& into = sum.or_make(n, 0.0);
                                                     for (std::size_t k = 0; k + 1 < n; ++k) into[k + 1] += bar[k];
                                                   },
                                                   a.value);
      g.parts.push_back({seen, g.note(is, {a.at}, n - 1)});
      break;
    }
    default:
      break;
  }
}

void add_scale(pair_of_graphs& g, pair_of_graphs::known<graph_value<double>> a,
               pair_of_graphs::known<graph_value<field>> b) {
  std::size_t const n = g.size_of(b.at);
  auto const result = g.net.add(
      adjoint_reads::inputs,
      [](double factor, field const& x) {
        field made = x;
        for (double& one : made) one *= factor;
        return made;
      },
      [n](double factor, field const& x, field const& bar, double& abar, graph_adjoint<field>& xbar) {
        for (std::size_t k = 0; k < n; ++k) abar += bar[k] * x[k];
        spread(
            xbar, n, [&](std::size_t k) { return bar[k] * factor; }, n);
      },
      a.value, b.value);
  g.fields.push_back({result, g.note(kind::scale, {a.at, b.at}, n)});
}
void add_unpin(pair_of_graphs& g, pair_of_graphs::known<graph_value<pinned, field>> a) {
  std::size_t const n = g.size_of(a.at);
  auto const result = g.net.add(
      adjoint_reads::output, [](pinned const& x) { return x.numbers; },
      [](field const& y, field const& bar, graph_adjoint<field>& xbar) {
        field more(y.size());
        for (std::size_t k = 0; k < more.size(); ++k) more[k] = bar[k] * 2;
        xbar += std::move(more);
      },
      a.value);
  g.fields.push_back({result, g.note(kind::unpin, {a.at}, n)});
}

/// A graph of so many operations, the same for the same seed.
pair_of_graphs random_graph(unsigned seed, std::size_t size) {
  pair_of_graphs g;
  std::mt19937 numbers{seed};
  auto const draw = [&](std::size_t below) { return std::size_t(numbers() % below); };
  auto const one_of = [&](auto const& from) {
    return from[from.size() - 1 - draw(std::min<std::size_t>(from.size(), 4))];
  };
  std::size_t const inputs = 1 + draw(3);
  for (std::size_t k = 0; k < inputs; ++k) {
    auto const x = g.net.input<field>();
    g.fields.push_back({x, g.note(kind::input, {}, 1 + draw(6))});
    g.inputs.push_back(g.fields.back());
  }
  while (std::size_t(g.net.size()) < size) {
    auto const a = one_of(g.fields);
    kind const is = kind(1 + draw(12));
    bool const views = !g.parts.empty() && draw(3) == 0;
    if (is == kind::scale) {
      if (!g.numbers.empty()) add_scale(g, one_of(g.numbers), a);
    } else if (is == kind::unpin) {
      if (!g.pins.empty()) add_unpin(g, one_of(g.pins));
    } else if (is == kind::tail) {
      if (views && g.size_of(g.parts.back().at) > 1) add(g, is, g.parts.back(), a);  // a view of a view
      else if (g.size_of(a.at) > 1) add(g, is, a, a);
    } else if (draw(4) == 0) {
      add(g, is, a, a);
    } else if (views) {
      if (draw(2) == 0) add(g, is, one_of(g.parts), a);
      else add(g, is, a, one_of(g.parts));
    } else {
      add(g, is, a, one_of(g.fields));
    }
  }
  return g;
}

/// Forward and back by hand, everything kept. The order of sums: readers from the last one, inputs in their order, and
/// what views pass on after the rest of a reader.
struct evaluation {
  std::vector<node> const& nodes;
  std::vector<field> values{nodes.size()}, bars{nodes.size()};

  void forward(std::vector<field> const& inputs) {
    std::size_t next = 0;
    for (std::size_t v = 0; v < nodes.size(); ++v) {
      node const& of = nodes[v];
      field const none;
      field const& x = of.in.empty() ? none : values[std::size_t(of.in[0])];
      field const& y = of.in.size() < 2 ? none : values[std::size_t(of.in[1])];
      field& made = values[v];
      made.resize(of.size);
      if (of.is == kind::norm) made[0] = 0;
      for (std::size_t k = 0; k < of.size && of.is != kind::norm; ++k) switch (of.is) {
          case kind::input:
            made[k] = inputs[next][k];
            break;
          case kind::product:
            made[k] = x[k] * y[k];
            break;
          case kind::sum:
            made[k] = x[k] + y[k];
            break;
          case kind::bend:
            made[k] = x[k] + y[k] * y[k];
            break;
          case kind::gate:
            made[k] = x[k] > 0.5 ? x[k] : y[k];
            break;
          case kind::decay:
            made[k] = std::exp(-x[k]);
            break;
          case kind::relu:
            made[k] = x[k] > 0.5 ? x[k] : 0.0;
            break;
          case kind::root:
            made[k] = std::sqrt(1 + x[k] * x[k]);
            break;
          case kind::scale:
            made[k] = y[k] * x[0];
            break;
          case kind::tail:
            made[k] = x[k + 1];
            break;
          default:
            made[k] = x[k];
            break;
        }
      if (of.is == kind::norm)
        for (double const one : x) made[0] += one * one;
      if (of.is == kind::input) ++next;
    }
  }
  field& bar_of(std::size_t v) {
    if (bars[v].empty()) bars[v].assign(nodes[v].size, 0.0);
    return bars[v];
  }
  void pass_on(std::size_t v) {  // from a view to what it views
    if (bars[v].empty()) return;
    std::size_t const to = std::size_t(nodes[v].in[0]);
    for (std::size_t k = 0; k < nodes[v].size; ++k) bar_of(to)[k + 1] += bars[v][k];
    bars[v].clear();
    if (nodes[to].is == kind::tail) pass_on(to);
  }
  void backward(std::size_t v) {
    node const& of = nodes[v];
    if (of.is == kind::input || of.is == kind::tail || bars[v].empty()) return;
    field const bar = bars[v];
    std::size_t const a = std::size_t(of.in[0]), b = std::size_t(of.in.back());
    field const &x = values[a], &y = values[b], &made = values[v];
    // Two inputs that are one view have an adjoint each, as every reader of a view has.
    bool const apart = of.in.size() == 2 && a == b && nodes[a].is == kind::tail;
    for (std::size_t k = 0; k < of.size; ++k) switch (of.is) {
        case kind::product:
          bar_of(a)[k] += bar[k] * y[k];
          break;
        case kind::sum:
        case kind::bend:
          bar_of(a)[k] += bar[k];
          break;
        case kind::gate:
          bar_of(a)[k] += x[k] > 0.5 ? bar[k] : 0.0;
          break;
        case kind::decay:
          bar_of(a)[k] += -made[k] * bar[k];
          break;
        case kind::relu:
          bar_of(a)[k] += x[k] > 0.5 ? bar[k] : 0.0;
          break;
        case kind::root:
          bar_of(a)[k] += bar[k] * (0.5 * x[k] / made[k]);
          break;
        case kind::scale:
          bar_of(a)[0] += bar[k] * y[k];
          break;
        case kind::pin:
          bar_of(a)[k] += bar[k];
          break;
        case kind::unpin:
          if (k == 0 && bars[a].empty()) bars[a].assign(of.size, -0.0);
          bar_of(a)[k] += bar[k] * 2;
          break;
        default:
          break;
      }
    if (of.is == kind::norm)
      for (std::size_t k = 0; k < x.size(); ++k) bar_of(a)[k] += bar[0] * x[k];
    if (apart) pass_on(a);
    for (std::size_t k = 0; k < of.size; ++k) switch (of.is) {
        case kind::product:
          bar_of(b)[k] += bar[k] * x[k];
          break;
        case kind::sum:
          bar_of(b)[k] += bar[k];
          break;
        case kind::bend:
          bar_of(b)[k] += bar[k] * (2 * y[k]);
          break;
        case kind::gate:
          bar_of(b)[k] += x[k] > 0.5 ? 0.0 : bar[k];
          break;
        case kind::scale:
          bar_of(b)[k] += bar[k] * x[0];
          break;
        default:
          break;
      }
    if (nodes[a].is == kind::tail) pass_on(a);
    if (nodes[b].is == kind::tail) pass_on(b);
  }
};

/// A plan that keeps, drops and makes again as it likes, values and tapes.
std::vector<action> random_plan(operation_graph const& graph, unsigned seed) {
  using namespace graph_actions;
  std::mt19937 numbers{seed};
  std::size_t const n = graph.operations.size();
  std::vector<char> kept(n), taped(n), read(n), output(n);
  for (auto const& op : graph.operations)
    for (step_index const input : op.inputs) read[std::size_t(input)] = 1;
  for (std::size_t v = 0; v < n; ++v) output[v] = !read[v];
  std::vector<action> plan;
  auto const run = [&](auto const& again, std::size_t v, bool tape) -> void {
    for (step_index const input : graph.operations[v].inputs)
      if (!kept[std::size_t(input)]) again(again, std::size_t(input), numbers() % 2 == 0 && !taped[std::size_t(input)]);
    if (tape) plan.push_back(record(step_index(v)));
    else if (!kept[v]) plan.push_back(advance(step_index(v)));
    kept[v] = 1;
    if (tape) taped[v] = 1;
  };
  auto const forget_some = [&](std::size_t below, bool outputs_too) {
    for (std::size_t v = 0; v < below; ++v) {
      if (kept[v] && numbers() % 4 == 0 && (outputs_too || !output[v]))
        kept[v] = 0, plan.push_back(drop(step_index(v)));
      if (taped[v] && numbers() % 5 == 0) taped[v] = 0, plan.push_back(drop_tape(step_index(v)));
    }
  };
  for (std::size_t v = 0; v < n; ++v) {
    run(run, v, numbers() % 2 == 0 && !taped[v]);
    forget_some(v + 1, false);
  }
  plan.push_back(turn(step_index(n)));
  for (std::size_t v = n; v-- > 0;) {
    auto const& op = graph.operations[v];
    forget_some(v + 1, true);
    if (op.tape_bytes > 0 && !taped[v]) run(run, v, true);
    if (op.adjoint_needs_output && !kept[v]) run(run, v, false);
    for (std::size_t k = 0; k < op.inputs.size(); ++k)
      if (std::size_t const input = std::size_t(op.inputs[k]); op.adjoint_needs_inputs[k] && !kept[input])
        run(run, input, false);
    plan.push_back(reverse(step_index(v)));
    kept[v] = taped[v] = 0;
  }
  return plan;
}

bool same_bits(field const& a, field const& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(double)) == 0;
}

}  // namespace

static void check_random_graphs(unsigned graphs) {
  std::size_t views = 0, pins = 0, twice = 0, tapes = 0, some = 0, plans = 0;
  for (unsigned seed = 0; seed < graphs; ++seed) {
    CAPTURE(seed);
    auto const g = random_graph(seed, 1 + seed % 24);
    std::vector<field> given;
    std::vector<graph_binding> inputs;
    for (auto const& x : g.inputs) {
      field numbers(g.size_of(x.at));
      for (std::size_t k = 0; k < numbers.size(); ++k) numbers[k] = 0.1 + 0.07 * double((seed + 3 * k) % 13);
      given.push_back(std::move(numbers));
    }
    for (std::size_t k = 0; k < given.size(); ++k) inputs.push_back(g.inputs[k].value.is(given[k]));
    std::vector<char> read(g.nodes.size());
    for (auto const& of : g.nodes) {
      for (int const input : of.in) {
        int base = input;
        while (g.nodes[std::size_t(base)].is == kind::tail) base = g.nodes[std::size_t(base)].in[0];
        if (of.is != kind::tail) read[std::size_t(base)] = 1;
      }
      views += of.is == kind::tail, pins += of.is == kind::pin, tapes += of.is == kind::relu || of.is == kind::root;
      twice += of.in.size() == 2 && of.in[0] == of.in[1];
    }
    // Every value that no operation reads is an output, seeded by a value or by what is made of it.
    std::vector<graph_seed> seeds;
    auto const made = [](auto const& y) {
      if constexpr (std::is_same_v<std::remove_cvref_t<decltype(y)>, double>) return 2 * y;
      else if constexpr (std::is_same_v<std::remove_cvref_t<decltype(y)>, pinned>) return y.numbers;
      else return field(y.begin(), y.end());
    };
    evaluation by_hand{g.nodes};
    by_hand.forward(given);
    auto const seed_all = [&](auto const& values) {
      for (auto const& one : values) {
        auto const& of = g.nodes[std::size_t(one.at)];
        if (read[std::size_t(one.at)] || of.is == kind::input || of.is == kind::tail) continue;
        seeds.push_back(one.value.seed(made));
        for (std::size_t k = 0; k < of.size; ++k)
          by_hand.bar_of(std::size_t(one.at))[k] +=
              (of.is == kind::norm ? 2 : 1) * by_hand.values[std::size_t(one.at)][k];
      }
    };
    seed_all(g.fields), seed_all(g.numbers), seed_all(g.pins);
    for (std::size_t v = g.nodes.size(); v-- > 0;) by_hand.backward(v);

    operation_graph graph = graph_probe<std::chrono::steady_clock>(g.net, inputs, seeds, 1);
    REQUIRE(graph.size() == g.net.size());
    for (auto const& op : graph.operations) some += !op.adjoint_needs_inputs.each().empty();
    for (std::size_t v = 0; v < graph.operations.size(); ++v)  // the same plans on every machine
      graph.operations[v].time = 1 + std::int64_t(v * 5 % 7), graph.operations[v].adjoint_time = 2;
    auto const check = [&](std::vector<action> const& plan) {
      ++plans;
      auto bars = graph_gradient(g.net, inputs, plan, seeds);
      for (auto const& x : g.inputs) {
        REQUIRE(bars.has(x.value) == !by_hand.bars[std::size_t(x.at)].empty());
        if (bars.has(x.value)) REQUIRE(same_bits(bars.of(x.value), by_hand.bars[std::size_t(x.at)]));
      }
      REQUIRE(bars.peak_bytes() == replay(graph, plan).peak);
    };
    graph_planner planner{graph, {.exact_operations = 10, .effort = 20'000}};
    for (auto const& plan : planner.pareto(4)) {
      check(plan.actions);
      CHECK(plan.cost.peak <= plan.budget);
    }
    for (unsigned k = 0; k < 4; ++k) check(random_plan(graph, 10 * seed + k));
  }
  CHECK(views > graphs / 2);
  CHECK(pins > graphs / 4);
  CHECK(twice > graphs / 2);
  CHECK(tapes > graphs / 2);
  CHECK(some > graphs / 2);
  CHECK(plans > 6 * graphs);
}
TEST_CASE("random graphs: the bits of storing everything, and the predicted peak to the byte", "[run][graph]") {
  check_random_graphs(40);
}
TEST_CASE("200 random graphs have the bits of storing everything", "[run][graph][long]") { check_random_graphs(200); }
