// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file comparison.hpp  Time and memory of one shot's gradient against storing every field.

#include <sys/resource.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdio>
#include <cstring>
#include <vector>

#include <cairn/core/bytes.hpp>

#include "../support/counting.hpp"
#include "../support/planning.hpp"
#include "baseline.hpp"
#include "reversible_sweep.hpp"

namespace seismic {

/// Time in user code only, in seconds: other work of the machine does not count.
[[nodiscard]] inline double user_seconds() {
  rusage used{};
  getrusage(RUSAGE_SELF, &used);
  return double(used.ru_utime.tv_sec) + 1e-6 * double(used.ru_utime.tv_usec);
}

[[nodiscard]] inline double median(std::vector<double> values) {
  std::nth_element(values.begin(), values.begin() + std::ptrdiff_t(values.size() / 2), values.end());
  return values[values.size() / 2];
}

/// Prints a line for each plan, and one for the wave that runs backwards. Each ratio is a median over pairs of sweeps that take turns with the slab.
/// \returns whether every gradient had the slab's bits
template <class Real>
[[nodiscard]] bool compare(medium<Real> const& ground, survey<Real> const& plan, shot<Real> const& one,
                           cairn::wide budget, cairn::wide few_bytes, int pairs) {
  shot_loop<Real> const loop{ground.grid, cairn::step_index(plan.steps())};
  auto const cells = ground.grid.cells();
  std::vector<Real> flat(cells), found(cells);
  stored_sweep<Real> stored{ground, plan, flat};
  double stored_misfit = stored.run(one);  // touches the pages, as the first sweep of each plan does
  auto const timed = [](auto work) {
    auto const before = user_seconds();
    work();
    return user_seconds() - before;
  };
  auto const states = cairn::wide(loop.steps) * loop.workload(1).state_bytes;
  std::printf(
      "compare   one shot; a state of %zu bytes, all states %s, the flat slab of one field a step %s; user CPU, "
      "medians of %d "
      "interleaved pairs\n",
      std::size_t(loop.workload(1).state_bytes), cairn::to_short_text(states).c_str(),
      cairn::to_short_text(stored.slab_bytes()).c_str(), pairs);
  std::printf("  %-26s %6s %10s %10s %11s %10s %8s %8s %10s %5s\n", "plan", "ratio", "us a step", "slab", "spread",
              "bytes", "of all", "of slab", "runs/step", "bits");
  bool same_bits = true;
  auto const row = [&](char const* name, support::chosen_plan const& chosen) {
    sweeper<Real> sweep{ground, plan, found, chosen.schedule};
    double misfit = sweep.run(one);
    std::vector<double> ratios, mine, slab;
    for (int k = 0; k < pairs; ++k) {
      std::fill(flat.begin(), flat.end(), Real(0));
      std::fill(found.begin(), found.end(), Real(0));
      slab.push_back(timed([&] { stored_misfit = stored.run(one); }));
      mine.push_back(timed([&] { misfit = sweep.run(one); }));
      ratios.push_back(mine.back() / slab.back());
    }
    bool const same = misfit == stored_misfit && std::memcmp(flat.data(), found.data(), cells * sizeof(Real)) == 0;
    same_bits = same_bits && same;
    auto const [low, high] = std::minmax_element(ratios.begin(), ratios.end());
    auto const bytes = double(chosen.cost.peak_bytes), us = 1e6 / double(loop.steps);
    std::printf("  %-26s %6.3f %10.2f %10.2f %5.2f-%5.2f %10s %6.2f %% %6.2f %% %10.3f %5s\n", name, median(ratios),
                us * median(mine), us * median(slab), *low, *high, cairn::to_short_text(chosen.cost.peak_bytes).c_str(),
                100 * bytes / double(states), 100 * bytes / double(stored.slab_bytes()),
                double(chosen.cost.step_calls + loop.leaf_steps(chosen.schedule)) / double(loop.steps),
                same ? "same" : "DIFFER");
  };
  using support::schedule_kind;
  auto const asked = [&](char const* name, schedule_kind kind, std::int64_t leaf, cairn::wide bytes) {
    try {
      row(name, support::plan_within(loop, kind, leaf, bytes, "this shot"));
    } catch (support::wrong_usage const& problem) { std::printf("  %-26s left out: %s\n", name, problem.what()); }
  };
  asked("5 % of the states", schedule_kind::revolve, 0, few_bytes);
  asked("the same without leaves", schedule_kind::revolve, 1, few_bytes);
  asked("uniform without leaves", schedule_kind::uniform, 1, few_bytes);
  asked("the budget", schedule_kind::revolve, 0, budget);

  // Backwards from strips: not the slab's bits, but the same within rounding.
  support::forget_heap_peak();
  auto const before = support::heap().bytes;
  backward_sweeper<Real> backward{ground, plan, found, cairn::segments{loop.steps}};
  double misfit = backward.run(one);
  auto const peak = double(support::heap().peak - before), us = 1e6 / double(loop.steps);
  std::vector<double> ratios, mine, slab;
  for (int k = 0; k < pairs; ++k) {
    std::fill(flat.begin(), flat.end(), Real(0));
    std::fill(found.begin(), found.end(), Real(0));
    slab.push_back(timed([&] { stored_misfit = stored.run(one); }));
    mine.push_back(timed([&] { misfit = backward.run(one); }));
    ratios.push_back(mine.back() / slab.back());
  }
  auto const [low, high] = std::minmax_element(ratios.begin(), ratios.end());
  std::printf("  %-26s %6.3f %10.2f %10.2f %5.2f-%5.2f %10s %6.2f %% %6.2f %% %10.3f  drift %.1e\n", "backwards from strips",
              median(ratios), us * median(mine), us * median(slab), *low, *high,
              cairn::to_short_text(cairn::wide(peak)).c_str(), 100 * peak / double(states),
              100 * peak / double(stored.slab_bytes()), 2.0, backward.report().drift);
  return same_bits && std::abs(misfit - stored_misfit) <= 1e-3 * stored_misfit;
}

}  // namespace seismic
