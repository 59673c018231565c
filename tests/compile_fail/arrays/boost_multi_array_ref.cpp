// error: the gradient of these parameters is to be an object of their type, but .* its copies share data
// SPDX-License-Identifier: Apache-2.0
#include <boost/multi_array.hpp>
#include <cairn/cairn.hpp>
#include <vector>

#ifdef CAIRN_FIXED
using rates = std::vector<double>;
#else
using rates = boost::multi_array_ref<double, 1>;
#endif
void run(rates const& p) {
  auto const step = [](double& x, rates const& p) { x += p[0] * x; };
  auto const adjoint = [](double x, double& bar, rates const& p, rates& dp) { dp[0] += bar * x, bar *= 1 + p[0]; };
  auto const objective = cairn::at_end([](double x) { return x; }, [](double, double& bar) { bar += 1; });
  (void)cairn::differentiate(cairn::model{step, adjoint}, 1.0, p, cairn::revolve{20, 4}, objective);
}
