// error: a budget is not a plan: give cairn::plan_within
// SPDX-License-Identifier: Apache-2.0
#include <vector>
#include <cairn/cairn.hpp>
#include <cairn/planning.hpp>

int main() {
  std::vector<double> const u(100, 1.0);
  auto const step = [](std::vector<double>& x) { for (double& v : x) v *= 0.5; };
  auto const adjoint = [](std::vector<double> const&, std::vector<double>& bar) { for (double& v : bar) v *= 0.5; };
#ifdef CAIRN_FIXED
  auto const plan = cairn::plan_within("16kB", {.steps = 50, .state_bytes = cairn::bytes_of(u)});
  return cairn::gradient(step, u, plan.schedule, u, adjoint)[0] > 0 ? 0 : 1;
#else
  return cairn::gradient(step, u, "16kB", u, adjoint)[0] > 0 ? 0 : 1;
#endif
}
