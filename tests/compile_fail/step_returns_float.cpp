// error: the step must return nothing, or the state itself
// SPDX-License-Identifier: Apache-2.0
#include <cairn/cairn.hpp>

auto const adjoint = [](double, double& bar) { bar *= 0.5; };
#ifdef CAIRN_FIXED
auto const step = [](double x) { return 0.5 * x; };
#else
auto const step = [](double x) { return float(0.5 * x); };
#endif
int main() { return cairn::gradient(step, 1.1, 10, 1.0, adjoint) > 0 ? 0 : 1; }
