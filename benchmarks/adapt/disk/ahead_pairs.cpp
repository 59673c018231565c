// SPDX-License-Identifier: Apache-2.0
// A run on disk on two threads: a diffusion of 1 MiB states, half of them in files. Wall clock, medians of sweeps that
// take turns, over the run on one thread; every gradient is compared bit for bit. Arguments: the number of rounds (9),
// and the folder of the files (disk_ahead.d in the present one).
#include "../../pairs.hpp"
#include "../diffusion.hpp"
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
constexpr step_index steps = 400;

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
  diffusion model{std::size_t{1} << 18};
  field const x0 = model.begin();
  field wanted;
  auto const step = [&](field const& x, field& x1, step_index i) { model.step(x.data(), x1.data(), i); };
  auto const back = [&](field const& x, field& bar, step_index i) { model.adjoint(x.data(), bar, i); };
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
