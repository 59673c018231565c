// SPDX-License-Identifier: Apache-2.0
// What an event of a trace costs: sweeps of a scalar loop with a trace, against the same sweeps without one, in CPU
// time, user and system apart. Medians over interleaved pairs, beside a limit, and the least of both together, which
// other programs disturb least; the file lies where the program runs, or in the folder that is given.
#include "../pairs.hpp"
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>
#include <cairn/cairn.hpp>
#include <cairn/trace/trace_observer.hpp>
#include <cairn/trace/trace_region.hpp>

namespace {

template <class F>
cpu_seconds timed(F f) {
  auto const before = process_seconds();
  f();
  auto const after = process_seconds();
  return {after.user - before.user, after.system - before.system};
}
constexpr double most_nanoseconds = 100;  // an event of a sweep

/// Pairs of runs of one kind: prints medians of user time, of system time and of both, in nanoseconds an event.
/// Returns that of both.
template <class Plain, class Traced>
double compare(char const* what, int pairs, cairn::trace_options const& options, std::string const& file,
               Plain plain, Traced traced) {
  std::vector<double> user, system, both;
  double events = 0, bytes = 0;
  for (int k = 0; k < pairs; ++k) {
    auto const without = timed(plain);
    cairn::trace_writer log{file, options};
    auto const with = timed([&] { traced(log); });
    events = double(log.events());
    log.finalize();
    bytes = double(std::filesystem::file_size(file));
    user.push_back(1e9 * (with.user - without.user) / events);
    system.push_back(1e9 * (with.system - without.system) / events);
    both.push_back(user.back() + system.back());
  }
  std::filesystem::remove(file);
  std::printf("%-34s %9.0f %8.1f %8.1f %8.1f %8.1f %8.0f\n", what, events, median(user), median(system), median(both),
              *std::min_element(both.begin(), both.end()), bytes / events);
  return median(both);
}

}  // namespace

int main(int argc, char** argv) {
  int const pairs = argc > 1 ? std::atoi(argv[1]) : 9;
  std::string const file = (std::filesystem::path(argc > 2 ? argv[2] : ".") / "event_pairs.pfw").string();
  if (pairs < 1) {
    std::fprintf(stderr, "usage: %s [PAIRS] [FOLDER]\n", argv[0]);
    return 2;
  }
  std::printf("%s: nanoseconds of CPU time an event; limit of sweeps: %.0f\n%-34s %9s %8s %8s %8s %8s %8s\n",
              CAIRN_BENCHMARK_FLAGS, most_nanoseconds, "", "events", "user", "system", "together", "least", "bytes");
  auto const step = [](double& x, cairn::step_index i) { x += 1e-6 * (x * -0.5 + 1e-7 * double(i)); };
  auto const adjoint = [](double, double& bar, cairn::step_index) { bar *= 1 - 0.5e-6; };
  double sum = 0, slowest = 0;
  auto const sweeps = [&](char const* what, auto const& plan, cairn::trace_options const& options = {}) {
    auto work = cairn::workspace_for<double>(plan);
    slowest = (std::max)(slowest, compare(
        what, pairs, options, file, [&] { sum += cairn::gradient(step, 1.0, plan, 1.0, adjoint, work); },
        [&](cairn::trace_writer& log) {
          sum += cairn::gradient(step, 1.0, plan, 1.0, adjoint, work, cairn::trace_observer{log});
        }));
  };
  sweeps("revolve, 100,000 steps, 100 slots", cairn::revolve{100'000, 100});
  sweeps("uniform, 200,000 steps", cairn::uniform{200'000});
  sweeps("the same with a clock for nothing", cairn::uniform{200'000}, {.clock = [] {
           static std::int64_t ticks = 0;
           return ticks += 20;
         }});
  int const calls = 500'000;
  auto const f = [&](int k) { sum += 1e-9 * double(k); };
  compare("a traced function", pairs, {}, file, [&] { for (int k = 0; k < calls; ++k) f(k); },
          [&](cairn::trace_writer& log) {
            auto const g = cairn::traced(log, "f", std::ref(f));
            for (int k = 0; k < calls; ++k) g(k);
          });
  compare("a region with two arguments", pairs, {}, file, [&] { for (int k = 0; k < calls; ++k) f(k); },
          [&](cairn::trace_writer& log) {
            for (int k = 0; k < calls; ++k) {
              cairn::trace_region const region{log, "batch", {{"epoch", 3}, {"step", k}}};
              f(k);
            }
          });
  std::printf("%ssweeps within the limit: %s, the slowest takes %.1f\n\n", sum == 0 ? "nothing ran\n" : "",
              slowest <= most_nanoseconds ? "yes" : "no", slowest);
  return 0;
}
