// error: the hook takes a number of a narrower type
// SPDX-License-Identifier: Apache-2.0
#include <cairn/cairn.hpp>
auto const step = [](double& x) { x *= 2; };
auto const adjoint = [](double, double& bar) { bar *= 2; };
auto const f = [](double x) { return x; };
auto const df = [](double, double& bar) { bar += 1; };
cairn::model const twice{step, adjoint};
#ifdef CAIRN_FIXED
auto const g = cairn::gradient(step, 1.0, 10, 1.0, adjoint);
#else
auto const g = cairn::gradient(step, 1.0, 10, 1.0, cairn::hooked(adjoint, [](double, float, cairn::step_index) {}));
#endif
