// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file chain_runs.hpp  Chains of every form of stage, and plans for them, for runs on disk.
#include <cmath>
#include <cstddef>
#include <string>
#include <tuple>
#include <utility>
#include <vector>
#include <cairn/adapt/disk.hpp>
#include <cairn/chains.hpp>
#include "support/killed.hpp"

namespace chain_runs {

using cairn::action;
using cairn::step_index;
using numbers = std::vector<double>;
namespace act = cairn::chain_actions;

/// Stage i gives as many numbers as `out`; it uses the parameters i % 3 and 3.
[[gnu::noinline]] inline numbers run(numbers const& x, std::size_t out, double w, double c) {
  killed::tick();
  numbers y(out);
  for (std::size_t k = 0; k < out; ++k) y[k] = std::sin(w * x[k % x.size()] + c * x[(k + 1) % x.size()]);
  return y;
}
[[gnu::noinline]] inline numbers pull(numbers const& x, numbers const& bar, double w, double c, double& dw,
                                      double& dc) {
  killed::tick();
  numbers before(x.size());
  for (std::size_t k = 0; k < bar.size(); ++k) {
    std::size_t const i = k % x.size(), j = (k + 1) % x.size();
    double const slope = bar[k] * std::cos(w * x[i] + c * x[j]);
    before[i] += slope * w;
    before[j] += slope * c;
    dw += slope * x[i];
    dc += slope * x[j];
  }
  return before;
}

// The forms of stages. Their variables are numbers, which are a part of the run's name.
struct by_value {
  std::size_t out, k;
  [[nodiscard]] numbers forward(numbers const& x, numbers const& p) const { return run(x, out, p[k], p[3]); }
  [[nodiscard]] numbers backward(numbers const& x, numbers const& bar, numbers const& p, numbers& dp) const {
    return pull(x, bar, p[k], p[3], dp[k], dp[3]);
  }
};
struct with_output {
  std::size_t out, k;
  [[nodiscard]] numbers forward(numbers const& x, numbers const& p) const { return run(x, out, p[k], p[3]); }
  void backward(numbers const& x, numbers const& y, numbers& bar, numbers const& p, numbers& dp) const {
    bar = pull(x, bar, y.size() == out ? p[k] : 1e300, p[3], dp[k], dp[3]);
  }
};
struct tape {
  numbers output, half;
};
struct taped {
  std::size_t out, k;
  [[nodiscard]] numbers forward(numbers const& x, numbers const& p) const { return run(x, out, p[k], p[3]); }
  [[nodiscard]] tape record(numbers const& x, numbers const& p) const {
    return {run(x, out, p[k], p[3]), numbers(out / 2, p[k])};
  }
  [[nodiscard]] static numbers const& output(tape const& kept) { return kept.output; }
  [[nodiscard]] numbers backward(numbers const& x, tape const& kept, numbers bar, numbers const& p, numbers& dp) const {
    return pull(x, bar, kept.half == numbers(out / 2, p[k]) ? p[k] : 1e300, p[3], dp[k], dp[3]);
  }
};
struct whole_tape {
  numbers input, output;
};
struct self_contained {
  std::size_t out, k;
  [[nodiscard]] numbers forward(numbers const& x, numbers const& p) const { return run(x, out, p[k], p[3]); }
  [[nodiscard]] whole_tape record(numbers const& x, numbers const& p) const { return {x, run(x, out, p[k], p[3])}; }
  [[nodiscard]] static numbers const& output(whole_tape const& kept) { return kept.output; }
  [[nodiscard]] numbers backward(whole_tape& kept, numbers const& bar, numbers const& p, numbers& dp) const {
    numbers const x = std::move(kept.input);  // a tape may be used up
    return pull(x, bar, p[k], p[3], dp[k], dp[3]);
  }
};
/// States of other types: numbers with a text, and one number; their adjoints differ in type, too.
struct named {
  numbers v;
  std::string text;
};
struct names {
  [[nodiscard]] named forward(numbers const& x, numbers const& p) const {
    return {run(x, x.size(), p[0], p[3]), std::string(x.size(), 'x')};
  }
  [[nodiscard]] numbers backward(numbers const& x, numbers const& bar, numbers const& p, numbers& dp) const {
    return pull(x, bar, p[0], p[3], dp[0], dp[3]);
  }
};
struct sums_up {
  [[nodiscard]] double forward(named const& x, numbers const& p) const {
    killed::tick();
    double sum = 0;
    for (double const v : x.v) sum += p[1] * v * v;
    return sum + 0.01 * double(x.text.size());
  }
  [[nodiscard]] numbers backward(named const& x, double bar, numbers const& p, numbers& dp) const {
    killed::tick();
    numbers before;
    for (double const v : x.v) before.push_back(2 * p[1] * v * bar), dp[1] += bar * v * v;
    return before;
  }
};
struct spreads {
  std::size_t out;
  [[nodiscard]] numbers forward(double x, numbers const& p) const { return run({x, 0.5 * x}, out, p[2], p[3]); }
  [[nodiscard]] double backward(double x, numbers const& bar, numbers const& p, numbers& dp) const {
    numbers const before = pull({x, 0.5 * x}, bar, p[2], p[3], dp[2], dp[3]);
    return before[0] + 0.5 * before[1];
  }
};
/// One object for all stages.
struct numbered {
  [[nodiscard]] numbers forward(numbers const& x, numbers const& p, step_index i) const {
    return run(x, 3 + std::size_t(i % 4), p[std::size_t(i % 3)], p[3]);
  }
  [[nodiscard]] numbers backward(numbers const& x, numbers const& bar, numbers const& p, numbers& dp,
                                 step_index i) const {
    return pull(x, bar, p[std::size_t(i % 3)], p[3], dp[std::size_t(i % 3)], dp[3]);
  }
};

inline numbers seed(numbers const& x) {
  numbers bar(x.size());
  for (std::size_t k = 0; k < x.size(); ++k) bar[k] = 2 * x[k] - 0.5;
  return bar;
}
inline numbers const p{0.9, 0.4, 1.1, 0.3};
inline numbers const x0{0.7, 0.5, 0.3, 0.1};

template <class Stage>
std::vector<Stage> vector_of(step_index count) {
  std::vector<Stage> all;
  for (step_index i = 0; i < count; ++i) all.push_back({3 + std::size_t(i % 4), std::size_t(i % 3)});
  return all;
}
inline auto tuple_of_types() {
  return std::tuple{by_value{5, 0}, names{},              sums_up{},         spreads{4},
                    taped{6, 1},    self_contained{3, 2}, with_output{5, 0}, by_value{4, 1}};
}

struct answer {
  numbers bar, dp;
  bool operator==(answer const&) const = default;
};
template <class Stages, class Plan, class... Last>
answer sweep(Stages const& stages, Plan const& plan, Last&&... last) {
  answer found{{}, {7, 7, 7, 7}};
  found.bar = cairn::chain_gradient(stages, x0, plan, seed, cairn::wrt{p, found.dp}, last...);
  return found;
}

// Plans for `count` stages.

/// Everything is stored.
inline std::vector<action> stored_whole(step_index count) {
  std::vector<action> plan;
  for (step_index i = 0; i < count; ++i) plan.push_back(act::record(i));
  plan.push_back(act::turn(count));
  for (step_index i = count; i-- > 0;) plan.push_back(act::reverse(i));
  return plan;
}
/// Runs from state `from`, which is at hand, to state `to`.
inline void run_to(std::vector<action>& plan, step_index from, step_index to, bool keep_first) {
  for (step_index i = from; i < to; ++i) {
    plan.push_back(act::advance(i));
    if (i > from || !keep_first) plan.push_back(act::drop(i));
  }
}
/// Every `period`-th state is kept in memory until its adjoint is made; the others are made again, all tapes of a
/// period at once.
inline std::vector<action> persistent(step_index count, step_index period) {
  std::vector<action> plan;
  step_index const last = (count - 1) / period * period;
  for (step_index from = 0; from < last; from += period) run_to(plan, from, from + period, true);
  for (step_index from = last; from >= 0; from -= period) {
    step_index const to = from + period < count ? from + period : count;
    for (step_index i = from; i < to; ++i) plan.push_back(act::record(i));
    if (to == count) plan.push_back(act::turn(count));
    for (step_index i = to; i-- > from;) plan.push_back(act::reverse(i));
    if (from > 0) plan.push_back(act::drop(from));
  }
  return plan;
}
/// Nothing is kept: each state is made again from x0. States on the way live for a moment and come back.
inline std::vector<action> nothing_kept(step_index count) {
  std::vector<action> plan;
  run_to(plan, 0, count, true);
  plan.push_back(act::turn(count));
  for (step_index i = count; i-- > 0;) {
    run_to(plan, 0, i, true);
    plan.push_back(act::record(i));
    plan.push_back(act::reverse(i));
    if (i > 0) plan.push_back(act::drop(i));
  }
  return plan;
}
/// Every `period`-th state goes to disk, and others to the host; within a period each is made again.
inline std::vector<action> filed(step_index count, step_index period) {
  std::vector<action> plan;
  auto const where = [&](step_index i) { return i / period % 2 == 0 ? cairn::tier::host : cairn::tier::disk; };
  step_index const last = (count - 1) / period * period;
  for (step_index i = 0; i < count; ++i) {
    plan.push_back(act::advance(i));
    if (i > 0) plan.push_back(act::drop(i));
    if (i + 1 <= last && (i + 1) % period == 0) plan.push_back(act::save(i + 1, where(i + 1)));
  }
  plan.push_back(act::turn(count));
  for (step_index i = count; i-- > 0;) {
    step_index const from = i / period * period;
    if (from > 0) plan.push_back(act::load(from, where(from)));
    run_to(plan, from, i, from == 0);
    plan.push_back(act::record(i));
    plan.push_back(act::reverse(i));
    if (i > 0) plan.push_back(act::drop(i));
    if (i == from && i > 0) plan.push_back(act::drop(i, where(i)));
  }
  return plan;
}

}  // namespace chain_runs
