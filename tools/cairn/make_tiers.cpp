// SPDX-License-Identifier: Apache-2.0
// Schedules that keep states on several tiers.
#include <algorithm>
#include <vector>

#include <cairn/schedule/disk_revolve.hpp>
#include <cairn/schedule/hrevolve.hpp>
#include <cairn/schedule/multistage.hpp>

#include "figures.hpp"
#include "scaled.hpp"
#include "what_it_does.hpp"

namespace tool {
namespace {

using cairn::slot_index;
using cairn::step_index;
using cairn::wide;

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

std::string multistage_words(planned const& found) {
  return "It keeps up to " + places(found) +
         ", and runs as few steps as if all were in memory;\n"
         "among the plans that do, it has the least traffic to and from disk, and of these the fewest writes.\n";
}
std::string tiers_words(planned const& found) {
  return "It keeps up to " + places(found) +
         ", chosen so that steps, writes and reads together cost the least.\n"
         "A state may be read from a slow place and kept again in a fast one.\n";
}

void change_tiers(request& asked, planned const&, scale how) {
  for (auto& one : asked.tiers) one.slots = change(one.slots, 0, how);
  asked.tiers.front().slots = std::max<slot_index>(1, asked.tiers.front().slots);
}
std::string tiers_amount(request const& asked) {
  std::string text;
  for (auto const& one : asked.tiers) text += (text.empty() ? "" : " + ") + grouped(wide(one.slots));
  return text + " slots";
}
bool has_ram_slots(request const& asked) { return asked.ram_slots || asked.memory; }
bool has_tiers(request const& asked) { return !asked.tiers.empty(); }
bool has_costs(request const& asked) { return asked.disk_write && asked.disk_read && has_ram_slots(asked); }

constexpr std::string_view for_multistage[] = {"ram_slots", "disk_slots", "memory"},
                           for_hrevolve[] = {"tiers", "advance_cost", "turn_cost"},
                           for_disk_revolve[] = {"ram_slots",    "disk_write", "disk_read",
                                                 "advance_cost", "turn_cost",  "memory"};

constexpr schedule_kind tier_rows[] = {
    {"multistage", for_multistage, "$ram_slots, or $memory and $state; give one of these", has_ram_slots,
     multistage_plan, multistage_words, change_ram_slots, ram_slots_amount, nullptr, "ram_slots"},
    {"hrevolve", for_hrevolve, "$tiers; give slots, write and read cost of each", has_tiers, hrevolve_plan,
     tiers_words, change_tiers, tiers_amount},
    {"disk_revolve", for_disk_revolve,
     "$disk_write, $disk_read and $ram_slots, or $memory and $state for the last; give these", has_costs,
     disk_revolve_plan, tiers_words, change_ram_slots, ram_slots_amount, nullptr, "ram_slots"},
};

}  // namespace

std::span<schedule_kind const> kinds_of_tiers() noexcept { return tier_rows; }

}  // namespace tool
