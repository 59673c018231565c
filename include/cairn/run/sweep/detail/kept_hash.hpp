// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file kept_hash.hpp  The hash by which the replay checks of chains and graphs compare what is made again.
#include <cstdint>
#include <cairn/core/action.hpp>
#include <cairn/core/error.hpp>

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

}  // namespace cairn::detail
