// SPDX-License-Identifier: Apache-2.0
/// \file seismic.cpp  Full-waveform inversion in a small memory: finds the velocity of a 2-D acoustic medium from
/// recorded traces, and checks everything that was predicted. The traces are synthetic: the same program makes them
/// from a model of its own, without noise and with the very scheme that inverts them. This shows adjoint and memory,
/// not what can be learnt of real ground.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <optional>
#include <string>
#include <system_error>
#include <vector>

#include <cairn/cairn.hpp>
#include <cairn/core/bytes.hpp>
#include <cairn/trace/progress.hpp>

#include "../support/checks.hpp"
#include "../support/child.hpp"
#include "../support/counting.hpp"
#include "../support/plan_pictures.hpp"
#include "../support/planning.hpp"
#include "../support/program.hpp"
#include "baseline.hpp"
#include "comparison.hpp"
#ifdef CAIRN_EXAMPLE_DISK
#include "disk_sweep.hpp"
#endif
#include "inversion.hpp"
#include "models.hpp"
#include "optimiser.hpp"
#include "options.hpp"
#include "pictures.hpp"
#include "taylor.hpp"

namespace seismic {
namespace {

constexpr double hertz = 10;

[[nodiscard]] std::string size(cairn::wide bytes) { return cairn::to_short_text(bytes).c_str(); }
[[nodiscard]] std::string exact(cairn::wide number) { return std::to_string(std::uint64_t(number)); }
[[nodiscard]] std::string fixed(double value, char const* format) {
  char text[48];
  std::snprintf(text, sizeof text, format, value);
  return text;
}

/// \throws wrong_usage where the receivers at depth would hear nothing
[[nodiscard]] grid grid_of(options const& chosen) {
  grid g;
  g.nx = chosen.nx;
  g.nz = chosen.nz;
  g.rim = std::min<std::size_t>(20, std::min(g.nx, g.nz) / 5);
  auto const least =
      std::int64_t(std::ceil((2 / hertz + double(g.nz) * g.cell / 2000) / g.dt));  // the whole wavelet, straight down
  if (chosen.steps < least)
    throw wrong_usage{"--steps is " + std::to_string(chosen.steps) + ", but a wave needs " + std::to_string(least) +
                      " to cross this grid; give that many, or a smaller --grid"};
  return g;
}

void make_folder(std::string const& name) {
  std::error_code problem;
  std::filesystem::create_directories(name, problem);
  if (problem)
    throw wrong_usage{"--out " + name + " cannot be made (" + problem.message() +
                      "); give the name of a folder that can be"};
}

void describe(options const& chosen, shot_loop<float> const& loop, survey<float> const& plan,
              chosen_plan const& planned, cairn::wide budget) {
  auto const state = loop.workload(1).state_bytes;
  auto const leaf = planned.schedule.leaf();
  auto const run_again = loop.leaf_steps(planned.schedule);
  std::printf("traces    SYNTHETIC: made by this program from a model of its own, without noise\n");
  std::printf("medium    %zu x %zu cells of %.0f m, %zu of them at each side damp; %s steps of %.0f ms\n", chosen.nx,
              chosen.nz, loop.grid.cell, loop.grid.rim, exact(cairn::wide(loop.steps)).c_str(), 1e3 * loop.grid.dt);
  std::printf("survey    %zu shots, Ricker of %.0f Hz, %zu receivers\n", plan.sources.size(), hertz,
              plan.receivers.size());
  std::printf("state     pressure at two times, %s bytes; every state of a shot %s\n", exact(state).c_str(),
              size(state * cairn::wide(loop.steps)).c_str());
  std::printf("plan      %s: %s slots, %s step%s run again and reversed by one call of the adjoint\n",
              name_of(chosen.plan), exact(cairn::wide(planned.schedule.slots())).c_str(),
              exact(cairn::wide(leaf)).c_str(), leaf == 1 ? "" : "s");
  if (!chosen.disk.empty())
    std::printf("disk      %s slots are files in %s\n", exact(cairn::wide(planned.schedule.slots() / 2)).c_str(),
                chosen.disk.c_str());
  std::printf("estimate  %s at the peak within %s, %s step calls a shot and %s steps in leaves (%.3f runs a step)\n",
              size(planned.cost.peak_bytes).c_str(), size(budget).c_str(), exact(planned.cost.step_calls).c_str(),
              exact(run_again).c_str(), double(planned.cost.step_calls + run_again) / double(loop.steps));
}

/// What was seen of an inversion.
struct inversion {
  std::vector<double> velocity, misfits;  ///< misfits: of the start and after each iteration
  std::vector<float> first_sensitivity;
  double first_misfit = 0;
  std::size_t counted_peak = 0;
  std::int64_t warm_allocations = 0;  ///< by sweeps after the first
  bool calls_as_predicted = true;
  int sweeps = 0;
  int finished = 0, went_on = 0;  ///< of these: by an earlier process, and with what one had begun
  bool first_went_on = false;
};

/// \param make_sweep  `make_sweep(ground, sensitivity)` returns a sweeper
template <class Make>
[[nodiscard]] inversion invert(grid const& g, survey<float> const& plan, std::vector<traces<float>> const& recorded,
                               std::vector<double> const& start, chosen_plan const& planned, int iterations,
                               wanted_progress const& asked, Make const& make_sweep) {
  inversion seen;
  seen.velocity = start;
  medium<float> ground{g, start};
  std::vector<float> sensitivity(g.cells());
  numbers slope(g.cells()), change(g.cells()), velocity(g.cells()), by_change(g.cells());
  auto const weight = freedom(g);

  std::optional<cairn::progress> shown;
  if (asked) shown.emplace(planned.schedule, asked.options("sweep", 0));  // a line search asks for as many as it needs
  forget_heap_peak();
  auto const before = heap().bytes;
  auto sweep = make_sweep(ground, sensitivity);
  auto const swept = [&](shot<float> const& one) {
    auto const allocations = heap().allocations;
    auto const misfit = shown ? sweep.run(one, *shown) : sweep.run(one);
    // Between the sweeps the optimiser allocates; during the first sweep nothing else does, and the later ones must
    // take nothing.
    if (seen.sweeps++ == 0) seen.counted_peak = heap().peak - before;
    else seen.warm_allocations += heap().allocations - allocations;
    bool all_of_it = true;
#ifdef CAIRN_EXAMPLE_DISK
    if constexpr (requires { sweep.report(); }) {
      auto const& told = sweep.report();
      all_of_it = told.used == cairn::disk_use::nothing;
      seen.finished += told.resumed_at == 0;
      seen.went_on += !all_of_it && told.resumed_at != 0;
      seen.first_went_on = seen.first_went_on || (!all_of_it && seen.sweeps == 1);
      if (!all_of_it && told.resumed_at != 0)
        std::printf("disk      sweep %d: %s\n", seen.sweeps, what_was_used(told).c_str());
    }
#endif
    if (all_of_it)
      seen.calls_as_predicted = seen.calls_as_predicted && sweep.step_calls() == planned.cost.step_calls;
    return misfit;
  };
  auto const objective = [&](numbers const& y, numbers& by_y) {
    for (std::size_t k = 0; k < y.size(); ++k) velocity[k] = start[k] + weight[k] * y[k];
    auto const misfit = evaluate(ground, plan, recorded, velocity, sensitivity, slope, swept);
    for (std::size_t k = 0; k < y.size(); ++k) by_y[k] = weight[k] * slope[k];
    return misfit;
  };

  double misfit = seen.first_misfit = objective(change, by_change);
  seen.first_sensitivity = sensitivity;
  seen.misfits.push_back(misfit);
  if (shown) shown->wipe();
  std::printf("start     misfit %.6g\n", misfit);
  lbfgs optimiser;
  for (int k = 1; k <= iterations; ++k) {
    auto const clock = user_seconds();
    if (!optimiser.step(change, misfit, by_change, 40, objective)) {
      if (shown) shown->wipe();
      std::printf("no lower misfit along the search direction; stopped\n");
      break;
    }
    seen.misfits.push_back(misfit);
    if (shown) shown->wipe();
    std::printf("step %-4d misfit %.6g, %.2f %% of the start, %.2f s\n", k, misfit, 100 * misfit / seen.misfits.front(),
                user_seconds() - clock);
  }
  for (std::size_t k = 0; k < change.size(); ++k) seen.velocity[k] = start[k] + weight[k] * change[k];
  return seen;
}

/// Whether storing every field, in a child process whose memory does not count here, gives the first gradient's bits.
/// \param shot_by_shot  whether each shot has a sum of its own first, as on disk
[[nodiscard]] bool same_as_stored(grid const& g, survey<float> const& plan, std::vector<traces<float>> const& recorded,
                                  std::vector<double> const& start, inversion const& seen, bool shot_by_shot) {
  auto const sent = run_in_child([&] {
    medium<float> ground{g, start};
    std::vector<float> sensitivity(g.cells());
    numbers slope(g.cells());
    std::vector<float> of_shot(shot_by_shot ? g.cells() : 0);  // sums are rounded in the order in which they are made
    stored_sweep<float> stored{ground, plan, shot_by_shot ? of_shot : sensitivity};
    double const misfit = evaluate(ground, plan, recorded, start, sensitivity, slope, [&](shot<float> const& one) {
      std::fill(of_shot.begin(), of_shot.end(), 0.0f);
      double const found = stored.run(one);
      for (std::size_t k = 0; k < of_shot.size(); ++k) sensitivity[k] += of_shot[k];
      return found;
    });
    std::vector<std::byte> bytes(sizeof misfit + sensitivity.size() * sizeof(float));
    std::memcpy(bytes.data(), &misfit, sizeof misfit);
    std::memcpy(bytes.data() + sizeof misfit, sensitivity.data(), sensitivity.size() * sizeof(float));
    return bytes;
  });
  auto const length = seen.first_sensitivity.size() * sizeof(float);
  if (!sent || sent->size() != sizeof(double) + length) return false;
  double misfit = 0;
  std::memcpy(&misfit, sent->data(), sizeof misfit);
  return misfit == seen.first_misfit &&
         std::memcmp(sent->data() + sizeof misfit, seen.first_sensitivity.data(), length) == 0;
}

/// In double precision, where the remainder is not rounding: the misfit of one shot along a smooth change of the
/// velocity.
[[nodiscard]] double taylor_test(options const& chosen, grid const& g, std::vector<double> const& start) {
  survey<double> const plan{g, std::size_t(chosen.steps), 1, hertz};
  auto const recorded = record_all(g, plan, true_model(g));
  medium<double> ground{g, start};
  std::vector<double> sensitivity(g.cells());
  numbers slope(g.cells()), along(g.cells()), moved(g.cells());
  shot_loop<double> const loop{g, chosen.steps};
  auto const budget =
      2 * cairn::wide(chosen.budget.count());  // the same number of states, whose numbers are twice as long
  sweeper<double> sweep{ground, plan, sensitivity,
                        plan_within(loop, chosen.plan, chosen.leaf, budget, "the Taylor test").schedule};
  auto const misfit = evaluate(ground, plan, recorded, start, sensitivity, slope,
                               [&](shot<double> const& one) { return sweep.run(one); });
  for (std::size_t k = 0; k < along.size(); ++k) {
    std::size_t const x = k % g.nx, z = k / g.nx;
    along[k] = std::sin(0.11 * double(x)) * std::cos(0.07 * double(z)) + 0.3;
  }
  return taylor_slope(misfit, dot(slope, along), 0.5, 4, [&](double h) {
    for (std::size_t k = 0; k < moved.size(); ++k) moved[k] = start[k] + h * along[k];
    ground.set(moved);
    return misfit_between(record(ground, plan, plan.sources[0]), recorded[0]);
  });
}

/// All pictures of a run go through here.
void write_pictures(std::string const& folder, grid const& g, survey<float> const& plan,
                    std::vector<traces<float>> const& recorded, std::vector<double> const& start,
                    inversion const& seen) {
  auto const model = true_model(g);
  auto const [low, high] = std::minmax_element(model.begin(), model.end());
  scale const ground{"distance / m", "depth / m", "velocity / (m/s)", double(g.nx) * g.cell, double(g.nz) * g.cell,
                     *low,           *high};
  write_file(folder + "/model.svg",
             to_svg({{"true model, which made the synthetic traces", g.nx, g.nz, model},
                     {"before: start model", g.nx, g.nz, start},
                     {"after: iteration " + std::to_string(seen.misfits.size() - 1), g.nx, g.nz, seen.velocity}},
                    ground));

  // Of the first shot, the receivers at depth, every few milliseconds.
  auto const count = plan.receivers.size() / 2, stride = std::max<std::size_t>(1, plan.steps() / 250);
  auto const rows = (plan.steps() + stride - 1) / stride;
  auto const drawn = [&](auto value) {
    std::vector<double> values;
    for (std::size_t row = 0; row < rows; ++row)
      for (std::size_t r = 0; r < count; ++r)
        values.push_back(double(value(row * stride * plan.receivers.size() + 2 * r + 1)));
    return values;
  };
  auto const& heard = recorded.front();
  auto const first = record(medium<float>{g, start}, plan, plan.sources[0]);
  auto const last = record(medium<float>{g, seen.velocity}, plan, plan.sources[0]);
  std::vector<panel> const panels{
      {"recorded (synthetic), shot 1, receivers at depth", count, rows, drawn([&](std::size_t k) { return heard[k]; })},
      {"residual before", count, rows, drawn([&](std::size_t k) { return first[k] - heard[k]; })},
      {"residual after", count, rows, drawn([&](std::size_t k) { return last[k] - heard[k]; })}};
  double loudest = 1e-30;
  for (double const v : panels[0].values) loudest = std::max(loudest, std::abs(v));
  write_file(folder + "/residuals.svg",
             to_svg(panels, {"receiver line / m", "time / s", "relative pressure", 4 * g.cell * double(count),
                             double(plan.steps()) * g.dt, -loudest / 2, loudest / 2, true}));
  std::printf("pictures  %s/model.svg, %s/residuals.svg\n", folder.c_str(), folder.c_str());
}

/// \returns whether every check was passed
bool run(options const& chosen) {
  auto const g = grid_of(chosen);
  if (!chosen.out.empty()) make_folder(chosen.out);
  auto const budget = cairn::wide(chosen.budget.count());
  survey<float> const plan{g, std::size_t(chosen.steps), std::size_t(chosen.shots), hertz};
  shot_loop<float> const loop{g, chosen.steps};
  auto planned = plan_within(loop, chosen.plan, chosen.leaf, budget, "a shot of this size");
#ifdef CAIRN_EXAMPLE_DISK
  if (!chosen.disk.empty()) planned = half_on_disk(loop, planned);
#endif
  describe(chosen, loop, plan, planned, budget);

  auto const start = start_model(g);
  auto const truth = true_model(g);
  auto const recorded = record_all(g, plan, truth);
  auto const inverted = [&](auto const& make_sweep) {
    return invert(g, plan, recorded, start, planned, chosen.iterations, chosen.progress, make_sweep);
  };
  bool const on_disk = !chosen.disk.empty();
#ifdef CAIRN_EXAMPLE_DISK
  std::string const traces_key = cairn::key_of(recorded);
#endif
  auto const seen = [&] {
#ifdef CAIRN_EXAMPLE_DISK
    if (on_disk)
      return inverted([&](medium<float>& ground, std::vector<float>& sensitivity) {
        return disk_sweeper<float>{ground, plan, sensitivity, planned.schedule, chosen.disk, traces_key};
      });
#endif
    return inverted([&](medium<float>& ground, std::vector<float>& sensitivity) {
      return sweeper<float>{ground, plan, sensitivity, planned.schedule};
    });
  }();
  auto const off = [&](std::vector<double> const& velocity) {
    auto const weight = freedom(g);
    double sum = 0, cells = 0;
    for (std::size_t k = 0; k < truth.size(); ++k) {
      sum += weight[k] * (velocity[k] - truth[k]) * (velocity[k] - truth[k]);
      cells += weight[k];
    }
    return std::sqrt(sum / cells);
  };
  std::printf(
      "model     differs from the true one by %.1f m/s (root mean square, where it may change), at the start by %.1f\n",
      off(seen.velocity), off(start));
  if (!chosen.out.empty()) {
    write_pictures(chosen.out, g, plan, recorded, start, seen);
    support::write_plan_pictures(chosen.out + "/plan", loop, chosen.plan, planned.schedule);
  }
  bool same_bits = true;
  if (chosen.compare > 0) {
    medium<float> const ground{g, start};
    auto const few = loop.workload(1).state_bytes * cairn::wide(loop.steps) / 20;
    same_bits = compare(ground, plan, shot<float>{plan.sources[0], &recorded[0]}, budget, few, chosen.compare);
  }

  std::printf("checks\n");
  checks list;
  list.add("gradient", same_as_stored(g, plan, recorded, start, seen, on_disk) && same_bits,
           "bit for bit that of storing every field, over all shots");
  auto const slope = taylor_test(chosen, g, start);
  list.add("taylor", std::abs(slope - 2) <= 0.1,
           "the misfit's linear model errs with power " + fixed(slope, "%.3f") + " of the change of velocity");
  auto most = planned.cost.peak_bytes;
#ifdef CAIRN_EXAMPLE_DISK
  if (on_disk) most += disk_sweeper<float>::more_bytes(g, planned.schedule.slots());
#endif
  if (seen.first_went_on) most += 2 * loop.workload(1).state_bytes;  // the old adjoint, and one at the seam
  list.add("bytes", on_disk ? seen.counted_peak <= most : seen.counted_peak == most,
           "counted " + exact(seen.counted_peak) + ", predicted " + (on_disk ? "at most " : "") + exact(most));
  list.add("step_calls", seen.calls_as_predicted,
           "in each of " + std::to_string(seen.sweeps - seen.finished - seen.went_on) + " sweeps the " +
               exact(planned.cost.step_calls) + " predicted");
  if (!on_disk)  // files need names
    list.add("allocations", seen.warm_allocations == 0,
             std::to_string(seen.warm_allocations) + " by the sweeps after the first");
  bool falls = seen.misfits.size() > 1;
  for (std::size_t k = 1; k < seen.misfits.size(); ++k) falls = falls && seen.misfits[k] < seen.misfits[k - 1];
  list.add("misfit", falls,
           "fell in every iteration, to " + fixed(100 * seen.misfits.back() / seen.misfits.front(), "%.2f %%") +
               " of the start");
  if (on_disk)
    std::printf("disk      an earlier process had finished %d sweeps of %d and begun %d; the bits of the model %s\n",
                seen.finished, seen.sweeps, seen.went_on, bits_of(seen.velocity).c_str());
  return list.all_kept();
}

}  // namespace
}  // namespace seismic

int main(int count, char** words) {
  return support::run_program("cairn_seismic", seismic::usage, count, words, seismic::parse_options, seismic::run);
}
