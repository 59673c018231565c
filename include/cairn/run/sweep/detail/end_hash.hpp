// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file end_hash.hpp  What an adjoint that runs steps again is told of the state at their end; hashes of what is kept.
#include <cstdint>
#include <cairn/core/action.hpp>
#include <cairn/core/error.hpp>
#include <cairn/door/detail/step_shape.hpp>

namespace cairn::detail {

/// The hash of what a memory keeps in a place.   \param state  its number in errors
/// \throws invalid_call   if its bytes are unknown
template <class Memory>
[[nodiscard]] std::uint64_t hash_of_kept(Memory const& run, step_index place, step_index state, char const* who) {
  std::uint64_t const hash = run.hash(place);
  if (hash == 0)
    throw invalid_call{who,
                       "the replay check cannot determine the bytes of a state",
                       {{"state", state}},
                       "give its type a member visit_buffers(f), specialise cairn::state_traits with "
                       "visit_buffers(state, f), or leave the check out"};
  return hash;
}

/// The hash of the state at the end of the steps of the next adjoint call, 0 if unknown; for adjoints that run these
/// steps again.
struct end_hash {
  std::uint64_t value = 0;
};
template <class Adjoint>
concept takes_end_hash = requires(Adjoint& adjoint, end_hash end) { referred_to(adjoint).ends_in(end); };

}  // namespace cairn::detail
