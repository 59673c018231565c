// error: with parameters the step is `step\(x, p, i\)`
// SPDX-License-Identifier: Apache-2.0
#include <cairn/cairn.hpp>
double const p = 0.9;
double dp = 0;
#ifdef CAIRN_FIXED
auto const step = [](double& x, double q) { x *= q; };
#else
auto const step = [](double& x, cairn::step_index i) { x *= double(i); };
#endif
auto const adjoint = [](double x, double& bar, double q, double& dq) { dq += x * bar, bar *= q; };
auto const g = cairn::gradient(step, 1.0, 10, 1.0, adjoint, cairn::wrt{p, dp});
