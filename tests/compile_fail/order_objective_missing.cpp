// error: differentiate needs an objective after the plan
// SPDX-License-Identifier: Apache-2.0
#include <cairn/cairn.hpp>
#include "preludes/growth.hpp"
#ifdef CAIRN_FIXED
auto const g = cairn::differentiate(growth, 1.0, 0.9, plan, at_end);
#else
auto const g = cairn::differentiate(growth, 1.0, 0.9, plan);
#endif
