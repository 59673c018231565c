// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file device_plan.hpp  The fastest plan for a loop on a device, with frames on the device and pinned slots on the
/// host.
#include <algorithm>
#include <initializer_list>
#include <utility>
#include <vector>
#include <cairn/adapt/cuda/device_capacity.hpp>
#include <cairn/core/action.hpp>
#include <cairn/core/bytes.hpp>
#include <cairn/core/error.hpp>
#include <cairn/plan/loop/detail/workload.hpp>
#include <cairn/plan/loop/planned.hpp>
#include <cairn/plan/loop/planning_options.hpp>
#include <cairn/rules/frames_needed.hpp>
#include <cairn/rules/workload.hpp>
#include <cairn/schedule/any.hpp>
#include <cairn/schedule/detail/remarks.hpp>
#include <cairn/schedule/hrevolve.hpp>
#include <cairn/schedule/revolve.hpp>
#include <cairn/schedule/two_level.hpp>

namespace cairn {

/// A plan for a loop on a device, the capacity it is made for, and its expected time.
struct device_plan {
  any_schedule plan;     ///< states on the tiers device and host
  device_capacity capacity;  ///< the capacity to allocate: all frames that help and fit the budget
  planner by;            ///< the planner that made it
  double seconds;        ///< of the whole sweep, including copies for which steps wait
  double least_seconds;  ///< the time of the same steps and adjoints without any waiting for copies
  wide device_bytes;     ///< of frames and adjoint
  wide host_bytes;       ///< of pinned slots
};

namespace detail {

/// One of the plans that are compared.
struct device_candidate {
  any_schedule plan;
  planner by;
  double bound;  // seconds without waiting for copies
};

/// Collects plans, then forecasts their times, the most promising first.
class device_search {
 public:
  device_search(workload const& work, step_index steps, slot_index frames, slot_index host_slots,
                planning_options const& options)
      : work_{work}, steps_{steps}, frames_{frames}, host_slots_{host_slots}, options_{options} {
    on_device();
    if (host_slots_ == 0 || steps_ < 2) return;
    periods();
    tables();
  }

  /// The fastest plan that fits. A plan is skipped only if it cannot be faster.
  template <class Forecast>
  [[nodiscard]] std::vector<std::pair<device_candidate, double>> best(Forecast& forecast) {
    std::stable_sort(found_.begin(), found_.end(), [](auto const& a, auto const& b) { return a.bound < b.bound; });
    std::vector<std::pair<device_candidate, double>> best;
    for (auto& one : found_) {
      if (!best.empty() && one.bound >= best[0].second) break;
      device_capacity const needed = device_capacity_for(one.plan, work_.form.step);
      if (needed.frames > frames_ || needed.host_slots > host_slots_) continue;
      double const seconds = forecast(one.plan, device_capacity{frames_, needed.host_slots}, work_);
      if (best.empty()) best.emplace_back(std::move(one), seconds);
      else if (seconds < best[0].second) best[0] = {std::move(one), seconds};
    }
    return best;
  }

 private:
  template <class Plan>
  void add(planner by, Plan&& plan) {
    counted how{};
    schedule_counts const counts = counts_of(plan, how);
    double const bound = double(step_calls(counts, adjoint_form::one_step)) * work_.step_seconds +
                         double(counts.reversals) * work_.adjoint_seconds;
    found_.push_back({any_schedule{std::forward<Plan>(plan)}, by, bound});
  }
  /// The possible numbers of slots on the device, after sparing frames for states in use and for states fetched from
  /// the host.
  template <class Use>
  void each_extra(int least_spared, int most_spared, Use use) const {
    for (int spared = least_spared; spared <= most_spared; ++spared)
      if (frames_ >= spared) use((std::min)(frames_ - spared, steps_ < 1 ? 1 : steps_));
  }
  void on_device() {
    each_extra(0, 2, [&](slot_index slots) {
      if (slots > 0) add(planner::revolve, revolve{steps_, slots});
    });
  }
  /// The number of steps that take as long as copying a state one way.
  [[nodiscard]] double steps_a_copy() const {
    double const copy = (std::max)(work_.tiers.host.write_seconds, work_.tiers.host.read_seconds);
    return work_.step_seconds > 0 ? (std::min)(copy / work_.step_seconds, double(steps_)) : 0;
  }
  /// Periods about as long as a copy takes, and the shortest period that the slots allow. A longer period hides the
  /// copy.
  void periods() {
    step_index const shortest = (steps_ - 1) / host_slots_ + 1;
    std::vector<step_index> lengths{shortest};
    for (double const part : {0.35, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0, 1.1, 1.25, 1.5, 2.0, 3.0, 4.5}) {
      auto const length = step_index(part * steps_a_copy()) + 1;
      if (length > shortest && length < steps_) lengths.push_back(length);
    }
    for (step_index const longer : {shortest + shortest / 4 + 1, shortest + shortest / 2 + 1, 2 * shortest})
      if (longer < steps_) lengths.push_back(longer);
    std::sort(lengths.begin(), lengths.end());
    lengths.erase(std::unique(lengths.begin(), lengths.end()), lengths.end());
    for (step_index const length : lengths)
      each_extra(1, 5, [&](slot_index extra) {
        add(planner::two_level, two_level{steps_, length, (std::min)(extra, length), {tier::host, tier::device}});
      });
  }
  /// H-Revolve counts the full time of each copy, though steps continue meanwhile. Counting only fractions of it makes
  /// plans that copy more.
  void tables() {
    wide const rows = options_.most_table_cells / wide(steps_);
    slot_index const slots = rows < wide(host_slots_) ? slot_index(rows) : host_slots_;
    if (slots == 0 || steps_ > most_walked_steps) return;
    double const unit = work_.step_seconds > 0 ? work_.step_seconds : 1;
    for (double const part : {1.0, 0.4, 0.1})
      each_extra(1, 4, [&](slot_index extra) {
        storage_tier const tiers[] = {{extra, 0, 0, tier::device},
                                      {slots, part * work_.tiers.host.write_seconds / unit,
                                       part * work_.tiers.host.read_seconds / unit, tier::host}};
        add(planner::hrevolve, hrevolve{steps_, tiers, 2, {.most_table_bytes = options_.most_table_bytes}});
      });
  }

