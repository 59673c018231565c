// error: a budget without the number of steps is not a plan: give cairn::budget_of
// SPDX-License-Identifier: Apache-2.0
#include <vector>
#include <cairn/cairn.hpp>

int main() {
  std::vector<double> const u(100, 1.0);
  auto const step = [](std::vector<double>& x) { for (double& v : x) v *= 0.5; };
  auto const adjoint = [](std::vector<double> const&, std::vector<double>& bar) { for (double& v : bar) v *= 0.5; };
#ifdef CAIRN_FIXED
  return cairn::gradient(step, u, cairn::budget_of{50, "16kB"}, u, adjoint)[0] > 0 ? 0 : 1;
#else
  return cairn::gradient(step, u, "16kB", u, adjoint)[0] > 0 ? 0 : 1;
#endif
}
