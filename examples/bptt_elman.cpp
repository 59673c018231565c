// SPDX-License-Identifier: Apache-2.0
// Back-propagation through time of an Elman network: 1,000 steps in the memory of 60 hidden states, spent on hidden
// states, on tapes of whole steps, or on both. A tape holds the hidden states before and after its step, so it takes
// two units, and restarts the loop.

#include <array>
#include <cmath>
#include <cstddef>
#include <cstdio>
#include <vector>

#include <cairn/cairn.hpp>
#include <cairn/run/check/check_adjoint.hpp>
#include <cairn/schedule/bptt.hpp>

constexpr std::size_t hidden = 8;
using vector = std::array<double, hidden>;

struct weights {
  std::array<vector, hidden> recurrent{};
  vector input{};
};

double signal(cairn::step_index i) { return std::sin(0.05 * double(i)); }

struct tape {
  vector before, after;
};

/// Compiled once, so that a step that is recorded has the bits of one that is run.
[[gnu::noinline]] void recur(vector& h, weights const& w, cairn::step_index i) {
  vector const before = h;
  for (std::size_t r = 0; r < hidden; ++r) {
    double sum = w.input[r] * signal(i);
    for (std::size_t c = 0; c < hidden; ++c) sum += w.recurrent[r][c] * before[c];
    h[r] = std::tanh(sum);
  }
}
/// by_w: the derivative with respect to the weights, summed up.
void recur_back(tape const& kept, vector& h_bar, weights const& w, weights& by_w, cairn::step_index i) {
  vector out{};
  for (std::size_t r = 0; r < hidden; ++r) {
    double const inner = h_bar[r] * (1 - kept.after[r] * kept.after[r]);
    by_w.input[r] += inner * signal(i);
    for (std::size_t c = 0; c < hidden; ++c) {
      by_w.recurrent[r][c] += inner * kept.before[c];
      out[c] += inner * w.recurrent[r][c];
    }
  }
  h_bar = out;
}

int main() {
  cairn::step_index const n = 1'000;
  weights w;
  for (std::size_t r = 0; r < hidden; ++r) {
    w.input[r] = std::cos(double(r));
    for (std::size_t c = 0; c < hidden; ++c) w.recurrent[r][c] = 0.5 * std::sin(double(3 * r + 5 * c + 1));
  }
  vector const h0{};
  auto const seed = [](vector const& h) { return h; };  // the derivative of |h_n|^2 / 2

  // The same adjoint for every plan: what a plan keeps is its own affair.
  long runs = 0;
  auto const step = [&runs](vector& h, weights const& by, cairn::step_index i) { ++runs, recur(h, by, i); };
  auto const record = [&runs](vector& h, weights const& by, cairn::step_index i) {
    ++runs;
    tape kept{h, {}};
    recur(h, by, i);
    kept.after = h;
    return kept;
  };
  auto const restart = [](tape const& kept) -> vector const& { return kept.after; };
  cairn::recorded const adjoint{record, recur_back, restart};

  weights by_w;
  auto const report = cairn::check_adjoint(
      [&w](vector& h, cairn::step_index i) { recur(h, w, i); },
      cairn::recorded{[&](vector& h, cairn::step_index i) { return record(h, w, i); },
                      [&](tape const& kept, vector& bar, cairn::step_index i) { recur_back(kept, bar, w, by_w, i); }},
      h0, n);
  std::printf("%s\n", report.text().c_str());
  bool right = report.passed();

  std::vector<double> sums;
  for (auto const keep : {cairn::bptt_keep::states, cairn::bptt_keep::tapes, cairn::bptt_keep::both}) {
    cairn::bptt const plan{n, 60, {.tape_units = 2, .keep = keep}};
    runs = 0;
    auto const h0_bar = cairn::gradient(step, h0, plan, seed, adjoint, cairn::wrt{w, by_w});
    double sum = 0;
    for (double const x : h0_bar) sum += x * x;
    for (double const x : by_w.input) sum += x * x;
    for (auto const& row : by_w.recurrent)
      for (double const x : row) sum += x * x;
    sums.push_back(sum);
    char const* const kept = keep == cairn::bptt_keep::states  ? "hidden states"
                             : keep == cairn::bptt_keep::tapes ? "tapes"
                                                               : "both";
    std::printf("%-13s  %ld runs of %lld steps, |gradient|^2 = %.17g\n", kept, runs, static_cast<long long>(n), sum);
    right = right && cairn::wide(runs) == plan.forward_steps();
  }
  return right && sums[0] == sums[1] && sums[0] == sums[2] ? 0 : 1;
}
