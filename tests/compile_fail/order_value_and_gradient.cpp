// error: value_and_gradient needs an objective after the plan
// SPDX-License-Identifier: Apache-2.0
#include <cairn/cairn.hpp>
auto const step = [](double& x, double p) { x *= p; };
auto const adjoint = [](double x, double& bar, double p, double& dp) { dp += bar * x, bar *= p; };
auto const at_end = cairn::at_end([](double x) { return x; }, [](double, double& bar) { bar += 1; });
cairn::model const growth{step, adjoint};
cairn::revolve const plan{10, 3};
#ifdef CAIRN_FIXED
cairn::value_and_gradient f{growth, at_end, plan};
#else
cairn::value_and_gradient f{growth, plan};
#endif
