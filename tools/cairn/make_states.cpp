// SPDX-License-Identifier: Apache-2.0
// Schedules that keep states in one place, and the periodic one.
#include <algorithm>
#include <limits>
#include <optional>

#include <cairn/schedule/any.hpp>
#include <cairn/schedule/binomial.hpp>
#include <cairn/schedule/leaves.hpp>
#include <cairn/schedule/online.hpp>
#include <cairn/schedule/revolve.hpp>
#include <cairn/schedule/two_level.hpp>
#include <cairn/schedule/uniform.hpp>

#include "figures.hpp"
#include "make_plan.hpp"

namespace tool {
namespace {

using cairn::slot_index;
using cairn::step_index;

using cairn::useful_slots;

/// A kind of plan: the fewest and the most slots that it takes, and a plan with a given number of slots. Those of
/// cairn::plan_within hold a plan as an any_schedule, whose bytes it counts.
struct revolve_factory {
  step_index steps;
  bool free_initial;  ///< the caller's initial state counts as one of the slots
  slot_index least() const { return 1; }
  slot_index most() const { return useful_slots(steps); }
  cairn::revolve as_is(slot_index slots) const {
    return {steps, free_initial ? slots - 1 : slots, {.free_initial = free_initial}};
  }
  cairn::any_schedule operator()(slot_index slots) const { return as_is(slots); }
};
struct leaves_factory {
  step_index steps, block;
  bool free_initial;
  step_index count() const { return steps / block + (steps % block != 0 ? 1 : 0); }
  revolve_factory over() const { return {count(), free_initial}; }
  slot_index least() const { return over().least(); }
  slot_index most() const { return over().most(); }
  cairn::leaves<cairn::revolve> as_is(slot_index slots) const { return {steps, block, over().as_is(slots)}; }
  cairn::any_schedule operator()(slot_index slots) const { return as_is(slots); }
};
struct uniform_factory {
  step_index steps;
  slot_index least() const { return cairn::uniform::least_slots(steps); }
  slot_index most() const { return std::max(least(), steps - 1); }
  cairn::any_schedule operator()(slot_index slots) const { return cairn::uniform{steps, {.slots = slots}}; }
};
struct two_level_factory {
  step_index steps, period;
  slot_index least() const { return 0; }
  slot_index most() const { return useful_slots(std::min(steps, period)); }
  auto operator()(slot_index extra) const { return cairn::two_level{steps, period, extra}; }
};
struct online_factory {
  step_index steps;
  bool eager;
  slot_index least() const { return 1; }
  slot_index most() const {
    return useful_slots(eager && steps < std::numeric_limits<step_index>::max() ? steps + 1 : steps);
  }
  auto operator()(slot_index slots) const { return cairn::online{slots, {.eager = eager}}.stopping_at(steps); }
};

void need_one(slot_index slots, char const* kind) {
  if (slots < 1) throw wrong_request{worded("$slots is 0, but ") + kind + " needs 1 at least; give that many"};
}

/// The figures of a plan, within a budget as cairn::plan_within gives it.
template <class Plan>
planned figures_as_chosen(request const& asked, Plan const& plan, slot_index slots) {
  return asked.memory ? figures(asked, cairn::any_schedule{plan}, slots) : figures(asked, plan, slots);
}

}  // namespace

planned revolve_plan(request const& asked) {
  // Within a budget the plan is that of cairn::plan_within: the caller's initial state takes no memory twice.
  auto const initial = asked.initial.value_or(asked.memory ? initial_state::pinned_free : initial_state::releasable);
  leaves_factory const leaves{*asked.steps, asked.block.value_or(1), initial == initial_state::pinned_free};
  slot_index const slots = asked.slots   ? *asked.slots
                           : asked.block ? most_slots(asked, leaves)
                                         : most_slots(asked, leaves.over());
  need_one(slots, "revolve");
  auto const inner = leaves.over().as_is(slots);
  auto found = asked.block ? figures_as_chosen(asked, leaves.as_is(slots), slots)
                           : figures_as_chosen(asked, inner, slots);
  found.asked.initial = initial;
  if (asked.block) found.blocks = leaves.count();
  found.repetition_number = inner.repetition_number();
  found.first_split = inner.first_split() * leaves.block;
  return found;
}

planned uniform_plan(request const& asked) {
  bool const all = asked.schedule() == schedule_kind::store_all;
  bool const by_memory = asked.memory && !all && !asked.block;
  uniform_factory const make{*asked.steps};
  auto const slots = by_memory ? std::optional{cairn::slot_index{make(most_slots(asked, make)).slots()}} : asked.slots;
  auto const plan =
      all ? cairn::store_all(*asked.steps) : cairn::uniform{*asked.steps, {.block = asked.block, .slots = slots}};
  if (asked.memory && !by_memory)
    if (auto const needed = cairn::estimate(cairn::any_schedule{plan}, workload_of(asked)).memory_bytes;
        needed > asked.memory->count())
      refuse_budget(asked, needed);
  auto found = figures_as_chosen(asked, plan, slots.value_or(plan.slots()));
  found.blocks = plan.blocks();
  found.repetition_number = found.first_split = 0;
  if (plan.steps() < 2) return found;
  found.repetition_number = found.counts.advances < cairn::wide(plan.steps()) ? 1 : 2;
  found.first_split = plan.blocks() > 1 ? plan.checkpoint(0) : 1;
  return found;
}

planned two_level_plan(request const& asked) {
  auto const n = *asked.steps, period = *asked.period;
  two_level_factory const make{n, period};
  auto const plan = make(asked.extra_slots ? *asked.extra_slots : most_slots(asked, make));
  auto found = figures(asked, plan, plan.slots());
  found.own = plan.extra_slots();
  found.blocks = n / period + (n % period != 0 ? 1 : 0);
  found.first_split = std::min(n, period);
  add_walked(found);
  step_index const longest = std::min(n, period);
  if (!found.repetition_number)
    found.repetition_number = 1 + (longest < 2 ? 0 : cairn::repetitions(longest, plan.extra_slots() + 1));
  return found;
}

planned online_plan(request const& asked) {
  refuse_walk(asked, *asked.steps);  // its forward run is always walked
  online_factory const make{*asked.steps, asked.eager};
  slot_index const slots = asked.slots ? *asked.slots : most_slots(asked, make);
  need_one(slots, "online");
  auto found = figures(asked, make(slots), slots);
  add_walked(found);
  return found;
}

}  // namespace tool
