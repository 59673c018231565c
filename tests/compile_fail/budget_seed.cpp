// error: only the seed knows the size of this adjoint
// SPDX-License-Identifier: Apache-2.0
#include <cairn/cairn.hpp>
#include <vector>
#include "preludes/doubled.hpp"
using bars = std::vector<double>;
auto const back = [](double, bars& bar) { bar[0] *= 2; };
#ifdef CAIRN_FIXED
auto const g = cairn::gradient(step, 1.0, cairn::budget_of{10, 1000}, bars{1.0}, back);
#else
auto const g = cairn::gradient(step, 1.0, cairn::budget_of{10, 1000}, [](double) { return bars{1.0}; }, back);
#endif
