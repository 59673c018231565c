// error: the adjoint would get an index as a bool, a character or a short number
// SPDX-License-Identifier: Apache-2.0
#include <cairn/cairn.hpp>
#include "preludes/doubled.hpp"
#ifdef CAIRN_FIXED
auto const g = cairn::gradient(step, 1.0, 10, 1.0, adjoint);
#else
auto const g = cairn::gradient(step, 1.0, 10, 1.0, [](double, double& bar, char) { bar *= 2; });
#endif
