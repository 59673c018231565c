// SPDX-License-Identifier: Apache-2.0
// One shot of the seismic example with half of its states on disk, against the same plan in memory: time in commits,
// calls of the step, and the peak of the heap. Times are of the wall, because commits wait for the disk: medians over
// pairs of sweeps that take turns. After each pair as many bytes as those of its records are written and waited for, by
// themselves. Every gradient is compared bit for bit. Arguments: the number of pairs (9), and the folder of the files
// (disk_seismic.d in the present one).
#define CAIRN_EXAMPLE_DISK
#include "../../examples/seismic/disk_sweep.hpp"
#include "../../examples/seismic/inversion.hpp"
#include "../../examples/seismic/models.hpp"
#include "../../examples/support/counting.hpp"
#include "../../examples/support/on_disk.hpp"
#include "../pairs.hpp"
#include <algorithm>
#include <cstdio>
#include <cstring>
#include <fcntl.h>
#include <string>
#include <unistd.h>
#include <vector>
#include <cairn/adapt/disk.hpp>
#include <cairn/adapt/disk/stored_runs.hpp>
#include <cairn/cairn.hpp>
#include <cairn/core/bytes.hpp>

namespace {

using namespace seismic;

double now() { return wall_seconds(); }

/// Seconds to write and keep `count` times `bytes`, one after the other over the same file.
double bare_writes(std::string const& name, std::size_t bytes, long long count) {
  std::vector<char> const content(bytes, 1);
  double const before = now();
  int const file = ::open(name.c_str(), O_WRONLY | O_CREAT, 0600);
  for (long long k = 0; k < count; ++k)
    if (::pwrite(file, content.data(), bytes, 0) != ssize_t(bytes) || ::fdatasync(file) != 0)
      std::fprintf(stderr, "%s cannot be written\n", name.c_str());
  (void)::close(file);
  double const after = now();
  (void)::unlink(name.c_str());
  return after - before;
}

/// \returns whether bits, calls and bytes were right
bool measure(std::size_t nx, std::size_t nz, cairn::step_index steps, cairn::wide budget, int pairs,
             std::string const& folder) {
  grid g;
  g.nx = nx, g.nz = nz;
  survey<float> const plan{g, std::size_t(steps), 1, 10};
  auto const recorded = record_all(g, plan, true_model(g));
  medium<float> const ground{g, start_model(g)};
  shot<float> const one{plan.sources[0], &recorded[0]};
  shot_loop<float> const loop{g, steps};
  auto const in_memory = support::plan_within(loop, support::schedule_kind::revolve, 0, budget, "this shot");
  auto const on_disk = support::half_on_disk(loop, in_memory);
  auto const predicted = on_disk.cost.peak_bytes + disk_sweeper<float>::more_bytes(g, on_disk.schedule.slots());
  std::vector<float> expected(g.cells()), found(g.cells());
  sweeper<float> memory{ground, plan, expected, in_memory.schedule};
  double misfit = memory.run(one);
  bool right = true;
  std::size_t peak = 0;
  std::vector<double> seconds, commits, bare, shares, ratios;
  long long records = 0;
  for (int k = 0; k < pairs; ++k) {
    std::fill(expected.begin(), expected.end(), 0.0f);
    std::fill(found.begin(), found.end(), 0.0f);
    double const before = now();
    misfit = memory.run(one);
    double const between = now();
    support::forget_heap_peak();
    auto const held = support::heap().bytes;
    disk_sweeper<float> files{ground, plan, found, on_disk.schedule, folder, "pair " + std::to_string(k)};
    double const same_misfit = files.run(one);
    double const after = now();
    peak = std::max(peak, support::heap().peak - held);
    auto const& told = files.report();
    right = right && told.used == cairn::disk_use::nothing && told.step_calls == on_disk.cost.step_calls &&
            same_misfit == misfit && std::memcmp(found.data(), expected.data(), g.cells() * sizeof(float)) == 0;
    seconds.push_back(after - between);
    commits.push_back(told.commit_seconds);
    shares.push_back(100 * told.commit_seconds / (after - between));
    ratios.push_back((after - between) / (between - before));
    records = told.commits;
    bare.push_back(bare_writes(folder + "/bare", told.record_bytes / std::uint64_t(std::min(records, 2LL)), records));
    (void)cairn::remove_runs(folder, {.keep = 0, .really = true});
  }
  right = right && peak <= predicted;
  auto const [least, most] = std::minmax_element(shares.begin(), shares.end());
  std::printf("%4zux%-4zu %6lld %7lld of %-4lld %9.3f %8.2f %7.2f %7lld ", nx, nz, static_cast<long long>(steps),
              static_cast<long long>(on_disk.schedule.slots() / 2), static_cast<long long>(on_disk.schedule.slots()),
              median(seconds), 1e3 * median(commits), 1e3 * median(bare), records);
  std::printf("%6.3f %5.3f-%-5.3f %6.3f %9llu %10zu %10llu %5s\n", median(shares), *least, *most, median(ratios),
              static_cast<unsigned long long>(on_disk.cost.step_calls), peak,
              static_cast<unsigned long long>(predicted), right ? "ok" : "WRONG");
  return right;
}

}  // namespace

int main(int count, char** words) {
  int const pairs = asked_times(count, words, 9, "pairs of timings");
  std::string const folder = count > 2 ? words[2] : "disk_seismic.d";
  std::printf("half of the states on disk; seconds of a sweep, ms of it in commits, and of as many bare writes; "
              "commits in %%: median and range; over the same in memory\n");
  std::printf("%9s %6s %15s %9s %8s %7s %7s %6s %11s %6s %9s %10s %10s\n", "cells", "steps", "slots on disk", "sweep s",
              "commits", "bare", "records", "%", "range", "ratio", "calls", "heap", "predicted");
  bool right = measure(256, 128, 2'500, 8 << 20, pairs, folder);
  right = measure(512, 256, 4'000, 32 << 20, pairs, folder) && right;
  std::remove(folder.c_str());
  return right ? 0 : 1;
}
