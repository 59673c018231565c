// SPDX-License-Identifier: Apache-2.0
#include "answer.hpp"

#include <cstdio>
#include <tuple>

#include <cairn/core/bytes.hpp>

#include "members.hpp"
#include "numbers.hpp"

namespace tool {
namespace {

using cairn::wide;

/// Whether a revolve counts the caller's initial state as one of its slots.
bool leaves_initial(planned const& found) {
  return found.kind == &revolve_kind() && found.plan.initial_is_free();
}

}  // namespace

std::string json_members(planned const& found) {
  auto const& counts = found.counts;
  auto const& disk = counts.on(cairn::tier::disk);
  auto const truth = [](bool holds) { return std::string{holds ? "true" : "false"}; };
  auto const count = [](auto const& number) { return number ? json_number(wide(*number)) : "null"; };
  auto const cost = [](auto const& number) { return number ? json_cost(*number) : "null"; };
  members all;
  all.add("schedule", '"' + std::string{found.kind->name} + '"');
  all.add("steps", wide(found.plan.steps()));
  all.add("slots", wide(found.slots));
  if (auto const own = found.kind->own_slots) all.add(own, wide(found.own));
  if (leaves_initial(found)) all.add("initial", std::string{"\"pinned_free\""});
  all.add("advances", counts.advances);
  all.add("recorded", counts.recorded);
  all.add("reversals", counts.reversals);
  all.add("step_calls", found.step_calls());
  all.add("forward_steps", found.forward_steps());
  all.add("saves", counts.saves);
  all.add("loads", counts.loads);
  all.add("disk_writes", disk.saves);
  all.add("disk_reads", disk.loads);
  all.add("peak_slots", wide(counts.peak_slots));
  if (found.plan.tapes() > 0) {
    all.add("restarts", counts.restarts);
    all.add("peak_tapes", wide(counts.peak_tapes));
  }
  all.add("cost", cost(found.cost));
  all.add("cost_without_turns", cost(found.cost_without_turns));
  all.add("blocks", count(found.blocks));
  all.add("repetition_number", count(found.repetition_number));
  all.add("first_split", count(found.first_split));
  all.add("forward_evaluations_per_step", json_number(found.per_step()));
  all.add("counted", std::string{found.walked ? "\"walk\"" : "\"closed_form\""});
  if (found.asked.block) all.add("block", wide(*found.asked.block));
  if (found.sizes) {
    all.add("peak_states", wide(found.sizes->peak_states));
    all.add("stored_bytes", found.sizes->stored_bytes);
    all.add("peak_bytes", found.sizes->peak_bytes);
    all.add("memory_bytes", found.sizes->memory_bytes);
    all.add("disk_bytes", found.sizes->tier_bytes[std::size_t(cairn::tier::disk)]);
    all.add("peak_is_exact", truth(found.sizes->peak_is_exact));
  }
  if (!found.remark.empty()) all.add("remark", '"' + found.remark + '"');
  return all.take();
}

std::string table(planned const& found) {
  auto const& counts = found.counts;
  bool const tapes = found.plan.tapes() > 0;
  std::string text = title(found) + '\n';
  auto const line = [&](char const* name, std::string const& value, char const* note = "") {
    char row[200];
    std::snprintf(row, sizeof row, "  %-20s %26s  %s", name, value.c_str(), note);
    text.append(row);
    text.erase(text.find_last_not_of(' ') + 1) += '\n';
  };
  if (auto const own = found.kind->own_slots) line(own, grouped(wide(found.own)), "of these, in memory");
  line("step calls", grouped(found.step_calls()), found.records() ? "recorded runs included" : "");
  line("per step", fixed(found.per_step()), "1 for store_all");
  if (found.cost) line("cost", grouped_cost(*found.cost), "of steps and transfers");
  line("advances", grouped(counts.advances), "steps run unrecorded");
  if (found.plan.tapes() > 0) line("recorded", grouped(counts.recorded), "steps whose tape was kept");
  line("reversals", grouped(counts.reversals));
  if (found.repetition_number)
    line("repetition number", grouped(wide(*found.repetition_number)), "the most often that a step is run unrecorded");
  line("saves", grouped(counts.saves));
  line("loads", grouped(counts.loads));
  if (tapes) line("restarts", grouped(counts.restarts), "states brought back from tapes");
  for (auto const& [where, writes, reads] : {std::tuple{cairn::tier::device, "device writes", "device reads"},
                                             {cairn::tier::host, "host writes", "host reads"},
                                             {cairn::tier::disk, "disk writes", "disk reads"}}) {
    auto const& there = counts.on(where);
    if (there.saves + there.loads == 0) continue;
    line(writes, grouped(there.saves));
    line(reads, grouped(there.loads));
  }
  line("most states kept", grouped(wide(found.most_kept())));
  if (tapes) line("most tapes kept", grouped(wide(counts.peak_tapes)));
  if (found.blocks) line("blocks", grouped(wide(*found.blocks)));
  if (found.first_split)
    line("first split", grouped(wide(*found.first_split)), "the state where the first advance ends");
  if (found.sizes) {
    auto const& sizes = *found.sizes;
    line("states at once", grouped(wide(sizes.peak_states)), "those at work included");
    line("checkpoints", grouped(sizes.stored_bytes) + " B", cairn::to_short_text(sizes.stored_bytes).c_str());
    auto const far = sizes.tier_bytes[std::size_t(cairn::tier::disk)];
    if (far > 0) line("of these on disk", grouped(far) + " B", cairn::to_short_text(far).c_str());
    line(sizes.peak_is_exact ? "peak memory" : "peak memory, at most", grouped(sizes.memory_bytes) + " B",
         cairn::to_short_text(sizes.memory_bytes).c_str());
  }
  line("counted", found.walked ? "by a walk" : "in closed form");
  return text + note(found) + slots_line(found);
}

std::string slots_line(planned const& found) {
  if (leaves_initial(found))
    return "Slots count the initial state, which stays with the caller: in a program one slot fewer and "
           "{.free_initial = true}.\n";
  std::string const what = found.asked.units ? "Units" : "Slots";
  return found.plan.initial_is_free() ? what + " do not count the initial state, which is kept separately.\n"
                                      : what + " count the initial state.\n";
}

std::string note(planned const& found) {
  return found.remark.empty() ? "" : "Note: " + found.remark + (found.remark.back() == '?' ? "\n" : ".\n");
}

std::string title(planned const& found) {
  return std::string{found.kind->name} + ", " + counted(wide(found.plan.steps()), "step") + ", " +
         (found.asked.units ? counted(wide(*found.asked.units), "unit") : counted(wide(found.slots), "slot"));
}

}  // namespace tool
