// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file plateaus.hpp  The known values of a cost that falls in steps as bytes grow.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <cairn/schedule/detail/value_list.hpp>

namespace cairn::detail {

/// More than any number of bytes.
inline constexpr std::int64_t no_end = (std::numeric_limits<std::int64_t>::max)();

/// A range [from, end) of bytes in which one choice is the best, at one cost.
struct plateau {
  std::int64_t from = 0;    ///< the choice has this cost from here on
  std::int64_t end = 0;     ///< proven: with fewer bytes than this nothing costs less
  std::int64_t cost = 0;    ///< the cost of the choice
  std::int32_t choice = 0;  ///< its meaning is up to the owner
};

/// A lower bound on the least cost at some number of bytes.
struct cost_bound {
  std::int64_t cost = 0;  ///< not more than the least cost
  std::int64_t end = 0;   ///< the bound holds from the bytes asked for up to here
  bool exact = false;     ///< whether it is the least cost
};

/// The plateaus found so far of a cost that never rises with bytes and is 0 from some number on. They do not overlap,
/// and each costs less than those below it.
class plateaus {
 public:
  /// \param enough  bytes at which the cost becomes 0   \pre bytes < enough   Cost: O(log size)
  [[nodiscard]] cost_bound bound(std::int64_t bytes, std::int64_t enough) const noexcept {
    auto const above = first_above(bytes);
    if (above != known_.begin() && bytes < above[-1].end) return {above[-1].cost, above[-1].end, true};
    if (above == known_.end()) return {0, enough, false};
    return {above->cost, above->from, false};
  }
  /// The last plateau that starts at `bytes` or below; null if none is known.
  [[nodiscard]] plateau const* last(std::int64_t bytes) const noexcept {
    auto const above = first_above(bytes);
    return above == known_.begin() ? nullptr : &above[-1];
  }
  /// Adds a plateau. Plateaus of the same cost are merged, because the cost between them is the same.
  void add(plateau found) {
    if (found.cost == 0) found.end = no_end;
    auto const at =
        std::partition_point(known_.begin(), known_.end(), [&](plateau const& one) { return one.cost > found.cost; });
    if (at == known_.end() || at->cost != found.cost) {
      known_.insert(at, found);
      return;
    }
    at->end = (std::max)(at->end, found.end);
    if (found.from < at->from) at->from = found.from, at->choice = found.choice;
  }
  [[nodiscard]] std::size_t size() const noexcept { return known_.size(); }  ///< how many there are

 private:
  [[nodiscard]] plateau const* first_above(std::int64_t bytes) const noexcept {
    return std::upper_bound(known_.begin(), known_.end(), bytes,
                            [](std::int64_t b, plateau const& one) { return b < one.from; });
  }

  value_list<plateau> known_;
};

}  // namespace cairn::detail
