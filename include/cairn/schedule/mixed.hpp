// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file mixed.hpp  The fewest steps run if states and tapes of single steps share a budget of units.
#include <cairn/schedule/detail/remarks.hpp>
#include <cairn/schedule/detail/unit_plan.hpp>
#include <cairn/schedule/units_shape.hpp>
#include <cairn/schedule/work_limit.hpp>

namespace cairn {

/// How a `mixed` uses its units.
struct mixed_options {
  slot_index tape_units = 1;  ///< units that the tape of one step takes, >= 1; a state takes 1
  /// A tape also restores the state at the end of its step (`recorded{record, reverse, restart}`).
  bool tapes_restart = false;
  /// The initial state takes no unit and is loaded from `no_slot`; then 0 units suffice.
  bool free_initial = false;
  wide most_table_bytes = detail::most_table_bytes;  ///< most bytes of the table
  work_limit limit = {};  ///< most work to make the table
};

/// The fewest steps run if a budget of units holds any mixture of states and tapes of single steps (Maddison 2024):
/// states from which to run again, and tapes from which a step is reversed without being run again. Needs an adjoint
/// that records. A state, also the initial one, is kept only as long as it is needed. If tapes restart, this takes
/// fewer steps than the published recurrences (Gruslys et al. 2016; Zhang & Constantinescu 2023), which keep a state
/// until all steps after it are reversed.
/// Cost: a table of 4 (steps + 1) (units + 1) bytes, twice that if tapes restart or there are more than 32,767 steps,
/// in O(steps^2 units) time at worst (0.01 s for 1,000 steps and 20 units, -O2). No table if no tape fits, which is
/// `revolve`, or if all tapes fit, which runs no step twice. An action takes O(steps) at worst, 6 ns on average.
class mixed : public detail::unit_plan {
 public:
  /// \param steps  loop length, >= 0   \param units  >= 1, or >= 0 if the initial state is free; units that do not help
  /// are not used
  /// \throws invalid_plan   also if the table exceeds `most_table_bytes`   \throws too_much_work
  mixed(step_index steps, slot_index units, mixed_options options = {})
      : unit_plan{"cairn::mixed",
                  steps,
                  units,
                  {.tape_units = options.tape_units,
                   .restarts = options.tapes_restart,
                   .holds_initial = options.free_initial},
                  options.most_table_bytes,
                  options.limit} {}
  /// The same with named numbers.   \throws invalid_plan
  mixed(units_shape const& of, mixed_options options = {}) : mixed{of.steps, of.units, options} {}
};
static_assert(schedule<mixed>);

}  // namespace cairn
