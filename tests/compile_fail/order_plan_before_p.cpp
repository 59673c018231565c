// error: p comes before the plan
// SPDX-License-Identifier: Apache-2.0
#include <cairn/cairn.hpp>
#include "preludes/growth.hpp"
#ifdef CAIRN_FIXED
auto const g = cairn::differentiate(growth, 1.0, 0.9, plan, at_end);
#else
auto const g = cairn::differentiate(growth, 1.0, plan, 0.9, at_end);
#endif
