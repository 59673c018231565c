// error: the step must return nothing, or the state itself
// SPDX-License-Identifier: Apache-2.0
#include <cairn/cairn.hpp>

auto const adjoint = [](double, double& bar) { bar *= 2; };
#ifdef CAIRN_FIXED
auto const step = cairn::by_value([](double x) { return 2 * x; });
#else
auto const step = cairn::in_place([](double x) { return 2 * x; });
#endif
int main() {
  double const g = cairn::gradient(step, 1.0, 10, 1.0, adjoint);
  return 2 * g > 0 ? 0 : 1;
}
