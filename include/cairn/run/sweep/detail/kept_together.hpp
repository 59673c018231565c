// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file kept_together.hpp  What processes agree on that run a sweep together and keep it on disk, each its own part.
#include <cstddef>
#include <cstdint>

namespace cairn::detail {

/// In the place of an agreement: a process that runs its sweep alone. Those that run one together call these members at
/// the same places. One that cannot go on throws, and all others throw at their next call.
struct one_process {
  static constexpr bool together = false;
  [[nodiscard]] static constexpr int rank() noexcept { return 0; }
  [[nodiscard]] static constexpr int size() noexcept { return 1; }
  /// All are in another verb now, which errors name.
  void goes_on_in(char const*) const noexcept {}
  /// All have come here.
  void meet() const noexcept {}
  /// The least of the values of all, each below 2^63.
  [[nodiscard]] std::uint64_t least(std::uint64_t own) const noexcept { return own; }
  /// Whether all have this value.
  [[nodiscard]] bool same(std::uint64_t) const noexcept { return true; }
  /// Each value becomes the least of those of all.
  void least_of_each(std::int64_t*, std::size_t) const noexcept {}
  /// The bytes of all, `count` of each, in their order.
  void gather(void const*, void*, std::size_t) const noexcept {}
};

}  // namespace cairn::detail
