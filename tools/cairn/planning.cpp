// SPDX-License-Identifier: Apache-2.0
#include "planning.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "figures.hpp"

namespace tool {
namespace {

void refuse_what_clashes(request const& asked) {
  auto const& kind = asked.schedule();
  refuse_foreign_keys(asked);
  if (!asked.steps && &kind != &list_kind())
    throw wrong_request{worded("$steps is not given; give the number of steps of the loop")};
  for (auto const& [slots, name] :
       {std::pair{asked.slots, "slots"}, {asked.extra_slots, "extra_slots"}, {asked.ram_slots, "ram_slots"}})
    if (slots && asked.memory) throw wrong_request{name_of_key(name) + worded(" and $memory are both given; give one of them")};
  if (asked.memory && !asked.state)
    throw wrong_request{worded("$memory is given without $state; give the size of one state, too")};
  if ((asked.adjoint || asked.tape || asked.out_of_place) && !asked.state)
    throw wrong_request{worded("$adjoint, $tape and $out_of_place are for figures in bytes; give $state, too")};
  if (kind.complete && !kind.complete(asked))
    throw wrong_request{std::string{kind.name} + " needs " + worded(kind.needs)};
}

}  // namespace

planned plan_of(request const& asked) {
  refuse_what_clashes(asked);
  if (asked.deadline) return asked.schedule().plan(asked);
  deadline_timer deadline{asked.time_limit.value_or(usual_time_limit)};
  request timed = asked;
  timed.deadline = &deadline;
  planned found = timed.schedule().plan(timed);
  found.asked.deadline = nullptr;
  return found;
}

cairn::workload workload_of(request const& asked) {
  cairn::workload work;
  work.state_bytes = asked.state->count();
  work.adjoint_bytes = asked.adjoint.value_or(*asked.state).count();
  work.tape_bytes = asked.tape.value_or(cairn::byte_size{}).count();
  work.form.step = asked.out_of_place ? cairn::step_form::out_of_place : cairn::step_form::in_place;
  if (asked.schedule().keeps_tapes) work.form.adjoint = cairn::adjoint_form::recorded;
  else if (asked.block && &asked.schedule() == &revolve_kind()) work.form.adjoint = cairn::adjoint_form::leaf;
  return work;
}

void refuse_budget(request const& asked, cairn::wide least) {
  throw wrong_request{worded("$memory is ") + digits(asked.memory->count()) + " B, but " + asked.schedule().name + " over " +
                      digits(cairn::wide(*asked.steps)) + " steps with states of " + digits(asked.state->count()) +
                      " B needs " + digits(least) + " B at least; give that much" +
                      (&asked.schedule() == &revolve_kind() ? "" : worded(", or $schedule revolve"))};
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
