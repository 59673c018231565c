// SPDX-License-Identifier: Apache-2.0
// Sweeps for callgrind, counted by tests/scripts/no_cost.py: `no_trace_cost TIMES`, compiled with -DTRACED=0 without
// any trace, 1 with regions and functions over no_trace, 2 with regions that are not enabled, 3 with a trace.
#include <cstdio>
#include <cstdlib>
#include <cairn/run/gradient.hpp>
#include <cairn/schedule/revolve.hpp>
#if TRACED
#include <cairn/trace/trace_region.hpp>
#endif

namespace {

#if TRACED == 1
cairn::no_trace log_of_program;
#elif TRACED
cairn::trace_writer log_of_program{"no_trace_cost.pfw", {.enabled = TRACED == 3}};
#endif

[[gnu::noinline]] double work(cairn::revolve const& plan, cairn::workspace<double, cairn::revolve>& work, int k) {
  auto const step = [](double& x, cairn::step_index i) { x += 1e-3 * x * double(i % 3); };
  auto const adjoint = [](double const&, double& bar, cairn::step_index i) { bar += 1e-3 * bar * double(i % 3); };
  double const start = 1.0 + k;
#if TRACED == 2
  cairn::trace_region const region{log_of_program, "sweep", {{"number", k}, {"size", {3, 4}}}, {.enable = false}};
#elif TRACED
  cairn::trace_region const region{log_of_program, "sweep", {{"number", k}, {"size", {3, 4}}}};
#endif
#if TRACED == 1 || TRACED == 3
  return cairn::gradient(cairn::traced(log_of_program, "step", step), start, plan, 1.0,
                         cairn::traced(log_of_program, "adjoint", adjoint), work);
#else
  return cairn::gradient(step, start, plan, 1.0, adjoint, work);
#endif
}

}  // namespace

int main(int count, char** words) {
  if (count != 2) return 2;
  cairn::revolve const plan{300, 8};
  auto room = cairn::workspace_for<double>(plan);
  double sum = 0;
  for (int k = std::atoi(words[1]); k > 0; --k) sum += work(plan, room, k);
  std::printf("%.17g\n", sum);
}
