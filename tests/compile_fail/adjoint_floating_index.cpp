// error: the adjoint would get an index as a floating-point number
// SPDX-License-Identifier: Apache-2.0
#include <cairn/cairn.hpp>

auto const step = [](double& x) { x *= x; };
#ifdef CAIRN_FIXED
auto const adjoint = [](double x, double bar) { return 2 * x * bar; };
#else
auto const adjoint = [](double x, double, double bar) { return 2 * x * bar; };
#endif
int main() {
  double const g = cairn::gradient(step, 0.5, 10, 1.0, adjoint);
  return 2 * g > 0 ? 0 : 1;
}
