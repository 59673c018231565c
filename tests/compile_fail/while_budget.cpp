// error: a loop of unknown length takes slots in the place of a budget; give cairn::online_within
// SPDX-License-Identifier: Apache-2.0
#include <cairn/cairn.hpp>
#include <cairn/planning.hpp>

auto const step = [](double& x) { x /= 2; };
auto const keep_going = [](double x) { return x > 1; };
#ifdef CAIRN_FIXED
cairn::online const plan = cairn::online_within("1kB", {.state_bytes = sizeof(double)});
#else
cairn::budget_of const plan{10, "1kB"};
#endif
auto const run = cairn::checkpointed_while(step, 64.0, keep_going, plan);
