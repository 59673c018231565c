// error: `first` or `again` of cairn::adaptive takes a number
// SPDX-License-Identifier: Apache-2.0
#include <cairn/cairn.hpp>
auto const first = [](double& x, cairn::step_index) { x *= 2; return 2.0; };
#ifdef CAIRN_FIXED
cairn::adaptive chosen{first, [](double& x, cairn::step_index, double h) { x *= h; }};
#else
cairn::adaptive chosen{first, [](double& x, short, double h) { x *= h; }};
#endif
