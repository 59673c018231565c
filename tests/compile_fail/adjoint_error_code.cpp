// error: an adjoint that changes bar must return nothing \(an error code is ignored; throw instead\)
// SPDX-License-Identifier: Apache-2.0
#include <cairn/cairn.hpp>

auto const step = [](double& x, cairn::step_index) { x *= x; };
#ifdef CAIRN_FIXED
auto const adjoint = [](double x, double& bar, cairn::step_index) { bar *= 2 * x; };
#else
auto const adjoint = [](double x, double& bar, cairn::step_index) { bar *= 2 * x; return 0; };
#endif
int main() {
  double const g = cairn::gradient(step, 1.1, 10, 1.0, adjoint);
  return g + 1 > 0 ? 0 : 1;
}
