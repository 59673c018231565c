// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file most_within.hpp  The most slots within so many bytes: the one search of all planners.
#include <cairn/core/action.hpp>
#include <cairn/core/wide.hpp>

namespace cairn {

/// How many slots fit a budget.
struct slot_fit {
  bool fits = false;     ///< whether any plan fits
  slot_index slots = 0;  ///< the most slots that fit; if none fits, the least number allowed
  wide bytes = 0;        ///< bytes of memory of the plan with that many slots
};

namespace detail {

/// The most slots of [least, most] with bytes_with(slots) <= limit. More slots must never take fewer bytes.
/// Bytes are nearly proportional to slots, so linear interpolation is a good guess; bisection in every third
/// round bounds the number of rounds.   Cost: about five calls of bytes_with.
template <class BytesWith>
[[nodiscard]] constexpr slot_fit most_within(wide limit, slot_index least, slot_index most,
                                            BytesWith const& bytes_with) {
  slot_fit low{false, least, bytes_with(least)};
  if (low.bytes > limit) return low;
  low.fits = true;
  if (most <= least) return low;
  slot_index high = most;
  wide high_bytes = bytes_with(high);
  if (high_bytes <= limit) return {true, high, high_bytes};
  for (int round = 0; high - low.slots > 1; ++round) {
    slot_index const apart = high - low.slots;
    slot_index guess = round % 3 == 2 ? apart / 2
                                      : slot_index((limit - low.bytes) * wide(apart) / (high_bytes - low.bytes));
    guess = low.slots + (guess < 1 ? 1 : guess > apart - 1 ? apart - 1 : guess);
    wide const bytes = bytes_with(guess);
    if (bytes <= limit) low.slots = guess, low.bytes = bytes;
    else high = guess, high_bytes = bytes;
  }
  return low;
}

}  // namespace detail
}  // namespace cairn
