// error: is advanced in place; pass a variable
// SPDX-License-Identifier: Apache-2.0
#include <cairn/cairn.hpp>

#include "preludes/solver.hpp"
solver s;
auto const step = [](solver& at) { at.x *= 2; };
auto const adjoint = [](solver const&, double& bar) { bar *= 2; };
#ifdef CAIRN_FIXED
int main() {
  double const g = cairn::gradient(step, s, 10, 1.0, adjoint);
  return 2 * g > 0 ? 0 : 1;
}
#else
int main() {
  double const g = cairn::gradient(step, solver{}, 10, 1.0, adjoint);
  return 2 * g > 0 ? 0 : 1;
}
#endif
