// error: what follows may be, in any order, a workspace for this state and plan
// SPDX-License-Identifier: Apache-2.0
#include <cairn/cairn.hpp>

auto const step = [](double& x) { x *= 2; };
auto const adjoint = [](double, double& bar) { bar *= 2; };
#ifdef CAIRN_FIXED
cairn::workspace<double, cairn::uniform> work;
#else
cairn::workspace<float, cairn::uniform> work;
#endif
auto const g = cairn::gradient(step, 1.0, 10, 1.0, adjoint, work);
