// error: keep_going must be `keep_going\(x\)` or `keep_going\(x, i\)`, with x const&, and return bool
// SPDX-License-Identifier: Apache-2.0
#include <cairn/cairn.hpp>
#include <cairn/run/while.hpp>
#include <cairn/schedule/online.hpp>

auto const step = [](double& x) { x /= 2; };
#ifdef CAIRN_FIXED
auto const keep_going = [](double x) { return x - 1 > 0; };
#else
auto const keep_going = [](double x) { return x - 1; };
#endif
auto const run = cairn::checkpointed_while(step, 64.0, keep_going, cairn::online{3});
