// error: the objective must give a floating-point number
// SPDX-License-Identifier: Apache-2.0
#include <cairn/run/check/check_gradient.hpp>

#ifdef CAIRN_FIXED
auto const objective = [](double p) { return p > 1 ? 2.0 : 1.0; };
#else
auto const objective = [](double p) { return p > 1 ? 2 : 1; };
#endif
bool passes() { return cairn::check_gradient(objective, 1.5, 0.0).passed(); }
