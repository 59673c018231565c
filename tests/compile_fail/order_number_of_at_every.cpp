// error: the number of steps between terms comes first
// SPDX-License-Identifier: Apache-2.0
#include <cairn/cairn.hpp>
auto const f = [](double x) { return x; };
auto const df = [](double, double& bar) { bar += 1; };
#ifdef CAIRN_FIXED
auto const all = cairn::at_every(2, f, df);
#else
auto const all = cairn::at_every(f, df, 2);
#endif
