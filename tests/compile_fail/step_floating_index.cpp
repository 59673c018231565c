// error: the step would get its index as a floating-point number
// SPDX-License-Identifier: Apache-2.0
#include <cairn/cairn.hpp>

auto const adjoint = [](double, double& bar) { bar *= 2; };
#ifdef CAIRN_FIXED
auto const step = [dt = 0.1](double& x) { x += dt; };
#else
auto const step = [](double& x, double dt) { x += dt; };
#endif
int main() {
  double const g = cairn::gradient(step, 1.0, 10, 1.0, adjoint);
  return 2 * g > 0 ? 0 : 1;
}
