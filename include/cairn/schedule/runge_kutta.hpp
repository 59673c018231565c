// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file runge_kutta.hpp  Runge-Kutta time steps: solutions and stage values share the memory.
#include <cairn/schedule/detail/remarks.hpp>
#include <cairn/schedule/detail/unit_plan.hpp>
#include <cairn/schedule/units_shape.hpp>
#include <cairn/schedule/work_limit.hpp>

namespace cairn {

/// The method whose steps a `runge_kutta` reverses.
struct runge_kutta_options {
  slot_index stages = 1;  ///< stage vectors of a step, >= 1, each as large as a solution
  bool stiffly_accurate = true;  ///< the last stage is the next solution, so that the loop can restart from stage
                                 ///< values
  wide most_table_bytes = detail::most_table_bytes;  ///< most bytes of the table
  work_limit limit = {};  ///< most work to make the table
};

/// The fewest extra steps for a Runge-Kutta method (Zhang & Constantinescu 2023, CAMS): a unit holds one vector, a
/// solution or a stage. The tape of a step is its stage values. If the method is stiffly accurate, the loop can restart
/// from them (`recorded{record, reverse, restart}`), and the initial solution may be dropped as soon as they are kept;
/// from 2 stages on this takes fewer steps than the published recurrence (43 instead of 47 extra steps for 40 steps, 10
/// units, 2 stages). Otherwise a step that restarts takes stages + 1 units, its stage values and the solution after it,
/// which are kept and dropped separately: `mixed` with tapes of `stages` units is then optimal, as the exhaustive
/// search of the tests finds for all small loops. Cost: see `mixed`.
class runge_kutta : public detail::unit_plan {
 public:
  /// \param steps  loop length, >= 0   \param units  most vectors kept at once, >= 1, the initial solution's included;
  /// units that do not help are not used
  /// \throws invalid_plan   also if the table exceeds `most_table_bytes`   \throws too_much_work
  runge_kutta(step_index steps, slot_index units, runge_kutta_options options = {})
      : unit_plan{"cairn::runge_kutta",
                  steps,
                  units,
                  {.tape_units = options.stages, .restarts = options.stiffly_accurate},
                  options.most_table_bytes,
                  options.limit} {}
  /// The same with named numbers.   \throws invalid_plan
  runge_kutta(units_shape const& of, runge_kutta_options options = {}) : runge_kutta{of.steps, of.units, options} {}
};
static_assert(schedule<runge_kutta>);

}  // namespace cairn
