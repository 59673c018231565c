// error: the condition of a jump takes a number of a narrower type
// SPDX-License-Identifier: Apache-2.0
#include <cairn/cairn.hpp>
#include <cairn/run/with/jumps.hpp>
auto const step = [](double& x) { x *= 2; };
auto const adjoint = [](double, double& bar) { bar *= 2; };
#ifdef CAIRN_FIXED
auto const when = [](double x) { return x > 9; };
#else
auto const when = [](float x) { return x > 9; };
#endif
auto const loop = cairn::with_jumps(step, adjoint, cairn::jump_when(when, step, adjoint));
auto run = cairn::checkpointed_loop(loop.step, 1.0, 10);
