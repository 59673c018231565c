// error: options are given in two places
// SPDX-License-Identifier: Apache-2.0
#include <cairn/cairn.hpp>

#include "preludes/solver.hpp"
solver s;
auto const step = [](solver& at) { at.x *= 2; };
auto const adjoint = [](solver const&, double& bar) { bar *= 2; };
using enum cairn::object_ends;
int main() {
#ifdef CAIRN_FIXED
  double const g = cairn::gradient(step, s, 10, 1.0, adjoint, cairn::sweep_options{.object = at_final});
#else
  double const g = cairn::gradient(step, s, 10, 1.0, adjoint, cairn::sweep_options{}, at_final);
#endif
  return 2 * g > 0 ? 0 : 1;
}
