// error: the `first` of this cairn::adaptive takes parameters; give the verb cairn::wrt\{p, dp\}
// SPDX-License-Identifier: Apache-2.0
#include <cairn/cairn.hpp>
#include <cairn/run/with/adaptive.hpp>
double const p = 0.9;
double dp = 0;
auto const first = [](double& x, double q) { return x *= q; };
auto const again = [](double& x, double q, double) { x *= q; };
cairn::adaptive loop{first, again};
#ifdef CAIRN_FIXED
auto const adjoint = [](double x, double& bar, double q, double& dq) { dq += x * bar, bar *= q; };
auto const g = cairn::gradient(loop.step(), 1.0, 10, 1.0, adjoint, cairn::wrt{p, dp});
#else
auto const adjoint = [](double, double& bar) { bar *= 2; };
auto const g = cairn::gradient(loop.step(), 1.0, 10, 1.0, adjoint);
#endif
