// Schedules that keep tapes beside states.
#include <string>

#include <cairn/schedule/bptt.hpp>
#include <cairn/schedule/mixed.hpp>
#include <cairn/schedule/stages.hpp>

#include "figures.hpp"
#include "makers.hpp"

namespace tool {
namespace {

template <class Plan>
planned walked_figures(request const& asked, Plan const& plan) {
  auto found = figures(asked, plan, plan.slots());
  add_walked(found);
  return found;
}

/// Kinds for which the initial state stands in one way only.
void refuse_other_initial(request const& asked, initial_state only, char const* name) {
  if (asked.initial && *asked.initial != only)
    throw wrong_request{std::string{"the initial state of "} + name_of(asked.schedule()) + " is " + name +
                        "; leave initial out, or take schedule mixed"};
}

cairn::bptt_keep kept(kept_things asked) {
  switch (asked) {
    case kept_things::states: return cairn::bptt_keep::states;
    case kept_things::tapes: return cairn::bptt_keep::tapes;
    case kept_things::both: break;
  }
  return cairn::bptt_keep::both;
}

}  // namespace

planned mixed_plan(request const& asked) {
  return walked_figures(asked, cairn::mixed{*asked.steps, *asked.units,
                                            {.tape_units = asked.tape_units,
                                             .tapes_restart = asked.tape_restarts,
                                             .free_initial = asked.initial == initial_state::pinned_free,
                                             .limit = asked.watch->limit()}});
}

planned bptt_plan(request const& asked) {
  refuse_other_initial(asked, initial_state::pinned_free, "pinned_free");
  return walked_figures(asked, cairn::bptt{*asked.steps, *asked.units, {.tape_units = asked.tape_units, .keep = kept(asked.keep), .limit = asked.watch->limit()}});
}

planned stages_plan(request const& asked) {
  refuse_other_initial(asked, initial_state::releasable, "releasable");
  return walked_figures(asked, cairn::stages{*asked.steps, *asked.units, {.stages = asked.stages, .stiffly_accurate = asked.stiffly_accurate, .limit = asked.watch->limit()}});
}

}  // namespace tool
