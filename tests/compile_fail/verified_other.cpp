// error: a schedule needs steps\(\), slots\(\), leaf\(\), and walk\(\) that gives a copyable cursor with next\(\)
// SPDX-License-Identifier: Apache-2.0
#include <cairn/plan/loop/verified.hpp>
#include <cairn/schedule/revolve.hpp>

#ifdef CAIRN_FIXED
using plan = cairn::revolve;
#else
struct plan {
  cairn::step_index length;
  cairn::slot_index count;
  cairn::step_index steps() const { return length; }
};
#endif
cairn::verified const checked{plan{10, 3}};
