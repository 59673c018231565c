// SPDX-License-Identifier: Apache-2.0
#include "scaled.hpp"

#include <algorithm>
#include <limits>
#include <optional>

#include "numbers.hpp"

namespace tool {

using cairn::slot_index;
using cairn::wide;

slot_index change(slot_index own, slot_index least, scale how) {
  if (how == scale::least) return least;
  if (how == scale::half) return std::max(least, own / 2);
  return own > std::numeric_limits<slot_index>::max() / 2 ? own : std::max<slot_index>(1, 2 * own);
}
void change_slots(request& asked, planned const& found, scale how) {
  asked.slots = change(std::max<slot_index>(1, found.slots), 1, how);
}
void change_ram_slots(request& asked, planned const& found, scale how) {
  asked.ram_slots = change(found.own, 1, how);
}
std::string slots_amount(request const& asked) { return counted(wide(asked.slots.value_or(0)), "slot"); }
std::string ram_slots_amount(request const& asked) { return counted(wide(*asked.ram_slots), "slot") + " in memory"; }

request scaled(planned const& found, scale how) {
  request asked = found.asked;
  asked.named = found.kind;
  asked.memory.reset();
  found.kind->scaled(asked, found, how);
  return asked;
}

request storing_all(planned const& found) {
  request asked;
  asked.steps = found.plan.steps();
  asked.named = &store_all_kind();
  asked.state = found.asked.state;
  asked.adjoint = found.asked.adjoint;
  asked.tape = found.asked.tape;
  asked.out_of_place = found.asked.out_of_place;
  asked.time_limit = found.asked.time_limit;
  asked.deadline = found.asked.deadline;
  return asked;
}

std::string least_amount(request const& asked) {
  auto const least = asked.schedule().least;
  return grouped(wide(std::max<slot_index>(1, least ? least(asked) : 1)));
}

}  // namespace tool
