// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file curve_moments.hpp  The memory of a sweep during each of its actions, by purpose.
#include <vector>
#include <cairn/core/action.hpp>
#include <cairn/core/detail/sweep_needs.hpp>
#include <cairn/core/sweep_bytes.hpp>
#include <cairn/plan/loop/detail/frame_counter.hpp>

namespace cairn::detail {

/// All that a curve needs to know of a sweep besides its actions.
struct curve_measures {
  counted_plan counted;
  sweep_form form;
  sweep_needs needs;
  sweep_sizes sizes;
};

/// What is held during an action, in bytes or in states.
struct curve_moment {
  wide held = 0;      ///< the most at once
  wide kept = 0;      ///< what the checkpoints in slots take after the action
  sweep_parts parts;  ///< of `held`, if it is in bytes
};

/// Whether sizes are known, so that memory is counted in bytes.
[[nodiscard]] inline bool has_sizes(curve_measures const& by) noexcept {
  return (by.sizes.state | by.sizes.initial | by.sizes.adjoint | by.sizes.tape) != 0;
}

/// Calls f(curve_moment const&) for each action.
template <class Fn>
void each_moment(std::vector<action> const& actions, curve_measures const& by, Fn f) {
  auto const& [counted, form, needs, sizes] = by;
  bool const in_bytes = has_sizes(by);
  frame_counter counter{form, counted};
  wide in_slots = 0;
  for (action const& a : actions) {
    counter.obey(a);
    if (a.kind == action_kind::save) ++in_slots;
    if (a.kind == action_kind::drop && a.what == content::state) --in_slots;
    curve_moment at;
    at.held = wide(counter.standing());
    at.kept = in_bytes ? in_slots * sizes.state : in_slots;
    if (in_bytes) {
      at.parts = needs.tapes > 0  // frames keep their memory while tapes come and go
                     ? sweep_parts_of(needs, form, sizes, counter.peak(), counter.standing_tapes())
                     : sweep_parts_of(needs, form, sizes, counter.standing(), needs.calls_adjoint ? 1 : 0);
      at.held = at.parts.total();
    }
    f(at);
  }
}

}  // namespace cairn::detail
