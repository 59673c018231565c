// error: an adjoint that changes bar must return nothing
// SPDX-License-Identifier: Apache-2.0
#include <cairn/cairn.hpp>
#include <cmath>

auto const step = [](double& x, cairn::step_index) { x *= x; };
#ifdef CAIRN_FIXED
auto const adjoint = [](double x, double& bar, cairn::step_index) { bar *= 2 * x; };
#else
auto const adjoint = [](double x, double& bar, cairn::step_index) { bar *= 2 * x; return std::abs(bar); };
#endif
int main() {
  auto run = cairn::checkpointed_loop(step, 1.1, 10);
  double const g = run.reverse(1.0, adjoint);
  return g > 0 ? 0 : 1;
}
