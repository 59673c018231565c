// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file one_of.hpp  Arguments after the fixed ones of a call, in any order.
#include <cstddef>
#include <type_traits>
#include <cairn/core/event.hpp>
#include <cairn/run/sweep_failure.hpp>

namespace cairn::detail {

template <class T>
inline constexpr bool is_failure = std::is_same_v<std::remove_reference_t<T>, sweep_failure>;

/// Whether T is an observer, or `no_observer`.
template <class T>
inline constexpr bool observes = std::is_same_v<std::remove_cvref_t<T>, no_observer> ||
                                 std::is_invocable_v<T&, event const&>;

/// Whether at most one of the arguments is of a kind.
template <bool... Is> inline constexpr bool at_most_one = (int(Is) + ... + 0) < 2;

template <std::size_t Place, class First, class... Rest>
[[nodiscard]] auto& argument_at(First& first, [[maybe_unused]] Rest&... rest) noexcept {
  if constexpr (Place == 0) return first;
  else return argument_at<Place - 1>(rest...);
}

/// The first of `rest` for which `Is` is true, or `otherwise`.
template <bool... Is, class Otherwise, class... Rest>
[[nodiscard]] auto& one_of(Otherwise& otherwise, [[maybe_unused]] Rest&... rest) {
  constexpr bool there = (Is || ... || false);
  if constexpr (!there) return otherwise;
  else {
    constexpr std::size_t place = [] {
      std::size_t k = 0;
      for (bool const is : {Is...}) {
        if (is) break;
        ++k;
      }
      return k;
    }();
    return argument_at<place>(rest...);
  }
}

}  // namespace cairn::detail
