// error: are hashed, to detect that they change
// SPDX-License-Identifier: Apache-2.0
#include <cairn/cairn.hpp>
struct parameters {
  double a = 0.9;
#ifdef CAIRN_FIXED
  double b = 1;
#else
  double* b = nullptr;
#endif
};
parameters const p;
double dp = 0;
auto const step = [](double& x, auto const& q) { x *= q.a; };
auto const adjoint = [](double, double& bar, auto const& q, double&) { bar *= q.a; };
auto const g = cairn::gradient(step, 1.0, 10, 1.0, adjoint, cairn::wrt{p, dp});
