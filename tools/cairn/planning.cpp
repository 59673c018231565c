// SPDX-License-Identifier: Apache-2.0
#include "planning.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <cairn/schedule/uniform.hpp>

#include "figures.hpp"
#include "make_plan.hpp"

namespace tool {
namespace {

using factory = planned (*)(request const&);

/// In the order of the enumeration `schedule_kind`.
constexpr factory factories[] = {revolve_plan, uniform_plan,    uniform_plan,     two_level_plan,
                                 online_plan,  multistage_plan, hrevolve_plan,    disk_revolve_plan,
                                 mixed_plan,   bptt_plan,       runge_kutta_plan, action_list_plan};

bool is_complete(request const& asked) {
  switch (asked.schedule()) {
    case schedule_kind::revolve:
    case schedule_kind::online: return asked.slots || asked.memory;
    case schedule_kind::uniform:
    case schedule_kind::store_all: return true;
    case schedule_kind::two_level: return asked.period && (asked.extra_slots || asked.memory);
    case schedule_kind::multistage: return asked.ram_slots || asked.memory;
    case schedule_kind::hrevolve: return !asked.tiers.empty();
    case schedule_kind::disk_revolve: return asked.disk_write && asked.disk_read && (asked.ram_slots || asked.memory);
    case schedule_kind::mixed:
    case schedule_kind::bptt:
    case schedule_kind::runge_kutta: return asked.units.has_value();
    case schedule_kind::action_list: return !asked.actions.empty();
  }
  return false;
}

void refuse_what_clashes(request const& asked) {
  auto const kind = asked.schedule();
  refuse_foreign_keys(asked);
  if (!asked.steps && kind != schedule_kind::action_list)
    throw wrong_request{worded("$steps is not given; give the number of steps of the loop")};
  for (auto const& [slots, name] :
       {std::pair{asked.slots, "slots"}, {asked.extra_slots, "extra_slots"}, {asked.ram_slots, "ram_slots"}})
    if (slots && asked.memory) throw wrong_request{name_of_key(name) + worded(" and $memory are both given; give one of them")};
  if (asked.memory && !asked.state)
    throw wrong_request{worded("$memory is given without $state; give the size of one state, too")};
  if ((asked.adjoint || asked.tape || asked.out_of_place) && !asked.state)
    throw wrong_request{worded("$adjoint, $tape and $out_of_place are for figures in bytes; give $state, too")};
  if (!is_complete(asked)) throw wrong_request{std::string{name_of(kind)} + " needs " + worded(words_of(kind).least)};
  if (asked.slots && asked.block && kind == schedule_kind::uniform)
    throw wrong_request{worded("$slots and $block are both given; either says what uniform keeps, give one of them")};
}

}  // namespace

planned plan_of(request const& asked) {
  refuse_what_clashes(asked);
  if (asked.deadline) return factories[std::size_t(asked.schedule())](asked);
  deadline_timer deadline{asked.time_limit.value_or(usual_time_limit)};
  request timed = asked;
  timed.deadline = &deadline;
  planned found = factories[std::size_t(asked.schedule())](timed);
  found.asked.deadline = nullptr;
  return found;
}

cairn::workload workload_of(request const& asked) {
  cairn::workload work;
  work.state_bytes = asked.state->count();
  work.adjoint_bytes = asked.adjoint.value_or(*asked.state).count();
  work.tape_bytes = asked.tape.value_or(cairn::byte_size{}).count();
  work.form.step = asked.out_of_place ? cairn::step_form::out_of_place : cairn::step_form::in_place;
  switch (asked.schedule()) {
    case schedule_kind::revolve:
      if (asked.block) work.form.adjoint = cairn::adjoint_form::leaf;
      break;
    case schedule_kind::mixed:
    case schedule_kind::bptt:
    case schedule_kind::runge_kutta: work.form.adjoint = cairn::adjoint_form::recorded; break;
    default: break;
  }
  return work;
}

cairn::slot_index least_slots(request const& asked) {
  switch (asked.schedule()) {
    case schedule_kind::uniform: return cairn::uniform::least_slots(*asked.steps);
    case schedule_kind::store_all: return cairn::store_all(*asked.steps).slots();
    default: return 1;
  }
}

void refuse_budget(request const& asked, cairn::wide least) {
  throw wrong_request{worded("$memory is ") + digits(asked.memory->count()) + " B, but " + name_of(asked.schedule()) + " over " +
                      digits(cairn::wide(*asked.steps)) + " steps with states of " + digits(asked.state->count()) +
                      " B needs " + digits(least) + " B at least; give that much" +
                      (asked.schedule() == schedule_kind::revolve ? "" : worded(", or $schedule revolve"))};
}

void add_walked(planned& found) {
  using cairn::action, cairn::action_kind, cairn::step_index;
  constexpr cairn::wide most_cursor_bytes = cairn::wide{1} << 28;
  if (found.counts.advances == 0) {
    found.repetition_number = found.first_split = 0;
    return;
  }
  if (!found.walked) {
    if (found.first_split || found.plan.table_bytes() > most_cursor_bytes) return;
    auto cursor = found.plan.walk();
    action a = cursor.next();
    while (a.kind != action_kind::advance) a = cursor.next();
    found.first_split = a.to;
    return;
  }
  std::vector<std::int32_t> starts(std::size_t(found.plan.steps()) + 1);  // starts less ends of runs, by step
  auto cursor = timed_plan{found.plan, found.asked.deadline}.walk();
  for (action a = cursor.next(); a.kind != action_kind::done; a = cursor.next()) {
    if (a.kind != action_kind::advance) continue;
    if (!found.first_split) found.first_split = a.to;
    ++starts[std::size_t(a.from)];
    --starts[std::size_t(a.to)];
  }
  step_index runs = 0, most = 0;
  for (auto const change : starts) most = std::max(most, runs += change);
  found.repetition_number = most;
}

}  // namespace tool
