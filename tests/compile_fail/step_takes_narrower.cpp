// error: the step takes its state as a number of a narrower type
// SPDX-License-Identifier: Apache-2.0
#include <cairn/cairn.hpp>

auto const adjoint = [](double, double& bar) { bar *= 0.5; };
#ifdef CAIRN_FIXED
double step(double x) { return 0.5 * x; }
#else
double step(float x) { return 0.5 * double(x); }
#endif
int main() { return cairn::gradient(step, 1.1, 10, 1.0, adjoint) > 0 ? 0 : 1; }
