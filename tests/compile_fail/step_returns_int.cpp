// error: the step must return nothing, or the state itself
// SPDX-License-Identifier: Apache-2.0
#include <cairn/cairn.hpp>

auto const adjoint = [](double, double& bar) { bar *= 2; };
#ifdef CAIRN_FIXED
auto const step = [](auto x) { return x > 2 ? 2.0 : 2 * x; };
#else
auto const step = [](auto x) { return x > 2 ? 2 : 1; };
#endif
int main() { return cairn::gradient(step, 1.1, 10, 1.0, adjoint) > 0 ? 0 : 1; }
