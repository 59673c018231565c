// error: needs `again\(x, i, record\)`, which repeats the step
// SPDX-License-Identifier: Apache-2.0
#include <cairn/run/with/adaptive.hpp>

struct chosen {
  double h;
};
auto const first = [](double& x) { x += 0.5; return chosen{0.5}; };
#ifdef CAIRN_FIXED
cairn::adaptive loop{first, [](double& x, chosen const& c) { x += c.h; }};
#else
cairn::adaptive loop{first, [](double& x) { x += 0.5; }};
#endif
