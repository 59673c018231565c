// error: the fourth argument must be a workspace
// SPDX-License-Identifier: Apache-2.0
#include <cairn/cairn.hpp>

auto const step = [](double& x) { x *= 2; };
#ifdef CAIRN_FIXED
auto run = cairn::checkpointed_loop(step, 1.0, 10, [](cairn::event const&) {});
#else
auto run = cairn::checkpointed_loop(step, 1.0, 10, 0.5);
#endif
double half() { return run.reverse(1.0, [](double, double& bar) { bar *= 2; }) + run.final_state(); }
