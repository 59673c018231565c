// error: return the new bar by value, in bar's own type
// SPDX-License-Identifier: Apache-2.0
#include <cairn/cairn.hpp>

auto const step = [](double& x) { x *= 0.5; };
#ifdef CAIRN_FIXED
auto const adjoint = [](double, double bar) { return 0.5 * bar; };
#else
auto const adjoint = [](double, double bar) { return float(0.5 * bar); };
#endif
int main() { return cairn::gradient(step, 1.1, 10, 1.0, adjoint) > 0 ? 0 : 1; }
