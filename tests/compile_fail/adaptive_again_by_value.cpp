// error: the `again` of cairn::adaptive makes the step
// SPDX-License-Identifier: Apache-2.0
#include <cairn/cairn.hpp>
auto const first = [](double& x, cairn::step_index) { x *= 2; return 2.0; };
#ifdef CAIRN_FIXED
cairn::adaptive chosen{first, [](double& x, double h) { x *= h; }};
#else
cairn::adaptive chosen{first, [](double x, double h) { x *= h; }};
#endif
