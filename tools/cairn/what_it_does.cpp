// SPDX-License-Identifier: Apache-2.0
#include "what_it_does.hpp"

#include "numbers.hpp"

namespace tool {
namespace {

using cairn::wide;

std::string revolve_words(planned const& found) {
  bool const leaves = found.asked.block.has_value();
  return (leaves ? "It takes the loop as " + counted(wide(*found.blocks), "leaf run") + " of " +
                       counted(wide(*found.asked.block), "step") + ", each reversed by one call of the adjoint.\n"
                 : "") +
         std::string{"On the way forward it keeps "} + counted(wide(found.most_kept()), "state") +
         ", the initial one among them; the first advance ends at state " +
         grouped(wide(found.first_split.value_or(0))) +
         ".\nOn the way back it loads the last state kept before the steps that are left, runs on from there to the "
         "last of these, keeping\n"
         "states in slots that have become free, and reverses that one.\n";
}

std::string uniform_words(planned const& found) {
  return "It cuts the loop into " + counted(wide(*found.blocks), "block") +
         (found.asked.block ? " of " + counted(wide(*found.asked.block), "step") : "") +
         " and keeps the first state of each on the way forward.\nOn the way back it runs each block but the last once "
         "more, keeping the "
         "states inside it, and reverses its steps.\n";
}

std::string two_level_words(planned const& found) {
  auto const period = wide(*found.asked.period);
  return "On the way forward it keeps " +
         (period == 1 ? "every state" : "a state every " + grouped(period) + " steps") + " on disk, " +
         counted(wide(*found.blocks), "period") +
         " in all, and runs to the end.\n"
         "On the way back it reverses period after period by the binomial schedule from "
         "the state kept at its start,\nwith " +
         counted(wide(found.own), "state") +
         " more in memory; a second reverse of the same run needs no new forward sweep.\n";
}

std::string places(planned const& found) {
  std::string text;
  constexpr char const* names[] = {"in memory", "on the device", "on the host", "on disk"};
  for (std::size_t k = 0; k < cairn::tier_count; ++k)
    if (auto const peak = found.counts.tiers[k].peak; peak > 0)
      text += (text.empty() ? "" : " and ") + counted(wide(peak), "state") + ' ' + names[k];
  return text;
}

std::string tape_words(planned const& found) {
  std::string const tapes = counted(wide(found.counts.peak_tapes), "tape");
  return "It keeps up to " + counted(wide(found.counts.peak_slots), "state") + " and up to " + tapes +
         " of single steps, which share the budget.\nA step whose tape is kept is reversed without running it again" +
         (found.plan.tapes_restart() ? ", and the loop can go on from where a tape ends.\n"
                                     : "; the loop goes on from states only.\n");
}

}  // namespace

std::string what_it_does(planned const& found) {
  auto const kept = wide(found.counts.peak_slots);
  if (found.plan.steps() < 2 && found.kind != schedule_kind::action_list)
    return "There is nothing to keep: the only state that a step is reversed from is the initial one.\n";
  switch (found.kind) {
    case schedule_kind::revolve: return revolve_words(found);
    case schedule_kind::uniform: return uniform_words(found);
    case schedule_kind::store_all:
      return "It keeps " + counted(kept, "state") +
             ", every one that a step is reversed from, and runs no step twice.\n";
    case schedule_kind::two_level: return two_level_words(found);
    case schedule_kind::online:
      return "It does not know how long the loop will be: whenever another step follows, it decides whether to keep "
             "the current state,\n"
             "and gives up the kept state that is missed least. Here the loop ends after " +
             counted(wide(found.plan.steps()), "step") +
             "; the gaps between kept "
             "states\nare then reversed from the last to the first, each by the binomial schedule in the slots that "
             "are free.\n";
    case schedule_kind::multistage:
      return "It keeps up to " + places(found) +
             ", and runs as few steps as if all were in memory;\n"
             "among the plans that do, it has the least traffic to and from disk, and of these the fewest writes.\n";
    case schedule_kind::hrevolve:
    case schedule_kind::disk_revolve:
      return "It keeps up to " + places(found) +
             ", chosen so that steps, writes and reads together cost the least.\n"
             "A state may be read from a slow place and kept again in a fast one.\n";
    case schedule_kind::mixed:
    case schedule_kind::bptt:
    case schedule_kind::runge_kutta: return tape_words(found);
    case schedule_kind::action_list: break;
  }
  return "It is the list in " + found.asked.actions + ": every action was checked. It keeps up to " +
         (places(found).empty() ? "no state" : places(found)) + ".\n";
}

}  // namespace tool
