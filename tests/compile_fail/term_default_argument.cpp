// error: a default argument of a term of the objective
// SPDX-License-Identifier: Apache-2.0
#include <cairn/cairn.hpp>
auto const step = [](double& x) { x *= 2; };
auto const adjoint = [](double, double& bar) { bar *= 2; };
auto const f = [](double x) { return x; };
auto const df = [](double, double& bar) { bar += 1; };
cairn::model const twice{step, adjoint};
#ifdef CAIRN_FIXED
auto const g = cairn::differentiate(twice, 1.0, 10, cairn::at_end(f, df));
#else
auto const g = cairn::differentiate(twice, 1.0, 10, cairn::at_end([](double x, int k = 2) { return k * x; }, df));
#endif
