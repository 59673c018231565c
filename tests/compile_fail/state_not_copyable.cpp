// error: the state must be copyable, or have save\(\) and restore\(snapshot\)
// SPDX-License-Identifier: Apache-2.0
#include <cairn/cairn.hpp>

#ifdef CAIRN_FIXED
#include "preludes/solver.hpp"
#else
struct solver {
  double x = 1;
  solver() = default;
  solver(solver const&) = delete;
};
#endif
solver s;
auto const step = [](solver& at) { at.x *= 2; };
auto const adjoint = [](solver const&, double& bar) { bar *= 2; };
int main() {
  double const g = cairn::gradient(step, s, 10, 1.0, adjoint);
  return 2 * g > 0 ? 0 : 1;
}
