// error: with parameters the step is `step\(x, p, i\)`
// SPDX-License-Identifier: Apache-2.0
#include <cairn/cairn.hpp>
double const p = 0.9;
double dp = 0;
#ifdef CAIRN_FIXED
auto step = [calls = 0](auto& x, auto const& q, auto i) mutable { x *= q * double(i % 7), ++calls; };
#else
auto step = [calls = 0](auto& x, auto i) mutable { x *= double(i % 7), ++calls; };
#endif
auto const adjoint = [](double x, double& bar, double q, double& dq) { dq += x * bar, bar *= q; };
auto const g = cairn::gradient(step, 1.0, 10, 1.0, adjoint, cairn::wrt{p, dp});
