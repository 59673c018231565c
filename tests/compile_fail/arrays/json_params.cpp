// error: the parameters p of cairn::wrt\{p, dp\} are hashed, to detect that they change, but their bytes are not all known
// SPDX-License-Identifier: Apache-2.0
#include <cairn/cairn.hpp>
#include <nlohmann/json.hpp>
#include <vector>

int main() {
#ifdef CAIRN_FIXED
  std::vector<double> const p(1);
#else
  nlohmann::json const p{1.0};  // a range of itself
#endif
  double dp = 0;
  auto const step = [](double& x, auto const&) { x *= 2; };
  auto const adjoint = [](double, double& bar, auto const&, double& into) { into += bar, bar *= 2; };
  (void)cairn::gradient(step, 1.0, 20, 1.0, adjoint, cairn::wrt{p, dp});
}
