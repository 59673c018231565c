// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file unit_table.hpp  How many runs of steps are needed for every part of a loop if states and tapes share one
/// budget.
#include <cstddef>
#include <cstdint>
#include <cairn/core/action.hpp>
#include <cairn/core/detail/table.hpp>
#include <cairn/core/wide.hpp>
#include <cairn/schedule/detail/least_sum.hpp>
#include <cairn/schedule/detail/remarks.hpp>
#include <cairn/schedule/detail/shared.hpp>
#include <cairn/schedule/work_limit.hpp>

namespace cairn::detail {

/// The rules of a budget of units.
struct unit_rules {
  slot_index tape_units = 1;   ///< units of a tape; a state takes 1
  bool keeps_states = true;
  bool keeps_tapes = true;
  bool restarts = false;       ///< the state at the end of a kept tape can be restored
  bool holds_initial = false;  ///< the initial state can always be restored and takes no unit
};

/// Two numbers for every length n and every number m of free units: the runs of steps needed to reverse n steps,
/// recorded runs included, if
/// - alone(n, m): the first of their states is live, but not kept;
/// - held(n, m): the first state can be restored until all n steps are reversed, at no cost in units here.
/// Either the first step is recorded, or the loop runs on to another state, y steps further, which is `alone` there.
/// With a = tape_units:
/// alone(n, m) = min { 1 + after(n-1, m-a),  min over 0 < y < n of  y + alone(n-y, m-1) + alone(y, m) },
/// held(n, m)  = min { 1 + after(n-1, m-a),  min over 0 < y < n of  y + alone(n-y, m)   + held(y, m) },
/// after = held if tapes restart, otherwise alone; both are n for n <= 1, and alone(n, 0) is infinite for n > 1. In
/// `alone` the kept state is paid for by these n steps, which may therefore drop it as soon as the first step is
/// recorded.
/// alone is the recurrence of Maddison (2024) if tapes do not restart. If they do, Gruslys et al. (2016) and Zhang &
/// Constantinescu (2023) have held in place of alone: they keep a state until all steps after it are reversed, longer
/// than needed. Cost: O(n^2 m) at worst; all sums grow with n, and blocks of y whose ends show that they cannot win are
/// skipped.
template <class Number>
class unit_rows {
 public:
  /// More than any number of runs; the sum of two of them and y does not overflow.
  static constexpr Number never = Number{1} << (8 * sizeof(Number) - 2);
  /// The longest loop whose runs are fewer than `never`.
  static constexpr step_index most_steps = (step_index{1} << (4 * sizeof(Number) - 1)) - 1;

  unit_rows() = default;
  /// \pre 1 < steps <= most_steps   \throws too_much_work
  unit_rows(char const* who, step_index steps, slot_index units, unit_rules const& rules, work_limit const& limit)
      : width_{std::size_t(steps) + 1},
        units_{std::size_t(units)},
        rules_{rules},
        cells_(std::size_t(cells(steps, units, rules))) {
    table<std::uint64_t> left(width_), right(width_);
    row_meter meter{who, steps, cells(steps, units, rules) / wide(width_), limit};
    for (std::size_t m = 0; m <= units_; ++m) {
      fill(m, false, left.begin(), right.begin(), meter);
      if (has_held(m)) fill(m, true, left.begin(), right.begin(), meter);
    }
  }
  /// Number of stored entries.   \pre 1 < steps <= most_steps
  [[nodiscard]] static constexpr wide cells(step_index steps, slot_index units, unit_rules const& rules) noexcept {
    wide const rows = wide(units) + 1;
    return (wide(steps) + 1) * (rows + (rules.restarts ? rows : rules.holds_initial ? 1 : 0));
  }

  [[nodiscard]] bool is_empty() const noexcept { return width_ == 0; }  ///< has no rows
  /// 0 to record the first of n steps, otherwise how far to run. If tapes do not restart, `held` is known only for the
  /// whole budget.
  /// \pre n > 1, the runs are finite
  [[nodiscard]] std::size_t choice(std::size_t n, std::size_t m, bool held) const noexcept {
    Number const* const left = row(m, held);
    if (recorded(n, m) == left[n]) return 0;
    return split_of(row(held ? m : m - 1, false), left, n);
  }

 private:
  static constexpr auto block = std::size_t(sums_in_block);

