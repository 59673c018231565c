// error: with parameters the adjoint is `adjoint\(x, bar, p, dp, i\)`
// SPDX-License-Identifier: Apache-2.0
#include <cairn/cairn.hpp>
#include <cairn/run/with/nested.hpp>
double const p = 0.9;
double dp = 0;
auto const step = [](double& x, double q) { x *= q; };
#ifdef CAIRN_FIXED
auto const adjoint = [](double x, double& bar, double q, double& dq) { dq += x * bar, bar *= q; };
#else
auto const adjoint = [](double, double& bar, double q) { bar *= q; };
#endif
cairn::nested const loop{cairn::revolve{4, 2}, step, adjoint};
auto const g = cairn::gradient(loop.step, 1.0, 10, 1.0, loop.adjoint, cairn::wrt{p, dp});
