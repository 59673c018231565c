// SPDX-License-Identifier: Apache-2.0
// A run on disk on two threads: a diffusion of 1 MiB states, half of them in files. Wall clock, medians of sweeps that
// take turns, over the run on one thread; every gradient is compared bit for bit. Arguments: the number of rounds (9),
// and the folder of the files (disk_ahead.d in the present one).
#include "../../pairs.hpp"
#include <cmath>
#include <cstdio>
#include <string>
#include <vector>
#include <cairn/adapt/disk.hpp>
#include <cairn/adapt/disk/stored_runs.hpp>
#include <cairn/adapt/threads.hpp>
#include <cairn/cairn.hpp>
#include <cairn/schedule/multistage.hpp>

namespace {

using cairn::step_index;
using field = std::vector<float>;
constexpr std::size_t cells = std::size_t{1} << 18;
constexpr step_index steps = 400;

[[gnu::noinline]] void step(field const& from, field& to, step_index i) {
  float const* __restrict x = from.data();
  float* __restrict x1 = to.data();
  float const reaction = 1e-4f * float(i & 15);
  x1[0] = x[0], x1[cells - 1] = x[cells - 1];
  for (std::size_t k = 1; k + 1 < cells; ++k)
    x1[k] = x[k] + 0.2f * (x[k - 1] - 2 * x[k] + x[k + 1]) + reaction * x[k] * (1 - x[k]);
}
field scratch(cells);
[[gnu::noinline]] void back(field const& x, field& bar, step_index i) {
  float const reaction = 1e-4f * float(i & 15);
  auto const own = [&](std::size_t k) { return bar[k] * (0.6f + reaction * (1 - 2 * x[k])); };
  std::size_t const last = cells - 2;
  scratch[1] = own(1) + 0.2f * bar[2];
  for (std::size_t k = 2; k < last; ++k) scratch[k] = own(k) + 0.2f * bar[k - 1] + 0.2f * bar[k + 1];
  scratch[last] = own(last) + 0.2f * bar[last - 1];
  scratch[0] = bar[0] + 0.2f * bar[1], scratch[cells - 1] = bar[cells - 1] + 0.2f * bar[last];
  bar.swap(scratch);
}

struct way {
  char const* name;
  bool files;
  int threads;
  std::vector<double> seconds = {}, ratios = {};
  int alone = 0;  // sweeps whose helper was recalled
};

}  // namespace

int main(int count, char** words) {
  int const rounds = asked_times(count, words, 9, "rounds");
  std::string const folder = count > 2 ? words[2] : "disk_ahead.d";
  field x0(cells), wanted;
  for (std::size_t k = 0; k < cells; ++k) x0[k] = 0.5f + 0.4f * std::sin(0.01f * float(k));
  auto const seed = [](field const& x) { return x; };
  cairn::multistage const plan{{.steps = steps, .ram_slots = 12, .disk_slots = 12}};
  way ways[] = {{"on disk, one thread", true, 1}, {"on disk, two threads", true, 2},
                {"in memory, one thread", false, 1}, {"in memory, two threads", false, 2}};
  bool right = true;
  for (int k = 0; k <= rounds; ++k)
    for (way& each : ways) {
      cairn::sweep_report report;
      cairn::parallel const how{.threads = each.threads};
      field bar;
      double const took = timed(wall_seconds, [&] {
        if (each.files)
          bar = cairn::gradient(cairn::concurrent(step), x0, plan, seed, back, report, how,
                                cairn::disk{folder, {.key = cairn::key_of("ahead", k, each.threads)}});
        else bar = cairn::gradient(cairn::concurrent(step), x0, cairn::revolve{steps, 24}, seed, back, report, how);
      });
      if (wanted.empty()) wanted = bar;
      right = right && bar == wanted;
      if (k == 0) continue;  // files and threads are made for the first time
      each.seconds.push_back(took);
      each.ratios.push_back(took / ways[0].seconds.back());
      each.alone += each.threads > 1 && report.serial != nullptr;
    }
  std::printf("diffusion, %lld steps, states of 1 MiB, 12 in memory and 12 on disk, or 24 in memory; %s; %d rounds\n",
              static_cast<long long>(steps), CAIRN_BENCHMARK_FLAGS, rounds);
  for (way const& each : ways)
    std::printf("  %-24s %8.3f s %7.3f; %d sweeps had their helper recalled\n", each.name, median(each.seconds),
                median(each.ratios), each.alone);
  if (!right) std::puts("other bits");
  (void)cairn::remove_runs(folder, {.keep = 0, .really = true});
  std::remove(folder.c_str());
  return right ? 0 : 1;
}
