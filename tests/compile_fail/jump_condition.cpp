// error: the condition of a jump must be `condition\(x\)` or `condition\(x, i\)`, with x const&, and return bool
// SPDX-License-Identifier: Apache-2.0
#include <cairn/cairn.hpp>
#include <cairn/run/with/jumps.hpp>

#ifdef CAIRN_FIXED
auto const below = [](double x) { return x < 0; };
#else
auto const below = [](double x) { return x; };
#endif
auto const halve = [](double& x) { x *= 0.5; };
auto const halve_bar = [](double, double& bar) { bar *= 0.5; };
auto const step = [](double& x) { x -= 1; };
auto const adjoint = [](double, double& bar) { bar *= 1; };
int main() {
  auto const loop = cairn::with_jumps{step, adjoint, cairn::jump_when(below, halve, halve_bar)};
  (void)cairn::gradient(loop.step, 1.0, 10, 1.0, loop.adjoint);
}