  workload const& work_;
  step_index steps_;
  slot_index frames_, host_slots_;
  planning_options const& options_;
  std::vector<device_candidate> found_;
};

inline constexpr char const* planning_for_device = "cairn::plan_for_device";

[[nodiscard]] inline step_index steps_on_device(workload const& work) {
  if (!work.steps)
    throw invalid_plan{
        planning_for_device, "the workload does not say how many steps the loop has", {}, "give workload::steps"};
  check_steps(planning_for_device, *work.steps);
  return *work.steps;
}
[[nodiscard]] inline slot_index least_device_frames(workload const& work) {
  return device_capacity_for(revolve{*work.steps < 3 ? *work.steps : 3, 1}, work.form.step).frames;
}
/// \param capacity  at least the least number of frames
template <class Forecast>
[[nodiscard]] device_plan best_within(workload const& work, device_capacity capacity, Forecast& forecast,
                                       planning_options const& options) {
  auto best = device_search{work, *work.steps, capacity.frames, capacity.host_slots, options}.best(forecast);
  auto& [plan, seconds] = best.front();
  auto const sizes = sizes_of(work);
  device_capacity const needed{capacity.frames, device_capacity_for(plan.plan, work.form.step).host_slots};
  wide const frame_bytes = wide(capacity.frames) * sizes.state, host_bytes = wide(needed.host_slots) * sizes.state;
  return {
      std::move(plan.plan), needed, plan.by, seconds, plan.bound, sizes.adjoint + sizes.tape + frame_bytes, host_bytes};
}

}  // namespace detail

/// The fastest plan in `device` bytes of a device and `work.tiers.host.bytes` of pinned memory, among Revolve on the
/// device only, two levels with periods on the host, and H-Revolve. Called before the first step, and before anything
/// is allocated.
///
/// \param device  bytes for frames and the adjoint
/// \param work  `steps`, `state_bytes`, `adjoint_bytes`, `step_seconds`, `adjoint_seconds`, `form.step`, and in
///   `tiers.host` the bytes and the seconds of one copy each way; for an in-place step also
///   `tiers.device.write_seconds`, a copy within the device. Measured values are best
/// \param forecast  `forecast(plan, capacity, work)` returns seconds:
///   `device_forecast` runs the sweep on a virtual clock, so that copies for which nothing waits cost nothing
/// \param options  only `most_table_cells` and `most_table_bytes` are used
/// Cost: forecasts of the plans that could be the best, about 20 ns per step each   \throws infeasible_budget   with
/// the least feasible bytes
/// \throws invalid_plan, overflow_error   for an invalid workload, or one without steps or bytes of a state
template <class Forecast>
[[nodiscard]] device_plan plan_for_device(byte_size device, workload const& work, Forecast forecast,
                                          planning_options const& options = {}) {
  step_index const steps = detail::steps_on_device(work);
  auto const sizes = detail::sizes_of(work);
  detail::check_state_bytes(work, detail::planning_for_device);
  wide const beside = sizes.adjoint + sizes.tape;
  wide const capacity = device.count() > beside ? device.count() - beside : 0;
  constexpr step_index in_work = 5;
  wide const of_use = wide(steps) + in_work;
  slot_index const frames = slot_index(capacity / sizes.state > of_use ? of_use : capacity / sizes.state);
  slot_index const least = detail::least_device_frames(work);
  if (frames < least)
    throw infeasible_budget{
        detail::planning_for_device,
        "no plan fits the budget",
        {{"budget", device.count()}, {"least bytes", beside + wide(least) * sizes.state}, {"state bytes", sizes.state}},
        "give the least bytes, or more"};
  wide const host = work.tiers.host.bytes;
  slot_index const host_slots = slot_index(host / sizes.state > wide(steps) ? wide(steps) : host / sizes.state);
  return detail::best_within(work, {frames, host_slots}, forecast, options);
}
/// The same for a given capacity, for example what a `device_sweep` could allocate: `plan_for_device(sweep.capacity(),
/// work, device_forecast{})`. Bytes are used only to report totals.
/// \throws infeasible_budget   with the least feasible number of frames
template <class Forecast>
[[nodiscard]] device_plan plan_for_device(device_capacity capacity, workload const& work, Forecast forecast,
                                          planning_options const& options = {}) {
  step_index const steps = detail::steps_on_device(work);
  static_cast<void>(detail::sizes_of(work));
  slot_index const least = detail::least_device_frames(work);
  if (capacity.frames < least || capacity.host_slots < 0)
    throw infeasible_budget{detail::planning_for_device,
                            "no plan fits the capacity",
                            {{"frames", capacity.frames}, {"least frames", least}, {"host slots", capacity.host_slots}},
                            "give the least frames, or more"};
  slot_index const of_use = steps < 1 ? 1 : steps;
  return detail::best_within(work, {capacity.frames, capacity.host_slots < of_use ? capacity.host_slots : of_use},
                             forecast, options);
}

}  // namespace cairn
