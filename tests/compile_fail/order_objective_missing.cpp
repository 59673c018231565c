// error: differentiate needs an objective after the plan
// SPDX-License-Identifier: Apache-2.0
#include <cairn/cairn.hpp>
auto const step = [](double& x, double p) { x *= p; };
auto const adjoint = [](double x, double& bar, double p, double& dp) { dp += bar * x, bar *= p; };
auto const at_end = cairn::at_end([](double x) { return x; }, [](double, double& bar) { bar += 1; });
cairn::model const growth{step, adjoint};
cairn::revolve const plan{10, 3};
#ifdef CAIRN_FIXED
auto const g = cairn::differentiate(growth, 1.0, 0.9, plan, at_end);
#else
auto const g = cairn::differentiate(growth, 1.0, 0.9, plan);
#endif
