// error: this plan is for a loop of known length
// SPDX-License-Identifier: Apache-2.0
#include <cairn/cairn.hpp>
#include <cairn/run/while.hpp>
#include <cairn/schedule/online.hpp>

auto const step = [](double& x) { x /= 2; };
auto const keep_going = [](double x) { return x > 1; };
#ifdef CAIRN_FIXED
cairn::online const plan{3};
#else
cairn::revolve const plan{10, 3};
#endif
auto const run = cairn::checkpointed_while(step, 64.0, keep_going, plan);
