// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file figures.hpp  The figures of a plan, and the most slots that fit a budget; shared by the functions that make
/// plans.
#include <string>

#include <cairn/plan/loop/most_slots.hpp>
#include <cairn/plan/loop/verify.hpp>

#include "deadline_timer.hpp"
#include "numbers.hpp"
#include "planning.hpp"
#include "wrong_request.hpp"

namespace tool {

/// Counts a plan by a checked walk. The check keeps a table of the slots in use; plans with very many slots are counted
/// without it.
template <class Plan>
[[nodiscard]] cairn::schedule_counts walk(Plan const& plan) {
  constexpr cairn::slot_index most_checked = 100'000;
  return plan.slots() <= most_checked ? cairn::verify(plan) : cairn::walked_counts(plan);
}

/// \throws wrong_request   for more steps than are walked
inline void refuse_walk(request const& asked, cairn::step_index steps) {
  if (steps > cairn::most_walked_steps)
    throw wrong_request{worded("$steps is ") + std::to_string(steps) + ", but the totals of " + asked.schedule().name +
                        " are found by walks over at most " + std::to_string(cairn::most_walked_steps) +
                        "; give fewer"};
}

/// \throws wrong_request   for a long plan whose totals only a walk can tell
template <class Plan>
[[nodiscard]] planned figures(request const& asked, Plan const& plan, cairn::slot_index slots) {
  planned found{
      asked, &asked.schedule(), plan, slots, slots, {}, plan.steps() <= cairn::most_walked_steps, {}, {}, {}, {}, {}, {},
      ""};
  if (!cairn::knows_counts(plan)) refuse_walk(asked, plan.steps());
  timed_plan const timed{plan, asked.deadline};
  if (found.walked) found.counts = walk(timed);
  else if constexpr (cairn::counted_schedule<Plan>) found.counts = plan.counts();
  found.remark = cairn::remark_of(plan);
  if (asked.state) found.sizes = cairn::estimate(timed, workload_of(asked));
  return found;
}

/// Adds what a walk shows beside the totals: for plans that were walked, the repetition number; and the first split,
/// unless it is known or a cursor would take very much memory.   Cost: one walk, and 4 bytes per step during it; else a
/// few actions
void add_walked(planned& found);

/// Both, and the costs of a plan that weighs steps against transfers.
template <class Plan>
[[nodiscard]] planned walked_figures(request const& asked, Plan const& plan) {
  auto found = figures(asked, plan, plan.slots());
  add_walked(found);
  if constexpr (requires { plan.cost_without_turns(); }) {
    found.cost = plan.cost();
    found.cost_without_turns = plan.cost_without_turns();
  }
  return found;
}

/// \throws wrong_request   always, with the least bytes
[[noreturn]] void refuse_budget(request const& asked, cairn::wide least);

/// A kind of plan that checks the time while its plans are made and walked.
template <class Make>
struct timed_factory : Make {
  deadline_timer* by;
  [[nodiscard]] auto operator()(cairn::slot_index slots) const {
    by->check("the search for the slots");
    return timed_plan{Make::operator()(slots), by};
  }
};

/// The most slots of `make` that fit the budget; see `cairn::most_slots_within`.   \throws wrong_request   if none fit
template <class Make>
[[nodiscard]] cairn::slot_index most_slots(request const& asked, Make const& make) {
  auto const fit =
      cairn::most_slots_within(*asked.memory, workload_of(asked), timed_factory<Make>{make, asked.deadline});
  if (!fit.fits) refuse_budget(asked, fit.bytes);
  return fit.slots;
}

}  // namespace tool
