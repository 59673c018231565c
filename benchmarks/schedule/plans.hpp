// SPDX-License-Identifier: Apache-2.0
#pragma once
// The schedules that the benchmarks of cursors walk, by name.
#include <string_view>
#include <vector>
#include <cairn/schedule/action_list.hpp>
#include <cairn/schedule/any.hpp>
#include <cairn/schedule/leaves.hpp>
#include <cairn/schedule/remaining.hpp>
#include <cairn/schedule/revolve.hpp>
#include <cairn/schedule/uniform.hpp>

template <class Plan>
cairn::action_list action_list_from(Plan const& plan) {
  std::vector<cairn::action> actions;
  auto cursor = plan.walk();
  do actions.push_back(cursor.next());
  while (actions.back().kind != cairn::action_kind::done);
  return cairn::action_list{plan.steps(), plan.slots(), actions.data(), actions.size()};
}

/// Calls use(plan) with the schedule of that name for n steps and s slots; false where there is none.
template <class Use>
bool with_plan(std::string_view name, cairn::step_index n, cairn::slot_index s, Use use) {
  cairn::revolve const binomial{n, s};
  if (name == "revolve") use(binomial);
  else if (name == "revolve_free") use(cairn::revolve{n, s, {.free_initial = true}});
  else if (name == "uniform") use(cairn::uniform{n});
  else if (name == "uniform_block") use(cairn::uniform{n, {.block = s}});
  else if (name == "store_all") use(cairn::store_all(n));
  else if (name == "leaves") use(cairn::leaves{8 * n - 3, 8, binomial});
  else if (name == "action_list") use(action_list_from(binomial));
  else if (name == "remaining") use(cairn::remaining{{n, n, false, s}, [](cairn::slot_index) { return -1; }});
  else if (name == "any_revolve") use(cairn::any_schedule{binomial});
  else if (name == "any_uniform") use(cairn::any_schedule{cairn::uniform{n}});
  else return false;
  return true;
}

/// Reads every field of every action, as an executor does. What is counted is kept in registers: neither is a
/// reference, and a const action g++ would put in memory.
template <class Cursor>
unsigned long walk_through(Cursor& cursor, unsigned long& actions) {
  unsigned long sum = 0, count = 0;
  for (;;) {
    cairn::action a = cursor.next();
    sum += static_cast<unsigned long>(a.slot + a.from + a.to) + static_cast<unsigned long>(a.kind) +
           static_cast<unsigned long>(a.where) + static_cast<unsigned long>(a.what);
    ++count;
    if (a.kind == cairn::action_kind::done) break;
  }
  actions += count;
  return sum;
}
