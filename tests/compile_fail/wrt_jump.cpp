// error: a jump or its condition takes x, or x and p, and then i
// SPDX-License-Identifier: Apache-2.0
#include <cairn/cairn.hpp>
#include <cairn/run/with/jumps.hpp>
double const p = 0.9;
double dp = 0;
auto const step = [](double& x, double q) { x *= q; };
auto const adjoint = [](double x, double& bar, double q, double& dq) { dq += x * bar, bar *= q; };
#ifdef CAIRN_FIXED
auto const jump = [](double& x, double q) { x += q; };
#else
auto const jump = [](double& x, double q, double) { x += q; };
#endif
auto const back = [](double, double& bar, double, double& dq) { dq += bar; };
cairn::with_jumps const loop{step, adjoint, cairn::jump_at(3, jump, back)};
auto const g = cairn::gradient(loop.step, 1.0, 10, 1.0, loop.adjoint, cairn::wrt{p, dp});
