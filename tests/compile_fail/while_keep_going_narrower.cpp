// error: keep_going takes a number of a narrower type
// SPDX-License-Identifier: Apache-2.0
#include <cairn/cairn.hpp>
auto const step = [](double& x) { x *= 2; };
#ifdef CAIRN_FIXED
auto run = cairn::checkpointed_while(step, 1.0, [](double x) { return x < 9; }, cairn::online{3});
#else
auto run = cairn::checkpointed_while(step, 1.0, [](float x) { return x < 9; }, cairn::online{3});
#endif
