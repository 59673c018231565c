// error: the step must be `step\(x, i\)` in place
// SPDX-License-Identifier: Apache-2.0
#include <cairn/cairn.hpp>

auto const adjoint = [](double, double& bar) { bar *= 2; };
#ifdef CAIRN_FIXED
auto const step = [](double& x, cairn::step_index) { x *= 2; };
#else
auto const step = cairn::leaf([](double& x, cairn::step_index) { x *= 2; });
#endif
int main() {
  double const g = cairn::gradient(step, 1.0, 10, 1.0, adjoint);
  return 2 * g > 0 ? 0 : 1;
}
