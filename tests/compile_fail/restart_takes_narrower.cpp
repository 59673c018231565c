// error: the restart of cairn::recorded\{record, reverse, restart\} must take the tape
// SPDX-License-Identifier: Apache-2.0
#include <cairn/cairn.hpp>
#include "preludes/doubled.hpp"
#ifdef CAIRN_FIXED
auto const g = cairn::gradient(step, 1.0, 10, 1.0, adjoint);
#else
auto const g = cairn::gradient(step, 1.0, 10, 1.0, cairn::recorded{[](double& x) { double y = x; x *= 2; return y; }, [](double, double& bar) { bar *= 2; }, [](float y) { return 2.0 * double(y); }});
#endif
