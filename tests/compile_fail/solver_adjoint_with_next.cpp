// error: there is only one object of a state that cannot be copied
// SPDX-License-Identifier: Apache-2.0
#include <cairn/cairn.hpp>

#include "preludes/solver.hpp"
solver s;
auto const step = [](solver& at) { at.x *= 2; };
#ifdef CAIRN_FIXED
auto const adjoint = [](solver const&, double& bar, cairn::step_index) { bar *= 2; };
#else
auto const adjoint = [](solver const&, solver const&, double& bar, cairn::step_index) { bar *= 2; };
#endif
int main() {
  double const g = cairn::gradient(step, s, 10, 1.0, adjoint);
  return 2 * g > 0 ? 0 : 1;
}
