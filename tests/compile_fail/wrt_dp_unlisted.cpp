// error: its floating-point numbers cannot be found
// SPDX-License-Identifier: Apache-2.0
#include <cairn/cairn.hpp>
class hidden {
  double sum = 0;

 public:
  hidden() {}
  void add(double more) { sum += more; }
};
double const p = 0.9;
#ifdef CAIRN_FIXED
double dp = 0;
#else
hidden dp;
#endif
auto const step = [](double& x, double q) { x *= q; };
auto const adjoint = [](double, double& bar, double q, auto&) { bar *= q; };
auto const g = cairn::gradient(step, 1.0, 10, 1.0, adjoint, cairn::wrt{p, dp});
