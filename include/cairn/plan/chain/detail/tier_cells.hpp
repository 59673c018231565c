// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file tier_cells.hpp  The free slots of all tiers with a limit, as one number.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <utility>
#include <vector>
#include <cairn/plan/chain/detail/chain_model.hpp>
#include <cairn/plan/chain/detail/slot_division.hpp>
#include <cairn/rules/chain.hpp>
#include <cairn/schedule/detail/value_list.hpp>

namespace cairn::detail {

/// A cell is one combination of free slots of the tiers with a limit. The last cell is that of empty tiers.
class tier_cells {
 public:
  /// \param wanted  most slots of each tier with a limit; 0 chooses 15 for one such tier, 7 each for two, 3 each for
  ///   more
  tier_cells(chain_model const& model, std::vector<chain_tier> const& tiers, std::int64_t wanted) {
    std::int64_t all = 0, common = 0;
    for (std::size_t i = 1; i <= std::size_t(model.stages); ++i)
      all += model.x[i], common = std::gcd(common, model.x[i]);
    auto const is_limited = [all](chain_tier const& one) { return one.bytes >= 0 && one.bytes < all; };
    auto const limited = std::count_if(tiers.begin(), tiers.end(), is_limited);
    std::int64_t const most = wanted > 0 ? wanted : limited == 1 ? 15 : limited == 2 ? 7 : 3;
    for (auto const& one : tiers) {
      limit has;
      if (is_limited(one)) {
        std::int64_t const least = std::max<std::int64_t>(1, one.bytes / most + (one.bytes % most != 0));
        slot_scale const scale{one.bytes, (std::max)(common, least), rounding::up, "cairn::chain_planner"};
        has.stride = count_;
        has.slots = std::size_t(scale.slots());
        for (auto const bytes : model.x) has.sizes.push_back(std::size_t(scale.size(bytes)));
        count_ *= has.slots + 1;
      }
      limits_.push_back(std::move(has));
    }
  }

  [[nodiscard]] std::size_t count() const noexcept { return count_; }
  /// The cell after state i is saved to tier k; `count()` if it does not fit.
  [[nodiscard]] std::size_t after_save(std::size_t cell, std::size_t k, std::int64_t i) const noexcept {
    limit const& has = limits_[k];
    if (has.stride == 0) return cell;
    std::size_t const size = has.sizes[std::size_t(i)];
    return cell / has.stride % (has.slots + 1) < size ? count_ : cell - size * has.stride;
  }

 private:
  /// A tier with a limit: saving a state lowers the cell's number by `stride` for each slot it takes, and it fits if
  /// that many slots of the tier are free.
  struct limit {
    std::size_t stride = 0, slots = 0;  ///< stride is 0 if there is no limit
    value_list<std::size_t> sizes;      ///< slots of each state
  };

  std::vector<limit> limits_;
  std::size_t count_ = 1;
};

}  // namespace cairn::detail
