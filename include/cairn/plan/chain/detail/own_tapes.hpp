// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file own_tapes.hpp  The fastest plan of a chain whose tapes live only during their own adjoint, with a budget in
/// slots.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <utility>
#include <vector>
#include <cairn/core/chain.hpp>
#include <cairn/core/error.hpp>
#include <cairn/core/wide.hpp>
#include <cairn/plan/chain/detail/chain_model.hpp>
#include <cairn/plan/chain/detail/segments.hpp>
#include <cairn/plan/chain/detail/slot_division.hpp>
#include <cairn/schedule/detail/value_list.hpp>
#include <cairn/schedule/work_limit.hpp>

namespace cairn::detail {

/// The kind of plan of Griewank and Walther (2000) and their followers, for stages that differ: states are kept, and a
/// stage is recorded only when its adjoint comes next. Let E(s, t, m) be the least time of runs of stages s..t beyond
/// the first, with m free slots, where state s is kept by the caller:
///
///     E(s, s, m) = 0  if its tape and the working bytes of its run and its adjoint fit
///     E(s, t, m) = min over j of  u_s + .. + u_(j-1) + E(j, t, m - x_j) + E(s, j-1, m)  if the runs from s to j fit
///
/// Only states are kept, so slots are exact in bytes if the unit divides all x. That unit is chosen if it gives no more
/// slots than allowed. If sizes are rounded up, the plan keeps within the budget in bytes; if they are rounded down,
/// its time is a lower bound for every such plan. Times are exact. Cost: O(L^3 slots) time, 8 L^2 slots / 2 bytes at
/// most.
class own_tape_table {
 public:
  /// \param model  must outlive the table   \param budget  bytes, without state 0   \param meter  counts the work; null
  ///   for no limit
  /// \throws invalid_plan   for an invalid division, and if the table would take more than 2 GiB
  /// \throws too_much_work
  [[gnu::cold]] own_tape_table(chain_model const& model, std::int64_t budget, slot_division division = {},
                               rounding by = rounding::up, work_meter* meter = nullptr)
      : model_{model},
        ends_{model.stages + 1},
        scale_{std::max<std::int64_t>(budget, 0), unit(model, std::max<std::int64_t>(budget, 0), division, by), by,
               who} {
    for (std::int64_t i = 0; i < ends_; ++i) x_.push_back(i == 0 ? 0 : scale_.size(model.x[std::size_t(i)]));
    if (budget < 0) return;
    wide bytes = 0;
    for (std::int64_t i = 0; i < ends_; ++i)
      bytes += wide(ends_ - i) * wide(top(i) - bottom(i) + 1) * sizeof(std::int64_t);
    check_chain_table(model, scale_, bytes, usual_table_bytes, who);
    rows_.resize(std::size_t(ends_ * (ends_ + 1) / 2));
    for (std::int64_t s = ends_; s-- > 0;)
      for (std::int64_t t = s; t < ends_; ++t)
        count_work(meter, fill(s, t), [&] { return double(ends_ - s) / double(ends_); });
  }

  /// Whether there is a plan. If sizes are rounded down: whether there may be one.
  [[nodiscard]] bool feasible() const noexcept { return extra_forward() < endless; }
  /// Time of stages run again; `endless` if there is no plan. Rounded up: the time of the plan. Rounded down: no plan
  /// of this kind takes less.
  [[nodiscard]] std::int64_t extra_forward() const noexcept {
    return rows_.empty() ? endless : time(0, ends_ - 1, scale_.slots());
  }
  /// Whether no plan of this kind is faster.
  [[nodiscard]] bool is_exact() const noexcept {
    return std::all_of(model_.x.begin() + 1, model_.x.end(),
                       [this](std::int64_t bytes) { return bytes % scale_.unit() == 0; });
  }
  /// The plan; empty if there is none.   \pre sizes are rounded up
  [[nodiscard, gnu::cold]] std::vector<action> actions() const {
    std::vector<action> plan;
    if (!feasible()) return plan;
    struct part { std::int64_t from, to, slots; bool is_drop; };
    value_list<part> open{{0, ends_ - 1, scale_.slots(), false}};
    while (!open.empty()) {
      auto const [s, t, slots, is_drop] = open.back();
      open.pop_back();
      if (is_drop) {
        plan.push_back(chain_actions::drop(s));
      } else if (s == model_.stages) {
        plan.push_back(chain_actions::turn(s));
      } else if (s == t) {
        append_records(plan, s, s + 1);
        append_adjoints(plan, s, s + 1);
      } else {
        std::int64_t const j = split_of(s, t, slots);
        append_run(plan, s, j);
        open.push_back({s, j - 1, slots, false});
        if (j < model_.stages) open.push_back({j, j, 0, true});
        open.push_back({j, t, slots - x_[std::size_t(j)], false});
      }
    }
    return plan;
  }
  /// Bytes of memory that the table takes.
  [[nodiscard]] std::size_t bytes() const noexcept {
    std::size_t sum = rows_.size() * sizeof(row);
    for (auto const& one : rows_) sum += one.times.size() * sizeof(std::int64_t);
    return sum;
  }
  [[nodiscard]] slot_scale const& scale() const noexcept { return scale_; }  ///< how bytes are rounded

 private:
  static constexpr char const* who = "cairn::chain_planner";

