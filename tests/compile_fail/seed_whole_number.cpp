// error: the seed is a whole number, and every adjoint would be truncated to one; write 1.0
// SPDX-License-Identifier: Apache-2.0
#include <cairn/cairn.hpp>

auto const step = [](double& x) { x *= 0.5; };
auto const adjoint = [](auto const&, auto& bar) { bar *= 0.5f; };
#ifdef CAIRN_FIXED
auto const g = cairn::gradient(step, 1.1, 10, 1.0, adjoint);
#else
auto const g = cairn::gradient(step, 1.1, 10, 1, adjoint);
#endif
double half() { return g / 2; }