  [[nodiscard]] std::size_t paid() const noexcept { return std::size_t(rules_.tape_units); }
  [[nodiscard]] bool has_held(std::size_t m) const noexcept {
    return rules_.restarts || (rules_.holds_initial && m == units_);
  }
  [[nodiscard]] std::size_t start(std::size_t m, bool held) const noexcept {
    return (!held ? m : rules_.restarts ? units_ + 1 + m : units_ + 1) * width_;
  }
  [[nodiscard]] Number const* row(std::size_t m, bool held) const noexcept { return cells_.begin() + start(m, held); }

  /// Runs if the first step is recorded.
  [[nodiscard]] std::uint64_t recorded(std::size_t n, std::size_t m) const noexcept {
    return rules_.keeps_tapes && m >= paid() ? std::uint64_t{1} + row(m - paid(), rules_.restarts)[n - 1]
                                             : impossible<std::uint64_t>;
  }
  /// \param left, right  room for one row each
  void fill(std::size_t m, bool held, std::uint64_t* left, std::uint64_t* right, row_meter& meter) {
    Number* const own = cells_.begin() + start(m, held);
    bool const splits = held || (m > 0 && rules_.keeps_states);
    if (splits) {
      Number const* const rest = row(held ? m : m - 1, false);
      for (std::size_t n = 0; n < width_; ++n) right[n] = rest[n];
    }
    own[0] = 0;
    own[1] = 1;
    left[1] = 2;
    step_index nearest = 1;
    for (std::size_t n = 2; n < width_; ++n) {
      std::uint64_t fewest = recorded(n, m);
      if (splits && fewest > n) {
        auto const split = least_sum(left, right, step_index(n), nearest, fewest);
        fewest = split.value;
        if (split.at > 0) nearest = split.at;
        meter.add(split.sums, step_index(n));
      }
      own[n] = fewest < never ? Number(fewest) : never;
      left[n] = n + own[n];
    }
    meter.end_row();
  }

  /// How far to run for a total of `left[n]` runs. Of equal choices, this is the farthest, which restores states least
  /// often. Skips blocks as `least_sum` does.
  [[nodiscard]] static std::size_t split_of(Number const* right, Number const* left, std::size_t n) noexcept {
    for (std::size_t first = (n - 2) / block * block + 1;; first -= block) {
      std::size_t const last = first + block <= n ? first + block - 1 : n - 1;
      if (Number(first + right[n - last] + left[first]) > left[n]) continue;
      for (std::size_t y = last; y >= first; --y)
        if (Number(y + right[n - y] + left[y]) == left[n]) return y;
    }
  }

  std::size_t width_ = 0;
  std::size_t units_ = 0;
  unit_rules rules_;
  table<Number> cells_;
};

/// The rows of one plan, in 32-bit numbers if these suffice; no rows if the plan needs none.
class unit_table : public shared_object {
  using narrow = unit_rows<std::uint32_t>;
  using broad = unit_rows<std::uint64_t>;

 public:
  unit_table() = default;
  /// \pre 1 < steps   \throws invalid_plan   if the rows take more than `most` bytes   \throws too_much_work
  unit_table(char const* who, step_index steps, slot_index units, unit_rules const& rules, wide most,
             work_limit const& limit) {
    check_table(who, steps, row_bytes(steps, units, rules), most < addressable ? most : addressable);
    if (steps <= narrow::most_steps) narrow_ = narrow{who, steps, units, rules, limit};
    else broad_ = broad{who, steps, units, rules, limit};
    bytes_ = row_bytes(steps, units, rules);
  }
  /// See `unit_rows::choice`.
  [[nodiscard]] step_index choice(step_index n, slot_index m, bool held) const noexcept {
    auto const length = std::size_t(n), free = std::size_t(m);
    return step_index(narrow_.is_empty() ? broad_.choice(length, free, held) : narrow_.choice(length, free, held));
  }
  /// Bytes of this object and its rows.
  [[nodiscard]] wide bytes() const noexcept { return sizeof *this + bytes_; }

  /// Bytes of the rows; the largest number if no table is possible for this many steps.
  [[nodiscard]] static constexpr wide row_bytes(step_index steps, slot_index units, unit_rules const& rules) noexcept {
    if (steps <= narrow::most_steps) return narrow::cells(steps, units, rules) * sizeof(std::uint32_t);
    return steps <= broad::most_steps ? broad::cells(steps, units, rules) * sizeof(std::uint64_t) : ~wide{0};
  }

 private:
  static constexpr wide addressable = wide{1} << 62;

  narrow narrow_;
  broad broad_;
  wide bytes_ = 0;
};

}  // namespace cairn::detail
