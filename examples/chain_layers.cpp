// SPDX-License-Identifier: Apache-2.0
// A convolutional network of 14 layers of different types and sizes, differentiated under a byte budget: the layers are
// weighed once, a plan is made for each budget, and the heap's peak is what the plan said, to the byte. The gradient is
// the same in every bit. `chain_layers FILE.csv` writes the memory of each
// plan.

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <string>
#include <tuple>
#include <vector>

#include <cairn/door/wrt.hpp>
#include <cairn/plan/chain/chain_planner.hpp>
#include <cairn/plan/text/memory_over_time.hpp>
#include <cairn/run/chain.hpp>

#include "../tests/support/heap.hpp"
#include "support/table_file.hpp"

using vector = std::vector<double>;

/// Channels of side x side cells, one after the other.
struct image {
  std::size_t channels, side;
  vector cells;
};

/// What is learned: the filters of the convolutions, and the scale of the dense layer.
struct weights {
  std::array<vector, 9> filters;
  double scale = 0.1;
};

/// 3 x 3 weights for each pair of channels, then a ramp: what is negative becomes 0. Its own output says where.
struct convolution {
  std::size_t number, from, to;  // number: of its filters

  /// Calls f(weight, cell of x, cell of y).
  template <class F>
  void each(std::size_t side, F f) const {
    for (std::size_t b = 0; b < to; ++b)
      for (std::size_t a = 0; a < from; ++a)
        for (std::size_t k = 0; k < 9; ++k)
          for (std::size_t r = 1; r + 1 < side; ++r)
            for (std::size_t c = 1; c + 1 < side; ++c)
              f(9 * (b * from + a) + k, (a * side + r + k / 3 - 1) * side + c + k % 3 - 1, (b * side + r) * side + c);
  }
  [[nodiscard]] image forward(image const& x, weights const& p) const {
    vector const& w = p.filters[number];
    image y{to, x.side, vector(to * x.side * x.side)};
    each(x.side, [&](std::size_t k, std::size_t in, std::size_t out) { y.cells[out] += w[k] * x.cells[in]; });
    for (double& cell : y.cells) cell = std::max(cell, 0.0);
    return y;
  }
  [[nodiscard]] image backward(image const& x, image const& y, image&& bar, weights const& p, weights& by_p) const {
    vector const& w = p.filters[number];
    vector& w_bar = by_p.filters[number];
    for (std::size_t k = 0; k < bar.cells.size(); ++k)
      if (y.cells[k] == 0) bar.cells[k] = 0;
    image x_bar{from, x.side, vector(x.cells.size())};
    each(x.side, [&](std::size_t k, std::size_t in, std::size_t out) {
      x_bar.cells[in] += w[k] * bar.cells[out];
      w_bar[k] += x.cells[in] * bar.cells[out];
    });
    return x_bar;
  }
};

/// The largest of each 2 x 2 cells. The tape remembers which it was, and the adjoint needs no input.
struct pooling {
  struct tape {
    image pooled;
    std::vector<std::uint32_t> largest;
  };
  /// The place of the largest of the cells that become cell k.
  [[nodiscard]] static std::size_t largest_of(image const& x, std::size_t k) {
    std::size_t const half = x.side / 2,
                      corner = (k / half / half * x.side + 2 * (k / half % half)) * x.side + 2 * (k % half);
    std::size_t best = corner;
    for (std::size_t const other : {corner + 1, corner + x.side, corner + x.side + 1})
      if (x.cells[other] > x.cells[best]) best = other;
    return best;
  }
  [[nodiscard]] image forward(image const& x) const {
    image y{x.channels, x.side / 2, vector(x.cells.size() / 4)};
    for (std::size_t k = 0; k < y.cells.size(); ++k) y.cells[k] = x.cells[largest_of(x, k)];
    return y;
  }
  [[nodiscard]] tape record(image const& x) const {
    tape kept{forward(x), std::vector<std::uint32_t>(x.cells.size() / 4)};
    for (std::size_t k = 0; k < kept.largest.size(); ++k) kept.largest[k] = std::uint32_t(largest_of(x, k));
    return kept;
  }
  [[nodiscard]] image const& output(tape const& kept) const { return kept.pooled; }
  [[nodiscard]] image backward(tape const& kept, image const& bar) const {
    image x_bar{bar.channels, 2 * bar.side, vector(4 * bar.cells.size())};
    for (std::size_t k = 0; k < bar.cells.size(); ++k) x_bar.cells[kept.largest[k]] += bar.cells[k];
    return x_bar;
  }
};

/// Sums of all cells with weights of their own: from here on the state is a vector.
struct dense {
  std::size_t out;
  [[nodiscard]] vector forward(image const& x, weights const& p) const {
    vector y(out);
    for (std::size_t k = 0; k < x.cells.size(); ++k) y[k % out] += p.scale * std::cos(double(k)) * x.cells[k];
    return y;
  }
  [[nodiscard]] image backward(image const& x, vector const& bar, weights const& p, weights& by_p) const {
    image x_bar{x.channels, x.side, vector(x.cells.size())};
    for (std::size_t k = 0; k < x.cells.size(); ++k) {
      x_bar.cells[k] = p.scale * std::cos(double(k)) * bar[k % out];
      by_p.scale += std::cos(double(k)) * x.cells[k] * bar[k % out];
    }
    return x_bar;
  }
};

