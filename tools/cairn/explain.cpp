#include "explain.hpp"

#include <algorithm>
#include <limits>

#include <cairn/core/bytes.hpp>
#include <cairn/core/error.hpp>
#include <cairn/schedule/binomial.hpp>

#include "numbers.hpp"

namespace tool {
namespace {

using cairn::slot_index;
using cairn::step_index;
using cairn::wide;

std::string counted(wide number, char const* noun) { return grouped(number) + ' ' + noun + (number == 1 ? "" : "s"); }

std::string bytes(cairn::cost const& cost) {
  return std::string{cost.peak_is_exact ? "" : "at most "} + grouped(cost.peak_bytes) + " bytes (" +
         cairn::to_short_text(cost.peak_bytes).c_str() + ")";
}

std::string calls(planned const& found) {
  return counted(found.step_calls(), "step call") + ", " + fixed(found.per_step()) + " a step" +
         (found.cost ? ", " + bytes(*found.cost) : "");
}

bool in_leaves(request const& asked) { return asked.schedule == schedule_kind::revolve && asked.block; }

std::string what_it_does(planned const& found) {
  auto const kept = wide(found.counts.peak_slots);
  std::string const size = "of " + counted(wide(found.asked.block.value_or(0)), "step");
  if (found.plan.steps() < 2) return "There is nothing to keep: the only state that a step is reversed from is the initial one.\n";
  switch (found.asked.schedule) {
    case schedule_kind::store_all:
      return "It keeps " + counted(kept, "state") + ", every one that a step is reversed from, and runs no step twice.\n";
    case schedule_kind::uniform:
      return "It cuts the loop into " + counted(wide(*found.blocks), "block") + (found.asked.block ? " " + size : "") +
             " and keeps the first state of each on the way forward.\nOn the way back it runs each block but the last once more, keeping the "
             "states inside it, and reverses its steps.\n";
    case schedule_kind::revolve: break;
  }
  return (in_leaves(found.asked) ? "It takes the loop as " + counted(wide(*found.blocks), "leaf run") + " " + size +
                                       ", each reversed by one call of the adjoint.\n"
                                 : "") +
         std::string{"On the way forward it keeps "} + counted(kept, "state") + ", the initial one among them; the first advance ends at state " +
         grouped(wide(found.first_split)) +
         ".\nOn the way back it loads the last state kept before the steps that are left, runs on from there to the last of these, keeping\n"
         "states in slots that have become free, and reverses that one.\n";
}

/// beta(s, t) of Griewank & Walther 2000: the longest loop that s slots reverse while no step is run more than t times unrecorded.
std::string beta(slot_index slots, step_index times) {
  constexpr auto most = std::numeric_limits<step_index>::max();
  std::string const name = "beta(" + grouped(wide(slots)) + ", " + grouped(wide(times)) + ")";
  auto const value = cairn::detail::capped_beta(slots, times, most);
  return name + (value < most ? " = " + grouped(wide(value)) : " >= 2^63-1");
}

std::string lower_bound(planned const& found) {
  bool const leaves = in_leaves(found.asked);
  step_index const count = leaves ? *found.blocks : found.plan.steps();
  if (count < 2) return "";
  char const* const unit = leaves ? "leaf run" : "step";
  slot_index const slots = std::max<slot_index>(1, found.counts.peak_slots);
  step_index const t = cairn::detail::repetitions(count, slots);
  wide const least = cairn::detail::fewest_advances(count, slots);
  std::string text = "With " + counted(wide(slots), "slot") + " and no " + (leaves ? "leaf" : "step") +
                     " run more than t times unrecorded, the longest loop that can be reversed has\n"
                     "beta(s, t) = (s + t)! / (s! t!) " + unit + "s: " + beta(slots, t - 1) + " is too short for " +
                     counted(wide(count), unit) + ", " + beta(slots, t) + " is not.\nSo the least repetition number is " + grouped(wide(t)) +
                     ", and the fewest advances are t n - beta(s + 1, t - 1) = " + grouped(least) + " (Griewank & Walther 2000).\n";
  if (found.asked.schedule == schedule_kind::revolve) return text + "This plan takes as many: with these slots none is cheaper.\n";
  if (found.counts.advances == least) return text + "This plan takes as many: with so many states kept none is cheaper.\n";
  return text + "This plan takes " + grouped(found.counts.advances) + ", " + fixed(double(found.counts.advances) / double(least)) +
         " times as many; schedule revolve takes the fewest.\n";
}

request with_slots(request asked, slot_index slots) {
  asked.slots = slots;
  asked.memory.reset();
  if (asked.schedule == schedule_kind::uniform) asked.block.reset();
  if (asked.schedule == schedule_kind::store_all) asked.schedule = schedule_kind::revolve;
  return asked;
}

request storing_all(request asked) {
  asked.schedule = schedule_kind::store_all;
  asked.slots.reset();
  asked.memory.reset();
  asked.block.reset();
  return asked;
}

/// What another plan would cost, where there is one.
std::string cost_of(request const& asked) {
  try {
    return calls(plan_of(asked)) + ".\n";
  } catch (cairn::overflow_error const&) {
    return "more bytes than can be counted.\n";
  } catch (cairn::invalid_plan const&) { return "too few, it needs " + grouped(wide(least_slots(asked))) + ".\n"; }
}

std::string alternative(char const* name, request const& asked) {
  return std::string{name} + name_of(asked.schedule) + " with " + counted(wide(*asked.slots), "slot") + ": " + cost_of(asked);
}

}  // namespace

std::string explanation(planned const& found) {
  auto const& asked = found.asked;
  slot_index const own = std::max<slot_index>(1, found.slots);
  slot_index const twice = own > std::numeric_limits<slot_index>::max() / 2 ? own : 2 * own;
  std::string text = std::string{name_of(asked.schedule)} + ", " + counted(wide(found.plan.steps()), "step") + ", " +
                     counted(wide(found.slots), "slot") + "\n\nWhat it does\n" + what_it_does(found) + "\nWhat it costs\n" + calls(found) +
                     ".\nStoring every state: " + cost_of(storing_all(asked)) + "No step is run more than " +
                     counted(wide(found.repetition_number), "time") + " unrecorded.\n";
  if (auto const bound = lower_bound(found); !bound.empty()) text += "\nWhat is the least\n" + bound;
  text += "\nOther numbers of slots\n" + alternative("Half: ", with_slots(asked, std::max<slot_index>(1, own / 2)));
  if (asked.schedule != schedule_kind::store_all) text += alternative("Twice: ", with_slots(asked, twice));
  request const least = with_slots(asked, 1);
  return text + alternative("Least memory: ", with_slots(asked, std::max<slot_index>(1, least_slots(least))));
}

}  // namespace tool
