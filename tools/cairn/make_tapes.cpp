// SPDX-License-Identifier: Apache-2.0
// Schedules that keep tapes as well as states.
#include <string>

#include <cairn/schedule/bptt.hpp>
#include <cairn/schedule/mixed.hpp>
#include <cairn/schedule/runge_kutta.hpp>

#include "figures.hpp"
#include "make_plan.hpp"

namespace tool {
namespace {

/// For kinds that support only one way to keep the initial state.
void refuse_other_initial(request const& asked, initial_state only, char const* name) {
  if (asked.initial && *asked.initial != only)
    throw wrong_request{std::string{"the initial state of "} + name_of(asked.schedule()) + " is " + name +
                        worded("; leave $initial out, or take $schedule mixed")};
}

cairn::bptt_keep keep_of(keep_choice asked) {
  switch (asked) {
    case keep_choice::states: return cairn::bptt_keep::states;
    case keep_choice::tapes: return cairn::bptt_keep::tapes;
    case keep_choice::both: break;
  }
  return cairn::bptt_keep::both;
}

}  // namespace

planned mixed_plan(request const& asked) {
  return walked_figures(asked, cairn::mixed{*asked.steps, *asked.units,
                                            {.tape_units = asked.tape_units,
                                             .tapes_restart = asked.tape_restarts,
                                             .free_initial = asked.initial == initial_state::pinned_free,
                                             .limit = asked.deadline->limit()}});
}

planned bptt_plan(request const& asked) {
  refuse_other_initial(asked, initial_state::pinned_free, "pinned_free");
  return walked_figures(
      asked,
      cairn::bptt{*asked.steps,
                  *asked.units,
                  {.tape_units = asked.tape_units, .keep = keep_of(asked.keep), .limit = asked.deadline->limit()}});
}

planned runge_kutta_plan(request const& asked) {
  refuse_other_initial(asked, initial_state::releasable, "releasable");
  return walked_figures(asked, cairn::runge_kutta{*asked.steps,
                                                  *asked.units,
                                                  {.stages = asked.stages,
                                                   .stiffly_accurate = asked.stiffly_accurate,
                                                   .limit = asked.deadline->limit()}});
}

}  // namespace tool
