// SPDX-License-Identifier: Apache-2.0
#include "scaled.hpp"

#include <algorithm>
#include <limits>
#include <optional>

#include "numbers.hpp"

namespace tool {
namespace {

using cairn::slot_index;
using cairn::wide;

slot_index change(slot_index own, slot_index least, scale how) {
  if (how == scale::least) return least;
  if (how == scale::half) return std::max(least, own / 2);
  return own > std::numeric_limits<slot_index>::max() / 2 ? own : std::max<slot_index>(1, 2 * own);
}

}  // namespace

request scaled(planned const& found, scale how) {
  request asked = found.asked;
  asked.named = found.kind;
  asked.memory.reset();
  auto const slots = [&](slot_index least) { asked.slots = change(std::max<slot_index>(1, found.slots), least, how); };
  switch (found.kind) {
    case schedule_kind::store_all:
      asked.named = schedule_kind::revolve;
      asked.given = 0;
      [[fallthrough]];
    case schedule_kind::revolve:
    case schedule_kind::online: slots(1); break;
    case schedule_kind::uniform:
      asked.block.reset();
      slots(how == scale::least ? std::max<slot_index>(1, least_slots(asked)) : 1);
      break;
    case schedule_kind::two_level: asked.extra_slots = change(found.own, 0, how); break;
    case schedule_kind::multistage:
    case schedule_kind::disk_revolve: asked.ram_slots = change(found.own, 1, how); break;
    case schedule_kind::hrevolve:
      for (auto& one : asked.tiers) one.slots = change(one.slots, 0, how);
      asked.tiers.front().slots = std::max<slot_index>(1, asked.tiers.front().slots);
      break;
    case schedule_kind::mixed:
    case schedule_kind::runge_kutta: asked.units = change(*asked.units, 1, how); break;
    case schedule_kind::bptt: asked.units = change(*asked.units, 0, how); break;
    case schedule_kind::action_list: break;
  }
  return asked;
}

request storing_all(planned const& found) {
  request asked;
  asked.steps = found.plan.steps();
  asked.named = schedule_kind::store_all;
  asked.state = found.asked.state;
  asked.adjoint = found.asked.adjoint;
  asked.tape = found.asked.tape;
  asked.out_of_place = found.asked.out_of_place;
  asked.time_limit = found.asked.time_limit;
  asked.deadline = found.asked.deadline;
  return asked;
}

std::string amount(request const& asked) {
  switch (asked.schedule()) {
    case schedule_kind::two_level: return counted(wide(*asked.extra_slots), "extra slot");
    case schedule_kind::multistage:
    case schedule_kind::disk_revolve: return counted(wide(*asked.ram_slots), "slot") + " in memory";
    case schedule_kind::hrevolve: {
      std::string text;
      for (auto const& one : asked.tiers) text += (text.empty() ? "" : " + ") + grouped(wide(one.slots));
      return text + " slots";
    }
    case schedule_kind::mixed:
    case schedule_kind::bptt:
    case schedule_kind::runge_kutta: return counted(wide(*asked.units), "unit");
    default: return counted(wide(asked.slots.value_or(0)), "slot");
  }
}

std::string least_amount(request const& asked) { return grouped(wide(std::max<slot_index>(1, least_slots(asked)))); }

}  // namespace tool
