// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file kept_snapshot.hpp  What is kept of a state beside a sweep, in memory that is used again.
#include <optional>
#include <cairn/core/state_traits.hpp>
#include <cairn/door/forms.hpp>
#include <cairn/run/sweep/detail/cached_object.hpp>

namespace cairn::detail {

/// Makes `into` what is kept of x, a copy or a snapshot, in its memory if it holds something.
template <class State>
void keep_in(std::optional<stored_as<State>>& into, State const& x) {
  if constexpr (copied_state<State>) {
    if (into) copy_state(x, *into);
    else emplace_by(into, [&] { return copy_of(x); });
  } else {
    if constexpr (saves_into<State>)
      if (into) return save_state(x, *into);
    emplace_by(into, [&] { return taken_snapshot(x); });
  }
}
/// A snapshot of the present x, in memory that is kept from call to call.
template <class State>
[[nodiscard]] stored_as<State> const& kept_state_of(State const& x, cached_object& memory) {
  auto& snapshot = memory.get<std::optional<stored_as<State>>>();
  keep_in(snapshot, x);
  return *snapshot;
}

}  // namespace cairn::detail
