// SPDX-License-Identifier: Apache-2.0
// One gradient of a scalar loop, a number of times: for callgrind, which counts the instructions of executor and cursor
// together.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <cairn/cairn.hpp>

namespace {

using cairn::step_index;

template <class Plan>
int sweep(Plan const& plan, int times) {
  auto const step = [](double& x, step_index i) { x += 1e-6 * (x * -0.5 + 1e-7 * double(i)); };
  auto const adjoint = [](double, double& bar, step_index) { bar *= 1 - 0.5e-6; };
  auto work = cairn::workspace_for<double>(plan);
  double sum = 0;
  for (int k = 0; k < times; ++k) sum += cairn::gradient(step, 1.0, plan, 1.0, adjoint, work);
  long long actions = 0;
  for (auto walk = plan.walk(); walk.next().kind != cairn::action_kind::done;) ++actions;
  std::printf("%lld %g\n", actions, sum);
  return 0;
}

}  // namespace

/// executor_count SCHEDULE STEPS SLOTS TIMES prints the actions of one sweep; they are walked once for any TIMES.
int main(int argc, char** argv) {
  if (argc != 5) {
    std::fprintf(stderr, "usage: %s revolve|uniform|store_all|any_revolve|any_uniform STEPS SLOTS TIMES\n", argv[0]);
    return 2;
  }
  step_index const steps = std::atoll(argv[2]), slots = std::atoll(argv[3]);
  int const times = std::atoi(argv[4]);
  if (std::strcmp(argv[1], "revolve") == 0) return sweep(cairn::revolve{steps, slots}, times);
  if (std::strcmp(argv[1], "uniform") == 0) return sweep(cairn::uniform{steps}, times);
  if (std::strcmp(argv[1], "store_all") == 0) return sweep(cairn::store_all(steps), times);
  if (std::strcmp(argv[1], "any_revolve") == 0) return sweep(cairn::any_schedule{cairn::revolve{steps, slots}}, times);
  if (std::strcmp(argv[1], "any_uniform") == 0) return sweep(cairn::any_schedule{cairn::uniform{steps}}, times);
  std::fprintf(stderr, "%s: no schedule '%s'\n", argv[0], argv[1]);
  return 2;
}
