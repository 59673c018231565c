// error: a default argument of this adjoint would get the index
// SPDX-License-Identifier: Apache-2.0
#include <cairn/cairn.hpp>
#include "preludes/doubled.hpp"
#ifdef CAIRN_FIXED
auto const g = cairn::gradient(step, 1.0, 10, 1.0, adjoint);
#else
auto const g = cairn::gradient(step, 1.0, 10, 1.0, [](double, double& bar, int k = 2) { bar *= k; });
#endif
