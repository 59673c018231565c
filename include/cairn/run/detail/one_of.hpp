#pragma once
/// \file one_of.hpp  Arguments behind the fixed ones of a call, in any order.
#include <cstddef>
#include <tuple>
#include <type_traits>
#include <cairn/run/sweep_failure.hpp>

namespace cairn::detail {

template <class T>
inline constexpr bool is_failure = std::is_same_v<std::remove_reference_t<T>, sweep_failure>;

/// The one of `rest` that `Is` holds for, or `otherwise`.
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
    return std::get<place>(std::tie(rest...));
  }
}

}  // namespace cairn::detail
