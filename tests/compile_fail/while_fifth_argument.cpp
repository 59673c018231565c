// error: the fifth argument must be a workspace
// SPDX-License-Identifier: Apache-2.0
#include <cairn/cairn.hpp>
#include <cairn/run/while.hpp>
#include <cairn/schedule/online.hpp>

auto const step = [](double& x) { x *= 2; };
auto const keep_going = [](double x) { return x < 100; };
#ifdef CAIRN_FIXED
auto const run = cairn::checkpointed_while(step, 1.0, keep_going, cairn::online{3}, [](cairn::event const&) {});
#else
auto const run = cairn::checkpointed_while(step, 1.0, keep_going, cairn::online{3}, 7);
#endif
