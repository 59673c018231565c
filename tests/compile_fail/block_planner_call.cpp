// error: a planner of blocks must be `plan\(work\)` or `plan\(budget, work\)`, with chain const& work, and return a block_plan
// SPDX-License-Identifier: Apache-2.0
#include <cairn/plan/block/block_planner.hpp>

#ifdef CAIRN_FIXED
auto const plan = [](cairn::chain const&) { return cairn::block_plan{}; };
#else
auto const plan = [](cairn::chain&) { return cairn::block_plan{}; };
#endif
cairn::block_planner const planner{plan};
