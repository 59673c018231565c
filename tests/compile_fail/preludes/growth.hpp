// SPDX-License-Identifier: Apache-2.0
// A model with parameters, an objective and a plan. Included within a namespace, so without #pragma once and without headers.
auto const step = [](double& x, double p) { x *= p; };
auto const adjoint = [](double x, double& bar, double p, double& dp) { dp += bar * x, bar *= p; };
auto const at_end = cairn::at_end([](double x) { return x; }, [](double, double& bar) { bar += 1; });
cairn::model const growth{step, adjoint};
cairn::revolve const plan{10, 3};
