// error: the adjoint takes the state, a tape or bar as a number of a narrower type
// SPDX-License-Identifier: Apache-2.0
#include <cairn/cairn.hpp>

auto const step = [](double& x) { x *= x; };
#ifdef CAIRN_FIXED
auto const adjoint = [](double x, double& bar) { bar *= 2 * x; };
#else
auto const adjoint = [](float x, double& bar) { bar *= 2 * double(x); };
#endif
int main() { return cairn::gradient(step, 1.1, 10, 1.0, adjoint) > 0 ? 0 : 1; }
