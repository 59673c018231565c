// error: or have slots\(\) and walk\(\), which gives an open_cursor
// SPDX-License-Identifier: Apache-2.0
#include <cairn/cairn.hpp>
#include <cairn/run/while.hpp>
#include <cairn/schedule/online.hpp>

struct keeps_nothing {
  cairn::slot_index slots() const { return 0; }
};
auto const step = [](double& x) { x /= 2; };
auto const keep_going = [](double x) { return x > 1; };
#ifdef CAIRN_FIXED
cairn::online const plan{3};
#else
keeps_nothing const plan;
#endif
auto const run = cairn::checkpointed_while(step, 64.0, keep_going, plan);
