#pragma once
/// \file mixed.hpp  A unit of storage holds a state to run on from, or its share of the tape of one step.
#include <cairn/schedule/detail/table_limit.hpp>
#include <cairn/schedule/unit_plan.hpp>
#include <cairn/schedule/work_limit.hpp>

namespace cairn {

/// What the units of a `mixed` are for.
struct mixed_options {
  slot_index tape_units = 1;  ///< units that the tape of one step takes, >= 1; a state takes 1
  /// A tape also brings back the state behind its step (`recorded{record, reverse, restart}`).
  bool tapes_restart = false;
  /// The initial state takes no unit and is loaded from `no_slot`; then even 0 units are enough.
  bool free_initial = false;
  wide most_table_bytes = detail::most_table_bytes;  ///< what the table may take
  work_limit limit = {};  ///< how much work it may be
};

/// The fewest steps run where a budget of units holds states and tapes of single steps (Maddison 2024), any mixture at
/// any time: states to run on from, and tapes from which a step is reversed without being run again. Needs an adjoint
/// that records. A state, the initial one too, is kept only as long as it is of use. Where tapes restart this takes
/// fewer steps than the published recurrences (Gruslys et al. 2016; Zhang & Constantinescu 2023), which keep it until
/// all steps behind it are reversed. Cost: a table of 4 (steps + 1) (units + 1) bytes, twice that where tapes restart
/// or there are more than 32,767 steps, in O(steps^2 units) time at worst (0.01 s for 1,000 steps and 20 units, -O2).
/// No table where no tape fits, which is `revolve`, and where all do, which runs nothing twice. An action O(steps) at
/// worst, 6 ns on average.
class mixed : public detail::unit_plan {
 public:
  /// \param steps  loop length, >= 0   \param units  >= 1, or >= 0 where the initial state is free; more than of use
  ///        are not used
  /// \throws invalid_plan   also where the table does not fit   \throws too_much_work
  mixed(step_index steps, slot_index units, mixed_options options = {})
      : unit_plan{"cairn::mixed",
                  steps,
                  units,
                  {.tape_units = options.tape_units,
                   .restarts = options.tapes_restart,
                   .holds_initial = options.free_initial},
                  options.most_table_bytes,
                  options.limit} {}
  /// The same by names.   \throws invalid_plan
  mixed(units_shape const& of, mixed_options options = {}) : mixed{of.steps, of.units, options} {}
};
static_assert(schedule<mixed>);

}  // namespace cairn
