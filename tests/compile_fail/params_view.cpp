// error: the gradient of these parameters is to be an object of their type
// SPDX-License-Identifier: Apache-2.0
#include <cairn/cairn.hpp>
#include <span>
#include <vector>

#ifdef CAIRN_FIXED
using rates = std::vector<double>;
#else
using rates = std::span<double>;  // dp would be a view of nothing
#endif
int main() {
  auto const step = [](double& x, rates const& p) { x += p[0] * x; };
  auto const adjoint = [](double x, double& bar, rates const& p, rates& dp) { dp[0] += bar * x, bar *= 1 + p[0]; };
  auto const objective = cairn::at_end([](double x) { return x; }, [](double, double& bar) { bar += 1; });
  std::vector<double> held(1, 0.1);
  (void)cairn::differentiate(cairn::model{step, adjoint}, 1.0, rates{held}, cairn::revolve{20, 4}, objective);
}
