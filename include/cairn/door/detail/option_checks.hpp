// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file option_checks.hpp  The checks that public verbs make of options: one error message for each misuse.
#include <cairn/core/detail/state_hash.hpp>
#include <cairn/rules/replay_check.hpp>

namespace cairn::detail {

/// \tparam Asked  says whether the verb was given options anywhere (`given`), whether it was given a `workspace`, and
/// whether the workspace has options (`in_workspace`)
template <class State, class Asked>
consteval bool check_sweep_options() {
  constexpr bool once = Asked::asked <= 1, object = !once || !Asked::ends_object || saved_state<State>;
  constexpr bool fits = !Asked::given || Asked::in_workspace || !Asked::workspace;
  constexpr bool told = !fits || !(Asked::given || Asked::in_workspace) || hashable<stored_as<State>>;
  static_assert(once,
                "cairn: options are given in two places; give them once, with where an object ends as a member, "
                "`sweep_options{.object = ...}`");
  static_assert(object,
                "cairn: object_ends says where an object with save() and restore() is left, but this state is copied; "
                "leave it out");
  static_assert(fits,
                "cairn: this workspace keeps no hashes; make it for sweeps with options, by "
                "`cairn::workspace_for<State>(plan, options)`");
  static_assert(
      told,
      "cairn: the replay check cannot determine which bytes of this state, or of its snapshot, are padding; give it a "
      "member visit_buffers(f) or specialise cairn::state_traits with visit_buffers(state, f)");
  return once && object && fits && told;
}

}  // namespace cairn::detail