  /// Times of one interval by free slots; below `least` there is no plan.
  struct row {
    std::int64_t least = 0;
    value_list<std::int64_t> times;
  };

  [[nodiscard]] static std::int64_t unit(chain_model const& c, std::int64_t budget, slot_division division,
                                         rounding by) {
    if (division.unit != 0 || division.slots < 0) return unit_of(division, c, budget, by, who);
    if (division.slots == 0) {
      wide const intervals = wide(c.stages + 1) * wide(c.stages + 2) / 2;
      division.slots = std::int64_t(std::clamp<wide>(wide(usual_table_bytes) / (8 * intervals), 16, 500));
    }
    std::int64_t exact = 0;
    for (std::size_t i = 1; i < c.x.size(); ++i) exact = std::gcd(exact, c.x[i]);
    if (exact == 0) return std::max<std::int64_t>(1, budget);
    return budget / exact <= division.slots ? exact : unit_of(division, c, budget, by, who);
  }
  /// The least and the most slots that can be free if state s is the first one.
  [[nodiscard]] std::int64_t bottom(std::int64_t s) const noexcept { return s == 0 ? scale_.slots() : 0; }
  [[nodiscard]] std::int64_t top(std::int64_t s) const noexcept {
    return std::int64_t{scale_.slots()} - x_[std::size_t(s)];
  }
  [[nodiscard]] row& at(std::int64_t s, std::int64_t t) noexcept {
    return rows_[std::size_t(s * (2 * ends_ - s - 1) / 2 + t)];
  }
  [[nodiscard]] row const& at(std::int64_t s, std::int64_t t) const noexcept {
    return rows_[std::size_t(s * (2 * ends_ - s - 1) / 2 + t)];
  }
  [[nodiscard]] std::int64_t time(std::int64_t s, std::int64_t t, std::int64_t slots) const noexcept {
    row const& of = at(s, t);
    return slots < of.least ? endless : of.times[std::size_t(slots - of.least)];
  }
  /// Bytes of stage s by itself, or of the loss.
  [[nodiscard]] std::int64_t own_need(std::int64_t s) const noexcept {
    std::size_t const i = std::size_t(s);
    return s == model_.stages ? model_.b[i] : model_.g[i + 1] + model_.s[i] + (std::max)(model_.f[i], model_.b[i]);
  }
  /// Bytes of the run of stage i on the way from state s, without the adjoint.
  [[nodiscard]] std::int64_t run_need(std::int64_t i, std::int64_t s) const noexcept {
    std::size_t const k = std::size_t(i);
    return (i == s ? 0 : model_.x[k]) + model_.x[k + 1] + model_.f[k];
  }

  /// Fills the row of stages s..t; returns how many sums that took.
  wide fill(std::int64_t s, std::int64_t t) {
    std::int64_t const low = bottom(s), high = top(s);
    row& out = at(s, t);
    out.least = high + 1;
    wide sums_made = 64;
    if (high < low) return sums_made;
    value_list<std::int64_t> times(std::size_t(high - low + 1), endless);
    if (s == t) {
      for (std::int64_t m = std::max<std::int64_t>(low, scale_.need(own_need(s))); m <= high; ++m)
        times[std::size_t(m - low)] = 0;
    } else {
      std::int64_t run = 0;
      for (std::int64_t j = s + 1; j <= t; ++j) {
        run = (std::max)(run, run_need(j - 1, s));
        row const &right = at(j, t), &left = at(s, j - 1);
        std::int64_t const x = x_[std::size_t(j)], need = scale_.need(model_.g[std::size_t(t) + 1] + run),
                           time = model_.run(s, j);
        if (need > high) break;
        std::int64_t const from = (std::max)({low, need, x + right.least, left.least});
        if (from > high) continue;
        sums_made += wide(high - from + 1);
        std::int64_t* const sums = times.data() + (from - low);
        std::int64_t const *const a = left.times.data() + (from - left.least), *const b = right.times.data() +
                                                                                          (from - x - right.least);
        for (std::size_t m = 0; m < std::size_t(high - from + 1); ++m)
          sums[m] = (std::min)(sums[m], time + a[m] + b[m]);
      }
    }
    auto const first = std::find_if(times.begin(), times.end(), [](std::int64_t one) { return one < endless; });
    out.least = low + (first - times.begin());
    out.times.assign(first, times.end());
    return sums_made;
  }
  [[nodiscard]] std::int64_t split_of(std::int64_t s, std::int64_t t, std::int64_t slots) const noexcept {
    std::int64_t const wanted = time(s, t, slots);
    std::int64_t run = 0;
    for (std::int64_t j = s + 1; j < t; ++j) {
      run = (std::max)(run, run_need(j - 1, s));
      std::int64_t const x = x_[std::size_t(j)];
      if (slots < scale_.need(model_.g[std::size_t(t) + 1] + run)) break;
      if (slots - x >= at(j, t).least && slots >= at(s, j - 1).least &&
          model_.run(s, j) + time(s, j - 1, slots) + time(j, t, slots - x) == wanted)
        return j;
    }
    return t;
  }

  chain_model const& model_;
  std::int64_t ends_;  ///< number of stages, with the loss
  slot_scale scale_;
  value_list<std::int64_t> x_;  ///< in slots
  std::vector<row> rows_;
};

}  // namespace cairn::detail
