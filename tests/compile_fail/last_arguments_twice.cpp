// error: two arguments of the same kind follow
// SPDX-License-Identifier: Apache-2.0
#include <cairn/cairn.hpp>
auto const step = [](double& x) { x *= 2; };
auto const adjoint = [](double, double& bar) { bar *= 2; };
auto const look = [](cairn::event const&) {};
#ifdef CAIRN_FIXED
auto const g = cairn::gradient(step, 1.0, 10, 1.0, adjoint, look);
#else
auto const g = cairn::gradient(step, 1.0, 10, 1.0, adjoint, look, look);
#endif
