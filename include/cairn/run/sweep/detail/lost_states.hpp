// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file lost_states.hpp  What a sweep does about states that its store does not have any more: it makes them again, and
/// goes on with its plan.
#include <cstdint>
#include <cairn/core/action.hpp>
#include <cairn/core/detail/table.hpp>
#include <cairn/store/store.hpp>

namespace cairn::detail {

/// State i becomes live, from the nearest state at or before it that is still held, or from the initial state. What other
/// slots lack and is met on the way is saved in them. Returns the number of steps that this took.
/// \param through  the states of the sweep, or an object that checks them   \param memory  knows what the slots hold
template <class Through, class Memory, class Step>
std::uint64_t make_live(Through& through, Memory& memory, Step& step, step_index i, step_index& failed) {
  for (;;) {
    placed_state const from = memory.nearest(i);
    step_index const at = from.state;
    if (from.in.slot == no_slot) through.load_initial();
    else if (!through.load(from.in, at)) continue;  // this one is lost, too: it is not found again
    for (step_index here = at; here < i;) {
      placed_state const met = memory.next_missing(here, i);
      failed = here;
      through.advance(step, here, met.state, failed);
      here = met.state;
      if (met.in.slot != no_slot) (void)through.save(met.in, here);
    }
    failed = -1;
    return std::uint64_t(i - at);
  }
}

/// The same for a state that slot `where` lacks, which is saved there again.   \param saved  whether that succeeded
template <class Through, class Memory, class Step>
std::uint64_t remake(Through& through, Memory& memory, Step& step, place where, step_index i, step_index& failed,
                     bool& saved) {
  std::uint64_t const ran = make_live(through, memory, step, i, failed);
  saved = through.save(where, i);
  return ran;
}

/// Where a stopped sweep goes on in its own plan.
struct place_in_plan {
  bool found = false;
  std::uint64_t actions = 0;  ///< after so many actions of its cursor
  step_index live = -1;       ///< the state that is live there; -1 if the next action loads one
};

/// How many slots hold what a plan expects there, less those that hold something else; and how many lack it.
struct place_fit {
  std::int64_t fits = 0, lacks = 0;
  void count(step_index held, step_index expected, int times) noexcept {
    if (held >= 0) fits += held == expected ? times : -times;
    if (expected >= 0 && held != expected) lacks += times;
  }
  [[nodiscard]] bool is_better_than(place_fit const& other) const noexcept {
    return fits > other.fits || (fits == other.fits && lacks < other.lacks);
  }
};

/// Finds the place in a plan that fits best to what the slots still hold: before the turn anywhere on the way forward;
/// after it anywhere between the reverse that left `open` steps and the next one. Of several such places the first. A
/// plan with tapes is not searched, because the tapes of a stopped sweep are gone.
/// Cost: a walk up to there.
/// \param cursor  of the plan, at its start or its turn; before the turn also that of a loop of unknown length
/// \param held_in  held_in(slot) returns the state in a slot, negative for none
/// \param expected_in  expected_in(slot) returns the state that the plan has there where the cursor is
template <class Cursor, class HeldIn, class ExpectedIn>
[[nodiscard]] place_in_plan find_place(Cursor cursor, step_index steps, step_index open, bool turned, slot_index slots,
                                       HeldIn held_in, ExpectedIn expected_in) {
  table<step_index> expected(entries_for(slots));
  place_fit now, best;
  step_index last = 0;
  for (slot_index slot = 0; slot < slots; ++slot) {
    now.count(held_in(slot), expected[slot] = expected_in(slot), 1);
    if (held_in(slot) > last) last = held_in(slot);
  }
  place_in_plan place;
  std::uint64_t actions = 0;
  step_index live = 0;
  auto const note = [&] {
    if (place.found && !now.is_better_than(best)) return;
    place = {true, actions, live};
    best = now;
  };
  bool inside = !turned;
  if (inside) note();
  for (;;) {
    action const a = cursor.next();
    ++actions;
    if (a.what == content::tape || a.kind == action_kind::record) return {};
    switch (a.kind) {
      case action_kind::advance: live = a.to; break;
      case action_kind::load:
        if (place.found && place.actions + 1 == actions) place.live = -1;
        live = a.slot == no_slot ? 0 : a.from;
        break;
      case action_kind::save:
      case action_kind::drop: {
        step_index& state = expected[a.slot];
        now.count(held_in(a.slot), state, -1);
        state = a.kind == action_kind::save ? a.from : -1;
        now.count(held_in(a.slot), state, 1);
        break;
      }
      case action_kind::turn:
        if (inside) return place;
        inside = open == steps;
        break;
      case action_kind::reverse:
        if (inside) return place;
        live = -1;
        inside = a.from == open;
        break;
      default: return place;  // done
    }
    if (inside && !turned && live > last) return place;  // nothing fits better further on
    if (inside) note();
  }
}

}  // namespace cairn::detail
