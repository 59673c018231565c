// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file with_constants.hpp  Names the members of an initial state that `check_adjoint` takes as constants.
#include <tuple>
#include <cairn/core/state_traits.hpp>

namespace cairn {

/// An initial state for `check_adjoint` that names the members that are constants of the loop, as in
/// `with_constants{x0, &state::t, &state::dt}`: times, coefficients, anything whose derivative is not wanted. Their
/// numbers are neither varied nor read from adjoints; a member of any type can be named. All other numbers are checked
/// and none of them is taken as a constant, so `with_constants{x0}`, which works for any state, has all numbers
/// checked. The state must be an aggregate of at most 24 members; other types choose what is differentiated in
/// `visit_numbers`.
template <class State, class... Members>
struct with_constants {
  State x0;                                   ///< a copy of the initial state
  std::tuple<Members State::*...> constants;  ///< pointers to its members
  /// Copies the initial state. \param members  pointers to members of it
  explicit with_constants(State const& initial, Members State::*... members)
      : x0{detail::copy_of(initial)}, constants{members...} {}
};

}  // namespace cairn
