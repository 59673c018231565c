// error: the third part of a budget says where files go: give a cairn::disk, as in cairn::budget_of
// SPDX-License-Identifier: Apache-2.0
#include <cairn/cairn.hpp>
#include <cairn/schedule/any.hpp>

struct on_disk {
  struct keeps_runs { using plans = cairn::any_schedule; };
};
#ifdef CAIRN_FIXED
cairn::budget_of const budget{50, "16kB", on_disk{}, "1MB"};
#else
cairn::budget_of const budget{50, "16kB", "run.d", "1MB"};
#endif
