// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file most_slots.hpp  The most slots of any kind of plan that fit a budget.
#include <limits>
#include <utility>
#include <cairn/core/action.hpp>
#include <cairn/core/bytes.hpp>
#include <cairn/plan/loop/detail/workload.hpp>
#include <cairn/plan/loop/estimate.hpp>

namespace cairn {

/// How many slots fit a budget.
struct slot_fit {
  bool fits = false;      ///< whether any plan fits
  slot_index slots = 0;   ///< the most slots that fit; if none fits, the least number allowed
  wide bytes = 0;         ///< bytes of memory of the plan with that many slots
};

/// The most slots for which `make(slots)` fits the budget.
/// \param make  a kind of plan: `make(slots)` is a schedule; `make.least()` and `make.most()` are the fewest and the
///   most slots that it takes; more slots must never take fewer bytes
/// Cost: makes and estimates about five plans.   \throws what `make` and `estimate` throw
template <class Make>
[[nodiscard, gnu::cold]] slot_fit most_slots_within(byte_size budget, workload const& work, Make const& make) {
  constexpr slot_index most_estimated = (std::numeric_limits<slot_index>::max)() - 16;
  wide const most = budget.count();
  auto const bytes_with = [&](slot_index slots) { return estimate(make(slots), work).memory_bytes; };
  slot_index low = make.least();
  if (low > most_estimated) return {false, low, wide(low) * work.state_bytes};
  wide low_bytes = bytes_with(low);
  if (low_bytes > most) return {false, low, low_bytes};
  slot_index high = make.most() < most_estimated ? make.most() : most_estimated;
  if (work.state_bytes > 0 && most / work.state_bytes < wide(high)) high = slot_index(most / work.state_bytes) + 1;
  if (high <= low) return {true, low, low_bytes};
  wide high_bytes = bytes_with(high);
  if (high_bytes <= most) return {true, high, high_bytes};
  // Bytes are nearly proportional to slots, so linear interpolation is a good guess; bisection in every third round
  // bounds the number of rounds.
  for (int round = 0; high - low > 1; ++round) {
    slot_index const wide_apart = high - low;
    auto guess =
        round % 3 == 2 ? wide_apart / 2 : slot_index((most - low_bytes) * wide(wide_apart) / (high_bytes - low_bytes));
    guess = low + (guess < 1 ? 1 : guess > wide_apart - 1 ? wide_apart - 1 : guess);
    wide const bytes = bytes_with(guess);
    if (bytes <= most) low = guess, low_bytes = bytes;
    else high = guess, high_bytes = bytes;
  }
  return {true, low, low_bytes};
}

}  // namespace cairn
