// error: the order is differentiate\(model, x0, p, plan, objective\)
// SPDX-License-Identifier: Apache-2.0
#include <cairn/cairn.hpp>
#include "preludes/growth.hpp"
#ifdef CAIRN_FIXED
auto const g = cairn::differentiate(growth, 1.0, 0.9, plan, at_end);
#else
auto const g = cairn::differentiate(growth, 1.0, 0.9, at_end, plan);
#endif
