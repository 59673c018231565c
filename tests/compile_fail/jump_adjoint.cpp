// error: the adjoint of a jump must be `adjoint\(x, bar\)` or `adjoint\(x, bar, i\)`, where x is the state before the jump
// SPDX-License-Identifier: Apache-2.0
#include <cairn/cairn.hpp>
#include <cairn/run/with/jumps.hpp>

#ifdef CAIRN_FIXED
auto const halve_bar = [](double, double& bar) { bar *= 0.5; };
#else
auto const halve_bar = [](double& bar) { bar *= 0.5; };
#endif
auto const halve = [](double& x) { x *= 0.5; };
auto const step = [](double& x) { x += 1; };
auto const adjoint = [](double, double& bar) { bar *= 1; };
int main() {
  auto const loop = cairn::with_jumps{step, adjoint, cairn::jump_at(3, halve, halve_bar)};
  (void)cairn::gradient(loop.step, 1.0, 10, 1.0, loop.adjoint);
}
