// error: the hook of an adjoint of leaves must be `hook\(x, bar, first, last\)`
// SPDX-License-Identifier: Apache-2.0
#include <cairn/cairn.hpp>
double const p = 0.9;
double dp = 0;
auto const step = [](double& x, double q) { x *= q; };
auto const adjoint = [](double x, double& bar, double q, double& dq, cairn::step_index first, cairn::step_index last) {
  for (; first < last; ++first) dq += x * bar, bar *= q;
};
#ifdef CAIRN_FIXED
auto const hook = [](double, double&, double, double&, cairn::step_index, cairn::step_index) {};
#else
auto const hook = [](double, double&, double, double&, cairn::step_index) {};
#endif
auto const g = cairn::gradient(step, 1.0, cairn::leaves{9, 3, cairn::store_all(3)}, 1.0, cairn::hooked(adjoint, hook),
                               cairn::wrt{p, dp});
