// error: so it must not be const
// SPDX-License-Identifier: Apache-2.0
#include <cairn/cairn.hpp>
double const p = 0.9;
#ifdef CAIRN_FIXED
double dp = 0;
#else
double const dp = 0;
#endif
auto const step = [](double& x, double q) { x *= q; };
auto const adjoint = [](double x, double& bar, double q, double& dq) { dq += x * bar, bar *= q; };
auto const g = cairn::gradient(step, 1.0, 10, 1.0, adjoint, cairn::wrt{p, dp});
