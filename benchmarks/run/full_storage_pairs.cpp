// SPDX-License-Identifier: Apache-2.0
// All states fit: `differentiate` within a budget above all of them, against a loop written by hand that stores into one
// fresh vector of states. Both allocate all that they take in each call. Medians of interleaved pairs of CPU times,
// system included, because fresh memory is the system's work.
#include "../pairs.hpp"
#include <cmath>
#include <cstdio>
#include <vector>
#include <cairn/cairn.hpp>
#include <cairn/core/bytes.hpp>

namespace {

using cairn::step_index;
using field = std::vector<double>;

[[gnu::noinline]] void step(double* x, double p, std::size_t cells, step_index i) {
  double left = x[0];
  for (std::size_t k = 1; k + 1 < cells; ++k) {
    double const here = x[k];
    x[k] += p * (left - 2 * here + x[k + 1]) + 1e-4 * double(i & 15) * here * (1 - here);
    left = here;
  }
}
[[gnu::noinline]] void back(double const* x, double* bar, double p, double& dp, std::size_t cells, step_index i) {
  double const rate = 1e-4 * double(i & 15);
  double before = 0, sum = 0;  // the adjoint of the cell on the left, as it was
  for (std::size_t k = 0; k < cells; ++k) {
    double const own = bar[k], right = k + 2 < cells ? bar[k + 1] : 0;
    bool const inside = k > 0 && k + 1 < cells;
    double next = p * (before + right) + own;
    if (inside) {
      next += own * (-2 * p + rate * (1 - 2 * x[k]));
      sum += own * (x[k - 1] - 2 * x[k] + x[k + 1]);
    }
    bar[k] = next;
    before = inside ? own : 0;
  }
  dp += sum;
}

bool row(std::size_t cells, step_index n, int pairs) {
  field x0(cells);
  for (std::size_t k = 0; k < cells; ++k) x0[k] = 0.5 + 0.4 * std::sin(0.01 * double(k));
  double const p = 0.2;
  auto const by_hand = [&] {
    std::vector<field> states;
    states.reserve(std::size_t(n) + 1);
    states.push_back(x0);
    for (step_index i = 0; i < n; ++i) {
      states.push_back(states.back());
      step(states.back().data(), p, cells, i);
    }
    field bar(cells);
    double dp = 0;
    for (std::size_t k = 0; k < cells; ++k) bar[k] = 2 * states.back()[k];
    for (step_index i = n; i-- > 0;) back(states[std::size_t(i)].data(), bar.data(), p, dp, cells, i);
    bar.push_back(dp);
    return bar;
  };
  cairn::model const loop{[](field& x, double q, step_index i) { step(x.data(), q, x.size(), i); },
                          [](field const& x, field& bar, double q, double& dq, step_index i) {
                            back(x.data(), bar.data(), q, dq, x.size(), i);
                          }};
  auto const f = cairn::at_end(
      [](field const& x) {
        double sum = 0;
        for (double const v : x) sum += v * v;
        return sum;
      },
      [](field const& x, field& bar) {
        for (std::size_t k = 0; k < x.size(); ++k) bar[k] += 2 * x[k];
      });
  auto const by_cairn = [&] {
    auto found = cairn::differentiate(loop, x0, p, cairn::budget_of{n, "8GiB"}, f);
    found.state.push_back(found.params);
    return found.state;
  };
  bool same = by_hand() == by_cairn();
  paired_times const times{pairs, thread_seconds, [&] { same = by_hand().size() == cells + 1 && same; },
                           [&] { same = by_cairn().size() == cells + 1 && same; }};
  auto const [low, high] = times.spread();
  std::printf("%8zu %8lld %10.3f %10.3f %8.3f %6.3f-%5.3f %7s\n", cells, (long long)n, 1e3 * median(times.own),
              1e3 * median(times.base), median(times.ratios), low, high, same ? "same" : "DIFFER");
  return same;
}

}  // namespace

int main(int argc, char** argv) {
  int const pairs = asked_times(argc, argv, 9, "pairs of timings");
  std::printf("differentiate within a budget above all states, %s: CPU against a loop by hand, medians of %d pairs\n",
              CAIRN_BENCHMARK_FLAGS, pairs);
  std::printf("%8s %8s %10s %10s %8s %12s %7s\n", "cells", "steps", "ms", "by hand", "ratio", "spread", "bits");
  bool same = true;
  for (auto const& [cells, n] : {std::pair{std::size_t{16}, step_index{100'000}}, {std::size_t{100}, step_index{10'000}},
                                 {std::size_t{4'096}, step_index{2'000}}, {std::size_t{65'536}, step_index{200}}})
    same = row(cells, n, pairs) && same;
  return same ? 0 : 1;
}
