// error: the sixth argument must be a workspace
// SPDX-License-Identifier: Apache-2.0
#include <cairn/cairn.hpp>

auto const step = [](double& x) { x *= 2; };
auto const adjoint = [](double, double& bar) { bar *= 2; };
#ifdef CAIRN_FIXED
auto const g = cairn::gradient(step, 1.0, 10, 1.0, adjoint, [](cairn::event const&) {});
#else
auto const g = cairn::gradient(step, 1.0, 10, 1.0, adjoint, 7);
#endif
