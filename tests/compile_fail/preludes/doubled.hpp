// SPDX-License-Identifier: Apache-2.0
// A step, its adjoint, and a term of an objective. Included within a namespace, so without #pragma once and without headers.
auto const step = [](double& x) { x *= 2; };
auto const adjoint = [](double, double& bar) { bar *= 2; };
auto const f = [](double x) { return x; };
auto const df = [](double, double& bar) { bar += 1; };
