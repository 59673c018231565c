// error: whose parameters are types, not auto
// SPDX-License-Identifier: Apache-2.0
#include <cairn/run/with/adaptive.hpp>

auto const again = [](double& x, double h) { x += h; };
#ifdef CAIRN_FIXED
cairn::adaptive loop{[](double& x) { x += 0.5; return 0.5; }, again};
#else
cairn::adaptive loop{[](auto& x) { x += 0.5; return 0.5; }, again};
#endif
