// SPDX-License-Identifier: Apache-2.0
// A store behind the sweep against the virtual clock of `overlapped`: steps, adjoints and transfers take a known time
// each, so that a machine with other work shows the same. Medians of sweeps by the clock of the wall; every gradient is
// compared with that of all states in memory.
#include "../pairs.hpp"
#include <chrono>
#include <cstdio>
#include <map>
#include <thread>
#include <utility>
#include <vector>
#include <cairn/cairn.hpp>
#include <cairn/plan/loop/overlap.hpp>
#include <cairn/planning.hpp>
#include <cairn/store/behind.hpp>
#include <cairn/store/tiered.hpp>

namespace {

using cairn::step_index;
using state = std::vector<double>;

/// Asleep until so many seconds have passed, busy at the end, so that other programs on the machine hardly matter.
void take(double seconds) {
  double const end = wall_seconds() + seconds;
  if (seconds > 2e-4) std::this_thread::sleep_for(std::chrono::duration<double>(seconds - 1e-4));
  while (wall_seconds() < end) {}
}

/// Keeps copies, and takes its time.
struct far_store {
  double write_seconds = 0, read_seconds = 0;
  std::map<cairn::slot_index, state> slots = {};
  void begin(cairn::slot_index) { slots.clear(); }
  void save(auto& frames, cairn::place where, step_index, cairn::frame_id k) {
    take(write_seconds);
    slots[where.slot] = frames.state(k);
  }
  cairn::frame_id load(auto& frames, cairn::place where, step_index) {
    take(read_seconds);
    auto const k = frames.take();
    if (auto* const old = frames.reusable(k)) *old = slots.at(where.slot);
    else frames.emplace(k, state(slots.at(where.slot)));
    return k;
  }
  void drop(auto&, cairn::place where) { slots.erase(where.slot); }
};

constexpr double step_seconds = 1e-3, adjoint_seconds = 2e-3;

template <class Plan>
bool row(char const* name, Plan const& plan, double share, int rounds) {
  auto const step = [](state& x, step_index i) {
    take(step_seconds);
    x[0] += 0.01 * x[1] * double(i % 5), x[1] *= 1.001;
  };
  auto const back = [](state const& x, state& bar, step_index i) {
    take(adjoint_seconds);
    bar[1] = 1.001 * bar[1] + 0.01 * bar[0] * double(i % 5) + 0 * x[0];
  };
  state const x0{1, 2}, seed{1, 1};
  cairn::workload work{.state_bytes = 64, .step_seconds = step_seconds, .adjoint_seconds = adjoint_seconds};
  auto const expected = cairn::gradient(step, x0, cairn::in_memory{plan}, seed, back);
  auto const counts = cairn::estimate(plan, work).counts.on(cairn::tier::disk);
  double const computing = cairn::overlapped(plan, work).computing;
  double const each = share * computing / double(counts.saves + counts.loads);
  work.tiers.disk = {each, each, cairn::unlimited_bytes};
  auto const clock = cairn::overlapped(plan, work);
  double const bound = std::max(clock.computing, clock.transfers), waits = cairn::estimate(plan, work).seconds;
  far_store far{each, each};
  auto behind = cairn::behind_for<state>(far);
  cairn::tiered store{cairn::memory_store{}, behind};
  std::vector<double> times;
  bool same = true;
  for (int k = 0; k < rounds; ++k) {
    times.push_back(
        timed(wall_seconds, [&] { same = cairn::gradient(step, x0, plan, seed, back, store) == expected && same; }));
  }
  std::printf("%-26s %5.1f %6llu %6llu %8.3f %8.3f %9.2f %9.2f %9.3f %6s\n", name, share,
              (unsigned long long)counts.saves + (unsigned long long)counts.loads,
              (unsigned long long)clock.writes + (unsigned long long)clock.reads, 1e3 * clock.seconds,
              1e3 * median(times), waits / bound, clock.seconds / bound, median(times) / clock.seconds,
              same ? "same" : "DIFFER");
  return same;
}

}  // namespace

int main(int argc, char** argv) {
  int const rounds = asked_times(argc, argv, 5, "sweeps");
  std::printf("a store behind, 2 writes and 2 reads, %s; transfers of the plan take `share` of what it computes\n",
              CAIRN_BENCHMARK_FLAGS);
  std::printf("%-26s %5s %6s %6s %8s %8s %9s %9s %9s %6s\n", "plan, 200 steps", "share", "far", "done", "clock ms",
              "measured", "waiting", "clock", "measured", "bits");
  std::printf("%-26s %5s %6s %6s %8s %8s %9s %9s %9s %6s\n", "", "", "", "", "", "ms", "/ bound", "/ bound", "/ clock", "");
  bool same = true;
  for (double const share : {0.3, 1.0}) {
    same = row("two_level, period 10", cairn::two_level{200, 10, 3}, share, rounds) && same;
    same = row("hrevolve, 3 + 12", cairn::hrevolve{200, {cairn::storage_tier{.slots = 3},
                                                        cairn::storage_tier{.slots = 12, .write = 2, .read = 2}}},
               share, rounds) && same;
    same = row("multistage, 3 + 12", cairn::multistage{200, 3, 12}, share, rounds) && same;
  }
  return same ? 0 : 1;
}
