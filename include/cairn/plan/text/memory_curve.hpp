// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file memory_curve.hpp  The memory of a sweep over its actions: in states, or in bytes if sizes are given.
#include <cstddef>
#include <vector>
#include <cairn/core/action.hpp>
#include <cairn/core/memory_sample.hpp>
#include <cairn/core/sweep_bytes.hpp>
#include <cairn/detail/linkage.hpp>
#include <cairn/plan/loop/detail/frame_counter.hpp>
#include <cairn/plan/loop/detail/workload.hpp>
#include <cairn/plan/loop/estimate.hpp>
#include <cairn/plan/loop/verify.hpp>
#include <cairn/plan/text/action_limits.hpp>
#include <cairn/rules/detail/sweep_needs.hpp>

namespace cairn {

/// Memory that a sweep holds during each of its actions; the most at once if it changes during the action.
struct memory_curve {
  bool in_bytes = false;   ///< in bytes of everything that `cost::peak_bytes` counts; otherwise in states, including
                           ///< those in use
  std::vector<wide> held;  ///< one number per action
  std::vector<wide> kept;  ///< how much of `held` the checkpoints in slots take after the action
  std::vector<sweep_parts> parts;  ///< of `held`, by purpose, if it is in bytes
  wide peak = 0;           ///< the largest of `held`
  std::size_t summit = 0;  ///< index of the first action that holds the peak
};

namespace detail {

/// All that a curve needs to know of a sweep besides its actions.
struct curve_measures {
  counted_plan counted;
  sweep_form form;
  sweep_needs needs;
  sweep_sizes sizes;
};

[[nodiscard]] CAIRN_DECL memory_curve curve_of(std::vector<action> const& actions, curve_measures const& by);

/// \throws invalid_plan   for more than `most_drawn_actions`; O(1) for a loop of more leaves than these
/// \throws invalid_schedule   at the first action that cannot be obeyed
template <schedule Plan>
[[nodiscard]] std::vector<action> curve_actions(Plan const& plan, char const* who) {
  wide const most = most_drawn_actions;
  auto const refuse_more = [&](wide number) {
    if (number > most)
      throw invalid_plan{who,
                         "too many actions for a curve",
                         {{"steps", plan.steps()}, {"most actions", most}},
                         "take a shorter loop within the same slots: its pattern is the same"};
  };
  if (plan.leaf() > 0) refuse_more(wide(plan.steps() / plan.leaf()));
  std::vector<action> all;
  accepted(interpret(plan, interpreter{limits_of(plan)},
                     [&](wide number, action const& taken) {
                       refuse_more(number);
                       if (taken.kind != action_kind::done) all.push_back(taken);
                     }),
           who);
  return all;
}

}  // namespace detail

/// The memory of a sweep over its actions. Its peak is `estimate(plan, work).peak_bytes`, or its `peak_states` if the
/// workload has no sizes, provided that estimate is exact (`cost::peak_is_exact`); otherwise the curve is exact, and
/// the estimate may be up to three states higher. Cost: one walk, and one `estimate`; 256 bytes per action.
/// \throws invalid_plan   for more than `most_drawn_actions` actions, if the workload has sizes but not those of its
///   tapes, and as `estimate`
/// \throws invalid_schedule, overflow_error
template <class Schedule>
[[nodiscard]] memory_curve memory_over(Schedule const& plan, workload const& given = {}) {
  constexpr bool is_schedule = schedule<Schedule>;
  static_assert(is_schedule, "cairn: memory is counted over a schedule, for example cairn::revolve{n, slots}");
  if constexpr (!is_schedule) return {};
  else {
    auto const actions = detail::curve_actions(plan, "cairn::memory_over");
    workload work = detail::as_run(plan, given);
    bool const has_sizes = (work.state_bytes | detail::initial_of(work) | detail::adjoint_of(work)) != 0;
    if (!has_sizes && work.tape_bytes == unknown_bytes) work.tape_bytes = 0;  // states are counted
    detail::check_tape_bytes(work, plan.leaf(), "cairn::memory_over");
    return detail::curve_of(actions, {detail::counted_plan_of(plan, work.form), work.form,
                                      detail::needs_of(plan, estimate(plan, work).counts, work),
                                      detail::sizes_of(work, plan.leaf())});
  }
}

/// The curve as samples, one for each action: to be shown beside those of a run.
/// \throws overflow_error   beyond 2^63 - 1 bytes
[[nodiscard]] CAIRN_DECL std::vector<memory_sample> samples_of(memory_curve const& curve);

}  // namespace cairn

#ifndef CAIRN_SEPARATE_COMPILATION
#include <cairn/plan/text/impl/memory_curve.ipp>
#endif
