// error: the size of the tapes of a recording adjoint is not known
// SPDX-License-Identifier: Apache-2.0
#include <cairn/cairn.hpp>
#include "preludes/doubled.hpp"
auto const recorded = cairn::recorded{[](double& x) { return x *= 2; }, [](double, double& bar) { bar *= 2; }};
#ifdef CAIRN_FIXED
auto const g = cairn::gradient(step, 1.0, 10, 1.0, recorded);
#else
auto const g = cairn::gradient(step, 1.0, cairn::budget_of{10, 1000}, 1.0, recorded);
#endif
