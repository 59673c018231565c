// SPDX-License-Identifier: Apache-2.0
// A small U-Net in one dimension: features go down through halved grids and come up again beside what was kept on the
// way. The graph is built of plain functions, measured, planned for less and less memory, and run: the gradient has the
// same bits each time. `graph_unet FILE.csv` writes the memory of each plan.
#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdio>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include <cairn/plan/graph/graph_planner.hpp>
#include <cairn/plan/text/memory_over_time.hpp>
#include <cairn/run/graph.hpp>

#include "support/table_file.hpp"

namespace {

using field = std::vector<double>;
using mask = std::vector<bool>;
using cairn::graph_adjoint;
using cairn::graph_builder;
using cairn::graph_value;
namespace reads = cairn::adjoint_reads;

/// y[k] = w[0] x[k-1] + w[1] x[k] + w[2] x[k+1]
graph_value<field> convolution(graph_builder& net, graph_value<field> weights, graph_value<field> x) {
  return net.add(
      reads::inputs,
      [](field const& w, field const& v) {
        field y(v.size());
        for (std::size_t k = 0; k < v.size(); ++k)
          y[k] = w[1] * v[k] + (k > 0 ? w[0] * v[k - 1] : 0) + (k + 1 < v.size() ? w[2] * v[k + 1] : 0);
        return y;
      },
      [](field const& w, field const& v, field const& bar, graph_adjoint<field>& wbar, graph_adjoint<field>& vbar) {
        field &dw = wbar.or_make(w.size(), 0.0), &dv = vbar.or_make(v.size(), 0.0);
        for (std::size_t k = 0; k < v.size(); ++k) {
          dw[1] += bar[k] * v[k], dv[k] += bar[k] * w[1];
          if (k > 0) dw[0] += bar[k] * v[k - 1], dv[k - 1] += bar[k] * w[0];
          if (k + 1 < v.size()) dw[2] += bar[k] * v[k + 1], dv[k + 1] += bar[k] * w[2];
        }
      },
      weights, x);
}
/// max(x, 0): its adjoint keeps one bit a number and reads no value.
graph_value<field> rectified(graph_builder& net, graph_value<field> x) {
  return net.add(
      reads::tape<mask>,
      [](field const& v, mask* positive) {
        field y(v.size());
        if (positive != nullptr) positive->resize(v.size());
        for (std::size_t k = 0; k < v.size(); ++k) {
          y[k] = v[k] > 0 ? v[k] : 0;
          if (positive != nullptr) (*positive)[k] = v[k] > 0;
        }
        return y;
      },
      [](mask const& positive, field const& bar, graph_adjoint<field>& sum) {
        field more = bar;
        for (std::size_t k = 0; k < more.size(); ++k)
          if (!positive[k]) more[k] = 0;
        sum += std::move(more);
      },
      x);
}
/// Means of pairs.
graph_value<field> halved(graph_builder& net, graph_value<field> x) {
  return net.add(
      reads::nothing,
      [](field const& v) {
        field y(v.size() / 2);
        for (std::size_t k = 0; k < y.size(); ++k) y[k] = (v[2 * k] + v[2 * k + 1]) / 2;
        return y;
      },
      [](field const& bar, graph_adjoint<field>& sum) {
        field& into = sum.or_make(2 * bar.size(), 0.0);
        for (std::size_t k = 0; k < into.size(); ++k) into[k] += bar[k / 2] / 2;
      },
      x);
}
/// Each number of the small field twice, and that of the large one added.
graph_value<field> joined(graph_builder& net, graph_value<field> small_one, graph_value<field> large_one) {
  return net.add(
      reads::nothing,
      [](field const& coarse, field const& fine) {
        field y = fine;
        for (std::size_t k = 0; k < y.size(); ++k) y[k] += coarse[k / 2];
        return y;
      },
      [](field const& bar, graph_adjoint<field>& coarse, graph_adjoint<field>& fine) {
        field& into = coarse.or_make(bar.size() / 2, 0.0);
        for (std::size_t k = 0; k < bar.size(); ++k) into[k / 2] += bar[k];
        fine += bar;
      },
      small_one, large_one);
}
/// Half the sum of squares.
graph_value<double> energy(graph_builder& net, graph_value<field> x) {
  return net.add(
      reads::inputs,
      [](field const& v) {
        double sum = 0;
        for (double const one : v) sum += one * one;
        return sum / 2;
      },
      [](field const& v, double bar, graph_adjoint<field>& sum) {
        field& into = sum.or_make(v.size(), 0.0);
        for (std::size_t k = 0; k < v.size(); ++k) into[k] += bar * v[k];
      },
      x);
}

}  // namespace

int main(int count, char** words) {
  constexpr std::size_t levels = 4, points = 4096;
  graph_builder net;
  auto const x = net.input<field>();
  std::vector<graph_value<field>> weights, down;
  auto const layer = [&](graph_value<field> in) {
    weights.push_back(net.input<field>());
    return rectified(net, convolution(net, weights.back(), in));
  };
  auto now = x;
  for (std::size_t k = 0; k < levels; ++k) {
    down.push_back(layer(layer(now)));
    now = halved(net, down.back());
  }
  now = layer(now);
  for (std::size_t k = levels; k-- > 0;) now = layer(joined(net, now, down[k]));
  auto const loss = energy(net, now);

  field signal(points);
  for (std::size_t k = 0; k < points; ++k) signal[k] = std::sin(0.01 * double(k)) + 0.1 * double(k % 7);
  std::vector<field> kernels;
  for (std::size_t k = 0; k < weights.size(); ++k) kernels.push_back({0.25, 0.5, 0.2 + 0.01 * double(k)});
  std::vector<cairn::graph_binding> inputs{x.is(signal)};
  for (std::size_t k = 0; k < weights.size(); ++k) inputs.push_back(weights[k].is(kernels[k]));

  auto const measured = cairn::graph_probe<std::chrono::steady_clock>(net, inputs, {loss.seed(1.0)});
  cairn::graph_planner planner{measured};
  auto const all = planner.pareto(2).back();
  std::printf("%lld operations, storing everything takes %lld KiB\n", (long long)net.size(),
              (long long)all.cost.peak / 1024);
  auto whole = cairn::graph_gradient(net, inputs, all, {loss.seed(1.0)});
  bool is_right = whole.peak_bytes() == all.cost.peak;
  std::string rows = support::curve_columns;
  auto const add = [&](std::string const& name, cairn::graph_plan const& plan) {
    rows += support::curve_rows(name, samples_of(cairn::graph_memory_over(measured, plan.actions)));
  };
  add("all stored", all);
  for (int part : {3, 2, 1}) {
    auto const budget = planner.least_budget() + (all.cost.peak - planner.least_budget()) * part / 4;
    auto const plan = planner.plan(budget);
    auto bars = cairn::graph_gradient(net, inputs, plan, {loss.seed(1.0)});
    add("within " + std::to_string(budget / 1024) + " KiB", plan);
    bool same = std::memcmp(bars.of(x).data(), whole.of(x).data(), points * sizeof(double)) == 0;
    for (auto const& w : weights) same = same && bars.of(w) == whole.of(w);
    std::printf("within %4lld KiB: %3lld operations run, counted peak %4lld KiB, %s\n", (long long)budget / 1024,
                (long long)plan.cost.runs, (long long)bars.peak_bytes() / 1024, same ? "the same bits" : "other bits");
    is_right = is_right && same && bars.peak_bytes() == plan.cost.peak && plan.cost.peak <= budget;
  }
  if (support::wants_table(count)) support::write_table(words[1], rows);
  return is_right ? 0 : 1;
}
