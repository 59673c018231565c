// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file multistage.hpp  The fewest advances with slots in memory and on disk, and among those the least disk traffic.
#include <cstdint>
#include <limits>
#include <cairn/core/action.hpp>
#include <cairn/core/detail/compiler.hpp>
#include <cairn/detail/linkage.hpp>
#include <cairn/schedule/binomial.hpp>
#include <cairn/schedule/detail/remarks.hpp>
#include <cairn/schedule/detail/tier_plan.hpp>
#include <cairn/schedule/work_limit.hpp>

namespace cairn {

/// More slots than any plan can use.
inline constexpr slot_index unlimited_slots = (std::numeric_limits<slot_index>::max)();

/// The numbers of a `multistage`, by name: `multistage{{.steps = 1000, .ram_slots = 20, .disk_slots = 10}}`.
struct multistage_shape {
  step_index steps = -1;       ///< loop length; required
  slot_index ram_slots = -1;   ///< slots in memory; required
  slot_index disk_slots = -1;  ///< slots on disk; required
};

/// Limits on making a `multistage`.
struct multistage_options {
  wide most_table_bytes = detail::most_table_bytes;  ///< most bytes of its table
  work_limit limit = {};  ///< most work to make it
};

/// Slots in memory and on disk (Stumm & Walther 2009): the fewest advances that all slots together allow; among the
/// schedules with these, the fewest saves and loads on disk; and among these, the fewest saves on disk. Memory costs
/// nothing. The initial state takes a slot. The tier of a state is chosen anew each time it is loaded, which moves
/// fewer states than a fixed tier for each slot of the stack.
///
/// Advances are fewest if each part splits within the interval of `revolve`'s optimal splits (Griewank & Walther 2000),
/// so the table, a row of n numbers for each disk slot, counts only traffic. With c slots in memory and d on disk: O(n
/// d w) time, w the width of these intervals; 4 n d bytes for the plan and 24 n more while it is made. No table if c +
/// d >= n - 1 or d = 0. A cursor allocates `table_bytes()` at its first action; an action is O(1).
class multistage : public detail::tier_plan {
 public:
  /// \param steps  loop length, >= 0   \param ram_slots  slots in memory, >= 0; they have the lowest numbers
  /// \param disk_slots  slots on disk, >= 0; `unlimited_slots` is allowed   \pre ram_slots + disk_slots >= 1
  /// \throws invalid_plan   also if the table exceeds `most_table_bytes`   \throws too_much_work
  multistage(step_index steps, slot_index ram_slots, slot_index disk_slots, multistage_options const& options = {})
      : tier_plan{made(steps, ram_slots, disk_slots, options)}, remark_{remark_on(steps, ram_slots, disk_slots)} {}
  /// The same with named numbers.   \throws invalid_plan
  multistage(multistage_shape const& of, multistage_options const& options = {})
      : multistage{of.steps, of.ram_slots, of.disk_slots, options} {}

  /// See `remark_of`; more slots than states suggests swapped numbers.
  [[nodiscard]] char const* remark() const noexcept { return remark_; }

 private:
  static constexpr char const* who = "cairn::multistage";
  static constexpr wide work = wide{3} * sizeof(std::uint64_t);

  /// Saves plus loads on disk in the upper half of one number, saves in the lower: a sweep of less than 2^31 steps has
  /// fewer than 2^31 of each.
  static constexpr std::uint64_t one_load = std::uint64_t{1} << 32;
  static constexpr std::uint64_t one_save = one_load + 1;

  [[nodiscard]] static constexpr char const* remark_on(step_index steps, slot_index ram, slot_index disk) noexcept {
    return detail::remark_on_slots(steps, disk == unlimited_slots || ram > disk ? ram : disk);
  }
  [[nodiscard]] CAIRN_DECL static detail::tier_table made(step_index steps, slot_index ram, slot_index disk,
                                                          multistage_options const& options);

  /// With T(x, s) the fewest advances for s slots in total: T(x, s + 1) < T(x, s) while s < x - 1, so the disk is
  /// dispensable only if x - 1 <= c, and then nothing on disk is needed. Otherwise
  /// P(x, m) = min over the optimal splits y of T(x, c + m) of O(x-y, m-1) + one load + P(y, m);   O(x, m) = one save +
  /// P(x, m);   O(x, 0) = 0
  CAIRN_DECL static void fill(detail::tier_table& into, slot_index ram, slot_index disk, work_limit const& limit);

  /// The splits y with y + T(x-y, s-1) + T(y, s) = T(x, s), for x that never decreases (Griewank & Walther 2000):
  /// max(1, beta(s, t-2), x - beta(s-1, t)) .. min(beta(s, t-1), x - beta(s-1, t-1)), and x - 1 for one slot.
  struct optimal_splits {
    slot_index slots;
    step_index steps;
    detail::repetition_run run{slots, steps};
    step_index t = 0, first_beta = 0, last_beta = 0, right_first_beta = 0, right_last_beta = 0;
    step_index first = 1, last = 1;

    void move_to(step_index x) noexcept {
      if (slots == 1) {
        first = last = x - 1;
        return;
      }
      if (step_index const now = run.at(x); now != t) {
        t = now;
        first_beta = t < 2 ? 0 : capped_beta(slots, t - 2, steps);
        last_beta = capped_beta(slots, t - 1, steps);
        right_first_beta = capped_beta(slots - 1, t, steps);
        right_last_beta = capped_beta(slots - 1, t - 1, steps);
      }
      first = detail::greater(first_beta, x - right_first_beta);
      if (first < 1) first = 1;
      last = detail::lesser(last_beta, x - right_last_beta);
    }
  };

  char const* remark_;
};
static_assert(schedule<multistage>);

}  // namespace cairn

#ifndef CAIRN_SEPARATE_COMPILATION
#include <cairn/schedule/impl/multistage.ipp>
#endif
