// SPDX-License-Identifier: Apache-2.0
// Schedules that keep tapes as well as states.
#include <string>

#include <cairn/schedule/bptt.hpp>
#include <cairn/schedule/mixed.hpp>
#include <cairn/schedule/runge_kutta.hpp>

#include "figures.hpp"
#include "scaled.hpp"
#include "what_it_does.hpp"

namespace tool {
namespace {

using cairn::wide;

/// For kinds that support only one way to keep the initial state.
void refuse_other_initial(request const& asked, initial_state only, char const* name) {
  if (asked.initial && *asked.initial != only)
    throw wrong_request{std::string{"the initial state of "} + asked.schedule().name + " is " + name +
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

std::string tape_words(planned const& found) {
  std::string const tapes = counted(wide(found.counts.peak_tapes), "tape");
  return "It keeps up to " + counted(wide(found.counts.peak_slots), "state") + " and up to " + tapes +
         " of single steps, which share the budget.\nA step whose tape is kept is reversed without running it again" +
         (found.plan.tapes_restart() ? ", and the loop can go on from where a tape ends.\n"
                                     : "; the loop goes on from states only.\n");
}

bool has_units(request const& asked) { return asked.units.has_value(); }
template <cairn::slot_index Least>
void change_units(request& asked, planned const&, scale how) {
  asked.units = change(*asked.units, Least, how);
}
std::string units_amount(request const& asked) { return counted(wide(*asked.units), "unit"); }

constexpr std::string_view for_mixed[] = {"units", "tape_units", "tape_restarts", "initial"},
                           for_bptt[] = {"units", "tape_units", "keep", "initial"},
                           for_runge_kutta[] = {"units", "stages", "stiffly_accurate", "initial"};

constexpr schedule_kind kind_of(char const* name, std::span<std::string_view const> own,
                                planned (*plan)(request const&), void (*scaled)(request&, planned const&, scale)) {
  return {name,   own,          "$units; give what states and tapes share", has_units, plan, tape_words,
          scaled, units_amount, nullptr, nullptr, true};
}
constexpr schedule_kind tape_rows[] = {
    kind_of("mixed", for_mixed, mixed_plan, change_units<1>),
    kind_of("bptt", for_bptt, bptt_plan, change_units<0>),
    kind_of("runge_kutta", for_runge_kutta, runge_kutta_plan, change_units<1>),
};

}  // namespace

std::span<schedule_kind const> kinds_of_tapes() noexcept { return tape_rows; }

}  // namespace tool
