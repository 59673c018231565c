// SPDX-License-Identifier: Apache-2.0
// A solver that has its own idea of states and tapes, driven in blocks by callbacks: heat with a conductivity of 1 +
// u^2 on a mesh that is refined five times as it runs, so that late stages take thirty times the memory of early ones.
// Blocks of sqrt(n) stages do not know that; blocks cut for a budget do. The gradient has the bits of storing
// everything, and the solver's own count of bytes is what was predicted. `block_engine FILE.csv` writes these counts.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <map>
#include <numeric>
#include <utility>
#include <vector>

#include <cairn/run/block_executor.hpp>

#include "support/table_file.hpp"

using field = std::vector<double>;
using cairn::step_index;

constexpr step_index stages = 48;
constexpr bool refines(step_index i) { return i % 8 == 7 && i < 40; }

// Kept out of line so that each is compiled once, and the bits of two gradients can be compared.

/// Conductivities between the points.
[[gnu::noinline]] field conductivity(field const& u) {
  field k(u.size() - 1);
  for (std::size_t j = 0; j < k.size(); ++j) k[j] = 1 + (u[j] + u[j + 1]) * (u[j] + u[j + 1]) / 4;
  return k;
}
[[gnu::noinline]] field diffused(field const& u, field const& k) {
  field next = u;
  for (std::size_t j = 1; j + 1 < u.size(); ++j)
    next[j] += 0.1 * (k[j] * (u[j + 1] - u[j]) - k[j - 1] * (u[j] - u[j - 1]));
  return next;
}
[[gnu::noinline]] field diffused_adjoint(field const& u, field const& k, field const& bar) {
  field before = bar;
  for (std::size_t j = 0; j < k.size(); ++j) {
    double const left = j > 0 ? bar[j] : 0,
                 right = j + 2 < u.size() ? bar[j + 1] : 0;  // the end points stay as they are
    double const flux = 0.1 * (left - right), mean = flux * (u[j + 1] - u[j]) * (u[j] + u[j + 1]) / 2;
    before[j + 1] += flux * k[j] + mean;
    before[j] += mean - flux * k[j];
  }
  return before;
}
[[gnu::noinline]] field refined(field const& u) {
  field fine(2 * u.size() - 1);
  for (std::size_t j = 0; j < u.size(); ++j) fine[2 * j] = u[j];
  for (std::size_t j = 1; j < fine.size(); j += 2) fine[j] = (fine[j - 1] + fine[j + 1]) / 2;
  return fine;
}
[[gnu::noinline]] field refined_adjoint(field const& bar) {
  field coarse(bar.size() / 2 + 1);
  for (std::size_t j = 0; j < coarse.size(); ++j) coarse[j] = bar[2 * j];
  for (std::size_t j = 1; j < bar.size(); j += 2) coarse[j / 2] += bar[j] / 2, coarse[j / 2 + 1] += bar[j] / 2;
  return coarse;
}

/// The engine. It keeps what the callbacks ask it to keep, and counts the bytes of that; the initial state and its
/// adjoint do not count.
class solver {
 public:
  explicit solver(field initial) { states_[0] = std::move(initial); }

  void run_forward(step_index first, step_index last) {
    for (step_index i = first; i < last; ++i) {
      field const& u = states_.at(i);
      hold(states_[i + 1] = refines(i) ? refined(u) : diffused(u, conductivity(u)));
      if (i > first) let_go(states_, i);
    }
  }
  void run_recorded(step_index first, step_index last) {
    for (step_index i = first; i < last; ++i) {
      field const& u = state(i, first);
      if (!refines(i)) hold(conductivities_[i] = conductivity(u));
      hold(outputs_[i] = refines(i) ? refined(u) : diffused(u, conductivities_[i]));
    }
    if (last == stages) hold(bar_ = outputs_.at(stages - 1));  // the objective is half the sum of squares
  }
  void run_backward(step_index first, step_index last) {
    for (step_index i = last; i-- > first;) {
      field before =
          refines(i) ? refined_adjoint(bar_) : diffused_adjoint(state(i, first), conductivities_.at(i), bar_);
      if (i > 0) hold(before);
      live_ -= bytes(bar_);
      let_go(outputs_, i);
      if (!refines(i)) let_go(conductivities_, i);
      bar_ = std::move(before);
    }
    if (first > 0) let_go(states_, first);
  }
  [[nodiscard]] field const& gradient() const { return bar_; }
  [[nodiscard]] std::int64_t peak() const { return peak_; }

