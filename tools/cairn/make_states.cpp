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
#include "scaled.hpp"
#include "what_it_does.hpp"

namespace tool {
namespace {

using cairn::slot_index;
using cairn::step_index;
using cairn::wide;

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
  if (asked.slots && asked.block)
    throw wrong_request{worded("$slots and $block are both given; either says what uniform keeps, give one of them")};
  bool const all = &asked.schedule() == &store_all_kind();
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
  found.repetition_number = found.counts.advances < wide(plan.steps()) ? 1 : 2;
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
std::string store_all_words(planned const& found) {
  return "It keeps " + counted(wide(found.counts.peak_slots), "state") +
         ", every one that a step is reversed from, and runs no step twice.\n";
}
std::string online_words(planned const& found) {
  return "It does not know how long the loop will be: whenever another step follows, it decides whether to keep "
         "the current state,\n"
         "and gives up the kept state that is missed least. Here the loop ends after " +
         counted(wide(found.plan.steps()), "step") +
         "; the gaps between kept "
         "states\nare then reversed from the last to the first, each by the binomial schedule in the slots that "
         "are free.\n";
}

slot_index least_of_uniform(request const& asked) { return cairn::uniform::least_slots(*asked.steps); }
void change_uniform(request& asked, planned const& found, scale how) {
  asked.block.reset();
  slot_index const least = how == scale::least ? std::max<slot_index>(1, least_of_uniform(asked)) : 1;
  asked.slots = change(std::max<slot_index>(1, found.slots), least, how);
}
/// Fewer slots than all are those of revolve.
void change_store_all(request& asked, planned const& found, scale how) {
  asked.named = &revolve_kind();
  asked.given = 0;
  change_slots(asked, found, how);
}
void change_extra_slots(request& asked, planned const& found, scale how) {
  asked.extra_slots = change(found.own, 0, how);
}
std::string extra_slots_amount(request const& asked) {
  return counted(wide(*asked.extra_slots), "extra slot");
}
bool has_slots(request const& asked) { return asked.slots || asked.memory; }
bool has_period(request const& asked) { return asked.period && (asked.extra_slots || asked.memory); }

constexpr std::string_view for_revolve[] = {"slots", "memory", "block", "initial"},
                           for_uniform[] = {"slots", "memory", "block"}, for_store_all[] = {"memory"},
                           for_two_level[] = {"period", "extra_slots", "memory"},
                           for_online[] = {"slots", "memory", "eager"};

constexpr schedule_kind state_rows[] = {
    {"revolve", for_revolve, "$slots, or $memory and $state; give one of these", has_slots, revolve_plan,
     revolve_words, change_slots, slots_amount},
    {"uniform", for_uniform, nullptr, nullptr, uniform_plan, uniform_words, change_uniform, slots_amount,
     least_of_uniform},
    {"store_all", for_store_all, nullptr, nullptr, uniform_plan, store_all_words, change_store_all, slots_amount},
    {"two_level", for_two_level, "$period and $extra_slots, or $period, $memory and $state; give these", has_period,
     two_level_plan, two_level_words, change_extra_slots, extra_slots_amount, nullptr, "extra_slots"},
    {"online", for_online, "$slots, or $memory and $state; give one of these", has_slots, online_plan, online_words,
     change_slots, slots_amount},
};

}  // namespace

std::span<schedule_kind const> kinds_of_states() noexcept { return state_rows; }

}  // namespace tool
