// error: pass its members, `loop.step` and `loop.adjoint`, each in its place
// SPDX-License-Identifier: Apache-2.0
#include <cairn/cairn.hpp>

int main() {
  cairn::nested loop{cairn::revolve{5, 2}, [](double& x) { x *= 0.5; }, [](double, double& bar) { bar *= 0.5; }};
#ifdef CAIRN_FIXED
  double const g = cairn::gradient(loop.step, 1.0, 10, 1.0, loop.adjoint);
#else
  double const g = cairn::gradient(loop, 1.0, 10, 1.0, loop);
#endif
  return 2 * g > 0 ? 0 : 1;
}
