// error: with parameters cairn::adaptive needs
// SPDX-License-Identifier: Apache-2.0
#include <cairn/cairn.hpp>
#include <cairn/run/with/adaptive.hpp>
double const p = 0.9;
double dp = 0;
auto const first = [](double& x, double q, cairn::step_index) { return x *= q; };
#ifdef CAIRN_FIXED
auto const again = [](double& x, double q, cairn::step_index, double) { x *= q; };
#else
auto const again = [](double& x, cairn::step_index, double) { x *= 2; };
#endif
cairn::adaptive loop{first, again};
auto const adjoint = [](double x, double& bar, double q, double& dq) { dq += x * bar, bar *= q; };
auto const g = cairn::gradient(loop.step(), 1.0, 10, 1.0, adjoint, cairn::wrt{p, dp});
