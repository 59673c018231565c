// error: the adjoint adds to dp, so it takes dp by a reference
// SPDX-License-Identifier: Apache-2.0
#include <cairn/cairn.hpp>
double const p = 0.9;
double dp = 0;
auto const step = [](double& x, double q) { x *= q; };
#ifdef CAIRN_FIXED
auto const adjoint = [](double x, double& bar, double q, double& dq) { dq += x * bar, bar *= q; };
#else
auto const adjoint = [](double x, double& bar, double q, double dq) { dq += x * bar, bar *= q; };
#endif
auto const g = cairn::gradient(step, 1.0, 10, 1.0, adjoint, cairn::wrt{p, dp});
