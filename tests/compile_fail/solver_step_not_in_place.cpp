// error: a state that cannot be copied needs a step in place
// SPDX-License-Identifier: Apache-2.0
#include <cairn/cairn.hpp>

#include "preludes/solver.hpp"
solver s;
auto const adjoint = [](solver const&, double& bar) { bar *= 2; };
#ifdef CAIRN_FIXED
auto const step = [](solver& at) { at.x *= 2; };
#else
auto const step = [](solver const& from, solver& into) { into.x = 2 * from.x; };
#endif
int main() {
  double const g = cairn::gradient(step, s, 10, 1.0, adjoint);
  return 2 * g > 0 ? 0 : 1;
}
