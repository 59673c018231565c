// error: the hook must be `hook\(x, bar, i\)`
// SPDX-License-Identifier: Apache-2.0
#include <cairn/cairn.hpp>
#include "preludes/doubled.hpp"
#ifdef CAIRN_FIXED
auto const g = cairn::gradient(step, 1.0, 10, 1.0, adjoint);
#else
auto const g = cairn::gradient(step, 1.0, 10, 1.0, cairn::hooked(adjoint, [](double, double& bar) { bar += 1; }));
#endif
