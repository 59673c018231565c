// error: the parameters of cairn::wrt would be gone
// SPDX-License-Identifier: Apache-2.0
#include <cairn/cairn.hpp>
double const p = 0.9;
double dp = 0;
auto const step = [](double& x, double q) { x *= q; };
auto const adjoint = [](double x, double& bar, double q, double& dq) { dq += x * bar, bar *= q; };
#ifdef CAIRN_FIXED
auto const g = cairn::gradient(step, 1.0, 10, 1.0, adjoint, cairn::wrt{p, dp});
#else
auto const g = cairn::gradient(step, 1.0, 10, 1.0, adjoint, cairn::wrt{p + 1, dp});
#endif
