// error: pass its members, `loop.step` and `loop.adjoint`, each in its place
// SPDX-License-Identifier: Apache-2.0
#include <cairn/cairn.hpp>

int main() {
  cairn::nested loop{cairn::revolve{5, 2}, [](double& x) { x *= 0.5; }, [](double, double& bar) { bar *= 0.5; }};
  auto run = cairn::checkpointed_loop(loop.step, 1.0, 10);
#ifdef CAIRN_FIXED
  double const g = run.reverse(1.0, loop.adjoint);
#else
  double const g = run.reverse(1.0, loop);
#endif
  return 2 * g > 0 ? 0 : 1;
}
