// error: pass the schedule in it, `plan.schedule`
// SPDX-License-Identifier: Apache-2.0
#include <cairn/cairn.hpp>
#include <cairn/planning.hpp>

auto const step = [](double& x) { x *= 0.5; };
auto const adjoint = [](double, double& bar) { bar *= 0.5; };
int main() {
  auto const plan = cairn::plan_within("1MB", {.steps = 10, .state_bytes = 8});
#ifdef CAIRN_FIXED
  double const g = cairn::gradient(step, 1.0, plan.schedule, 1.0, adjoint);
#else
  double const g = cairn::gradient(step, 1.0, plan, 1.0, adjoint);
#endif
  return 2 * g > 0 ? 0 : 1;
}