/// log(sum exp y) - y_0: a number.
struct cross_entropy {
  [[nodiscard]] double forward(vector const& y) const {
    double sum = 0;
    for (double const value : y) sum += std::exp(value);
    return std::log(sum) - y[0];
  }
  [[nodiscard]] vector backward(vector const& y, double bar) const {
    double sum = 0;
    for (double const value : y) sum += std::exp(value);
    vector y_bar(y.size());
    for (std::size_t k = 0; k < y.size(); ++k) y_bar[k] = bar * (std::exp(y[k]) / sum - (k == 0 ? 1 : 0));
    return y_bar;
  }
};

/// Three groups of three convolutions and a pooling, then the two layers that end in a number.
auto network() {
  using conv = convolution;
  return std::tuple{conv{0, 1, 8},   conv{1, 8, 8},   conv{2, 8, 8},   pooling{},
                    conv{3, 8, 16},  conv{4, 16, 16}, conv{5, 16, 16}, pooling{},
                    conv{6, 16, 32}, conv{7, 32, 32}, conv{8, 32, 32}, pooling{},
                    dense{10},       cross_entropy{}};
}
weights first_weights() {
  weights made;
  std::size_t const channels[] = {1, 8, 8, 8, 16, 16, 16, 32, 32, 32};
  for (std::size_t layer = 0; layer < 9; ++layer) {
    vector& w = made.filters[layer];
    w.resize(9 * channels[layer] * channels[layer + 1]);
    for (std::size_t k = 0; k < w.size(); ++k)
      w[k] = 0.5 * std::sin(double(7 * k + 3)) / std::sqrt(double(channels[layer]));
  }
  return made;
}

int main(int count, char** words) {
  image digit{1, 32, vector(1024)};
  for (std::size_t k = 0; k < digit.cells.size(); ++k) digit.cells[k] = std::sin(0.37 * double(k)) + 0.5;

  auto const layers = network();
  weights const w = first_weights();
  weights by_w = w;  // a copy, so that it has its memory
  cairn::chain const work =
      cairn::chain_probe<std::chrono::steady_clock>(layers, digit, 1.0, cairn::wrt{w, by_w});
  cairn::chain_planner planner{work};
  std::int64_t const all = planner.store_all_peak();
  std::printf("%lld layers, everything stored: %lld bytes\n", static_cast<long long>(work.stages()),
              static_cast<long long>(all));

  bool right = true;
  vector first, first_w;  // the gradient in the image and in the second layer's filters
  std::vector<cairn::action> fastest;
  std::string rows = support::curve_columns;
  for (int const percent : {100, 80, 65, 50}) {
    cairn::chain_plan plan;
    try {
      plan = planner.plan(all * percent / 100);
    } catch (cairn::infeasible_budget const& why) {
      std::printf("%3d %%  %s\n", percent, why.what());
      continue;
    }
    heap::mark const mark;
    image const bar = cairn::chain_gradient(layers, digit, plan, 1.0, cairn::wrt{w, by_w});
    auto const counted = static_cast<long long>(mark.rise());
    std::printf("%3d %%  %3lld runs of layers, %5.1f %% more time, peak %lld bytes planned, %lld counted\n", percent,
                static_cast<long long>(plan.cost.stage_runs),
                100.0 * double(plan.cost.extra_forward) / double(plan.cost.makespan - plan.cost.extra_forward),
                static_cast<long long>(plan.cost.peak), counted);
    if (first.empty()) first = bar.cells, first_w = by_w.filters[1], fastest = plan.actions;
    rows += support::curve_rows(std::to_string(percent) + " %",
                                samples_of(cairn::chain_memory_over(work, plan.actions)));
    right = right && counted == plan.cost.peak && plan.cost.peak <= plan.budget && bar.cells == first &&
            by_w.filters[1] == first_w;
  }

  if (support::wants_table(count)) support::write_table(words[1], rows);

  // By differences: the loss is state 14.
  auto const loss = [&](double change) {
    weights moved = w;
    moved.filters[1][5] += change;
    double value = 0;
    (void)cairn::chain_gradient(
        layers, digit, fastest, [&](double last) { return value = last, 1.0; }, cairn::wrt{moved, by_w});
    return value;
  };
  double const by_differences = (loss(1e-5) - loss(-1e-5)) / 2e-5;
  std::printf("d/d one weight: %.9g, by differences %.9g\n", first_w[5], by_differences);
  return right && std::abs(first_w[5] - by_differences) < 1e-6 * (1 + std::abs(by_differences)) ? 0 : 1;
}
