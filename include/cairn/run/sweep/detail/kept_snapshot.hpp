// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file kept_snapshot.hpp  A snapshot of an object, taken before calls that may change it.
#include <optional>
#include <utility>
#include <cairn/core/detail/user_values.hpp>
#include <cairn/core/state_traits.hpp>
#include <cairn/door/forms.hpp>
#include <cairn/run/sweep/detail/cached_object.hpp>

namespace cairn::detail {

/// A snapshot of the present x, in memory that is kept from call to call.
template <class State>
[[nodiscard]] stored_as<State> const& kept_state_of(State const& x, cached_object& memory) {
  auto& snapshot = memory.get<std::optional<stored_as<State>>>();
  if constexpr (saves_into<State>) {
    if (snapshot) {
      save_state(x, *snapshot);
      return *snapshot;
    }
  }
  emplace_by(snapshot, [&] { return taken_snapshot(x); });
  return *snapshot;
}

}  // namespace cairn::detail