  static std::int64_t bytes(field const& u) { return std::int64_t(u.size() * sizeof(double)); }

 private:
  /// Inside a block, states live in the tapes.
  [[nodiscard]] field const& state(step_index i, step_index first) const {
    return i == first ? states_.at(i) : outputs_.at(i - 1);
  }
  void hold(field const& u) { peak_ = std::max(peak_, live_ += bytes(u)); }
  void let_go(std::map<step_index, field>& from, step_index i) {
    live_ -= bytes(from.at(i));
    from.erase(i);
  }

  std::map<step_index, field> states_, outputs_, conductivities_;
  field bar_;
  std::int64_t live_ = 0, peak_ = 0;
};

/// What the stages take: a number is eight bytes, and the time of a stage is that of its points.
cairn::chain solver_as_chain(std::size_t points) {
  cairn::chain c{.x = {}, .s = {}, .u = {}};
  for (step_index i = 0; i <= stages; ++i) {
    c.x.push_back(std::int64_t(points * sizeof(double)));
    c.b.push_back(i > 0 ? c.x.back() : 0);  // an adjoint is made beside the one that it is made from
    if (i == stages) break;
    std::size_t const links = points - 1;
    if (refines(i)) points = 2 * points - 1;
    c.s.push_back(std::int64_t((points + (refines(i) ? 0 : links)) * sizeof(double)));
    c.u.push_back(std::int64_t(points));
  }
  return c;
}

int main(int count, char** words) {
  field initial(33);
  for (std::size_t j = 0; j < initial.size(); ++j) initial[j] = std::sin(0.3 * double(j)) + 0.02 * double(j);
  auto const work = solver_as_chain(initial.size());

  solver everything{initial};
  everything.run_recorded(0, stages);
  everything.run_backward(0, stages);
  std::printf("everything stored: %lld bytes\n", static_cast<long long>(everything.peak()));

  bool good = true;
  double const forward_time = std::accumulate(work.u.begin(), work.u.end(), 0.0);
  cairn::block_executor executor;
  std::string peaks = "blocks,peak\nall stored," + std::to_string(everything.peak()) + "\n";
  auto const sweep = [&](char const* name, cairn::block_options const& options) {
    executor.configure(work, options);
    solver engine{initial};
    executor.backward({.run_forward = [&](step_index first, step_index last) { engine.run_forward(first, last); },
                       .run_backward = [&](step_index first, step_index last) { engine.run_backward(first, last); },
                       .run_recorded = [&](step_index first, step_index last) { engine.run_recorded(first, last); }});
    auto const& meta = executor.plan().meta();
    bool const same = engine.gradient() == everything.gradient(), as_predicted = engine.peak() == meta.peak_bytes;
    good = good && same && as_predicted;
    peaks += std::string{name} + "," + std::to_string(engine.peak()) + "\n";
    std::printf("%-20s %2lld blocks, %6lld bytes (%s), %5.1f %% more forward time, %s\n", name,
                static_cast<long long>(meta.num_blocks), static_cast<long long>(engine.peak()),
                as_predicted ? "as predicted" : "NOT AS PREDICTED", 100 * double(*meta.extra_forward) / forward_time,
                same ? "same bits" : "OTHER BITS");
  };
  sweep("blocks of sqrt(n)", {});
  sweep("two levels", {.levels = 2});
  for (std::int64_t const budget : {200'000, 100'000, 72'000, 1'000}) {
    char name[40];
    std::snprintf(name, sizeof name, "cut for %lld", static_cast<long long>(budget));
    sweep(name, {.budget = budget});
  }
  std::printf("%s\n", executor.notice());
  if (support::wants_table(count)) support::write_table(words[1], peaks);
  good = good && executor.notice()[0] != '\0';

  auto const objective = [](field u) {
    for (step_index i = 0; i < stages; ++i) u = refines(i) ? refined(u) : diffused(u, conductivity(u));
    double sum = 0;
    for (double const one : u) sum += one * one / 2;
    return sum;
  };
  field more = initial, less = initial;
  double const h = 1e-5;
  more[10] += h, less[10] -= h;
  double const difference = (objective(more) - objective(less)) / (2 * h);
  std::printf("by point 10: %.9g, by central differences %.9g\n", everything.gradient()[10], difference);
  return good && std::abs(difference - everything.gradient()[10]) <= 1e-7 * std::abs(difference) ? 0 : 1;
}
