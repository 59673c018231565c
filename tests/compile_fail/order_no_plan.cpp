// error: there is no plan between x0 and the objective
// SPDX-License-Identifier: Apache-2.0
#include <cairn/cairn.hpp>
#include "preludes/growth.hpp"
#ifdef CAIRN_FIXED
auto const g = cairn::differentiate(growth, 1.0, 0.9, 10, at_end);
#else
auto const g = cairn::differentiate(growth, 1.0, 0.9, 1e1, at_end);
#endif
