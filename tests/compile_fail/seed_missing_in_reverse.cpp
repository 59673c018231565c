// error: seed and adjoint are two arguments; give the seed
// SPDX-License-Identifier: Apache-2.0
#include <cairn/cairn.hpp>

auto const step = [](double& x) { x *= x; };
auto const adjoint = [](auto const& x, auto& bar) { bar *= 2 * x; };
int main() {
  auto run = cairn::checkpointed_loop(step, 2.0, 10);
#ifdef CAIRN_FIXED
  double const g = run.reverse(1.0, adjoint);
#else
  double const g = run.reverse(adjoint);
#endif
  return 2 * g > g ? 0 : 1;
}
