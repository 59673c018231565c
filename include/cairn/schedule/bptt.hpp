// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file bptt.hpp  Backpropagation through time in bounded memory: hidden states and internal states of a recurrent
/// network.
#include <cstdint>
#include <cairn/schedule/detail/remarks.hpp>
#include <cairn/schedule/detail/unit_plan.hpp>
#include <cairn/schedule/units_shape.hpp>
#include <cairn/schedule/work_limit.hpp>

namespace cairn {

/// What a `bptt` keeps: states (hidden states), tapes (a cell's internal states, its output included), or both.
enum class bptt_keep : std::uint8_t { states, tapes, both };

/// How a `bptt` uses its units.
struct bptt_options {
  slot_index tape_units = 1;  ///< units that the tape of one step takes, >= 1; a state takes 1
  bptt_keep keep = bptt_keep::both;  ///< what may be kept
  wide most_table_bytes = detail::most_table_bytes;  ///< most bytes of the table
  work_limit limit = {};  ///< most work to make the table
};

/// Backpropagation through time (Gruslys et al. 2016): a state takes one unit, a tape takes `tape_units`, and a tape
/// restores the state at the end of its step (`recorded{record, reverse, restart}`). The initial state and the tape in
/// use take no unit. Keeping only states is `revolve` with one more unit. Keeping both takes fewer steps than the
/// paper's recurrence if a tape takes 3 units or more, because a state is dropped as soon as it is no longer needed: 13
/// instead of 14 steps for a loop of 7 steps, 3 units and tapes of 3.
/// Cost: see `mixed`; a table of 8 steps x units bytes, divided by `tape_units` if only tapes are kept, none if only
/// states are.
class bptt : public detail::unit_plan {
 public:
  /// \param steps  loop length, >= 0   \param units  besides the initial state, >= 0; units that do not help are not
  /// used
  /// \throws invalid_plan   also if the table exceeds `most_table_bytes`   \throws too_much_work
  bptt(step_index steps, slot_index units, bptt_options options = {})
      : unit_plan{"cairn::bptt", steps, units,
                  {.tape_units = options.tape_units,
                   .keeps_states = options.keep != bptt_keep::tapes,
                   .keeps_tapes = options.keep != bptt_keep::states,
                   .restarts = true,
                   .holds_initial = true},
                  options.most_table_bytes, options.limit} {}
  /// The same with named numbers.   \throws invalid_plan
  bptt(units_shape const& of, bptt_options options = {}) : bptt{of.steps, of.units, options} {}
};
static_assert(schedule<bptt>);

}  // namespace cairn
