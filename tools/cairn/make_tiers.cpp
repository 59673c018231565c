// SPDX-License-Identifier: Apache-2.0
// Schedules that keep states on several tiers.
#include <algorithm>
#include <vector>

#include <cairn/schedule/disk_revolve.hpp>
#include <cairn/schedule/hrevolve.hpp>
#include <cairn/schedule/multistage.hpp>

#include "figures.hpp"
#include "make_plan.hpp"

namespace tool {
namespace {

using cairn::slot_index;
using cairn::step_index;

/// Kinds of plans, as for schedules with one tier; slots are those in memory.
struct multistage_factory {
  step_index steps;
  slot_index disk_slots;
  cairn::work_limit limit;
  slot_index least() const { return disk_slots > 0 ? 0 : 1; }
  slot_index most() const { return std::max<slot_index>(1, steps - 1); }
  auto operator()(slot_index slots) const { return cairn::multistage{steps, slots, disk_slots, {.limit = limit}}; }
};
struct disk_revolve_factory {
  step_index steps;
  cairn::disk_revolve_options options;
  slot_index least() const { return 0; }
  slot_index most() const { return std::max<slot_index>(1, steps - 1); }
  auto operator()(slot_index slots) const { return cairn::disk_revolve{steps, slots, options}; }
};

}  // namespace

planned multistage_plan(request const& asked) {
  refuse_walk(asked, *asked.steps);  // before a table is filled
  multistage_factory const make{*asked.steps, asked.disk_slots.value_or(cairn::unlimited_slots),
                                asked.deadline->limit()};
  auto const slots = asked.ram_slots ? *asked.ram_slots : most_slots(asked, make);
  auto found = walked_figures(asked, make(slots));
  found.own = std::min(slots, make.most());
  return found;
}

planned hrevolve_plan(request const& asked) {
  refuse_walk(asked, *asked.steps);
  std::vector<cairn::storage_tier> tiers;
  for (auto const& one : asked.tiers) tiers.push_back({one.slots, one.write, one.read});
  cairn::hrevolve_options const options{
      .advance_cost = asked.advance_cost, .turn_cost = asked.turn_cost, .limit = asked.deadline->limit()};
  return walked_figures(asked, cairn::hrevolve{*asked.steps, tiers.data(), tiers.size(), options});
}

planned disk_revolve_plan(request const& asked) {
  refuse_walk(asked, *asked.steps);
  disk_revolve_factory const make{*asked.steps,
                                {.disk_write = *asked.disk_write,
                                 .disk_read = *asked.disk_read,
                                 .advance_cost = asked.advance_cost,
                                 .turn_cost = asked.turn_cost,
                                 .limit = asked.deadline->limit()}};
  auto const slots = asked.ram_slots ? *asked.ram_slots : most_slots(asked, make);
  auto found = walked_figures(asked, make(slots));
  found.own = std::min(slots, make.most());
  return found;
}

}  // namespace tool
