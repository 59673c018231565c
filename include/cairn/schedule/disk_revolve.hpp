// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file disk_revolve.hpp  The cheapest schedule with some slots in memory and any number on disk.
#include <cstdint>
#include <utility>
#include <cairn/core/action.hpp>
#include <cairn/detail/linkage.hpp>
#include <cairn/schedule/detail/remarks.hpp>
#include <cairn/schedule/detail/tier_plan.hpp>
#include <cairn/schedule/work_limit.hpp>

namespace cairn {

/// The numbers of a `disk_revolve`, by name: `disk_revolve{{.steps = 1000, .ram_slots = 20}, {.disk_write = 5,
/// .disk_read = 5}}`.
struct disk_revolve_shape {
  step_index steps = -1;      ///< loop length; required
  slot_index ram_slots = -1;  ///< slots in memory; required
};

/// The costs of a `disk_revolve`, all in one unit.
struct disk_revolve_options {
  double disk_write = 0;  ///< cost of one save on disk, finite and >= 0
  double disk_read = 0;  ///< cost of one load from disk, finite and >= 0
  double advance_cost = 1;  ///< cost of one unrecorded step, finite and >= 0
  double turn_cost = 0;  ///< cost of one recorded step and of its adjoint, finite and >= 0
  wide most_table_bytes = detail::most_table_bytes;  ///< most bytes allocated while the plan is made
  work_limit limit = {};  ///< most work to make the plan
};

/// The schedule of least cost with `ram_slots` free slots in memory and any number on disk, each of which may be read
/// as often as it pays (Aupy, Herrmann, Hovland & Robert 2016, Disk-Revolve, without its condition that a state on disk
/// is read only once). The initial state takes a slot. With u the cost of an advance and T(x, c) the fewest advances in
/// memory, low(x) = T(x, c) u and
/// P(x) = min(low(x), min over 1 <= y < x of y u + O(x-y) + read + P(y)),   O(x) = min(low(x), write + P(x)).
/// One row: O(n^2) time at worst, 4 n bytes for the plan and 24 n more while it is made. A cursor allocates
/// `table_bytes()` at its first action; an action is O(1).
class disk_revolve : public detail::costed_tier_plan {
 public:
  /// \param steps  loop length, >= 0   \param ram_slots  slots in memory, >= 0; they have the lowest numbers
  /// \throws invalid_plan   also if the table exceeds `most_table_bytes`   \throws too_much_work
  /// \throws overflow_error   if the cost exceeds a double
  disk_revolve(step_index steps, slot_index ram_slots, disk_revolve_options const& options)
      : disk_revolve{made(steps, ram_slots, options), detail::remark_on_slots(steps, ram_slots)} {}
  /// The same with named numbers.   \throws invalid_plan, overflow_error
  disk_revolve(disk_revolve_shape const& of, disk_revolve_options const& options)
      : disk_revolve{of.steps, of.ram_slots, options} {}

  /// See `remark_of`; more slots than states suggests swapped numbers.
  [[nodiscard]] char const* remark() const noexcept { return remark_; }

 private:
  disk_revolve(detail::costed_table&& of, char const* remark)
      : costed_tier_plan{std::move(of)}, remark_{remark} {}

  static constexpr char const* who = "cairn::disk_revolve";
  static constexpr wide work = 2 * sizeof(double) + 2 * sizeof(std::uint32_t);

  [[nodiscard]] CAIRN_DECL static detail::costed_table made(step_index steps, slot_index ram,
                                                            disk_revolve_options const& options);

  /// Returns the cost. `disk` becomes the most states on disk at once. Once a state on disk is dropped, the rest uses
  /// memory only. So P(x) needs, besides its own slot, the larger of what O(x-y) needs and what P(y) needs besides its
  /// own; O(x) needs the slot of P(x), too, or nothing if memory alone is cheaper.
  [[nodiscard]] CAIRN_DECL static double fill(detail::tier_table& into, slot_index ram,
                                              disk_revolve_options const& options, slot_index& disk);

  char const* remark_;
};
static_assert(schedule<disk_revolve>);

}  // namespace cairn

#ifndef CAIRN_SEPARATE_COMPILATION
#include <cairn/schedule/impl/disk_revolve.ipp>
#endif
