// error: this adjoint can be read as \(x, bar, first, last\) and as \(x, x1, bar, i\)
// SPDX-License-Identifier: Apache-2.0
#include <cairn/cairn.hpp>

auto const step = [](double& x) { x *= x; };
#ifdef CAIRN_FIXED
auto const adjoint = cairn::with_next([](auto x, auto, auto bar, auto) { return 2 * x * bar; });
#else
auto const adjoint = [](auto x, auto, auto bar, cairn::step_index) { return 2 * x * bar; };
#endif
int main() {
  double const g = cairn::gradient(step, 0.5, 10, 1.0, adjoint);
  return 2 * g > 0 ? 0 : 1;
}
