// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file block_cuts.hpp  Cuts a chain into blocks within a budget so that as little as possible is run again.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>
#include <cairn/plan/block/block_plan.hpp>
#include <cairn/plan/chain/detail/chain_model.hpp>
#include <cairn/plan/chain/detail/lower_bounds.hpp>

namespace cairn::detail {

/// Finds the best blocks of one level, exact in bytes. All stages before the last block are run again, so of the cuts
/// that fit, the best is the one whose last block begins earliest. A block [a, b) needs bytes of its own besides the
/// kept first states of all blocks up to it. K(b) = x_b + min K(a), over all a for which [a, b) fits, is the least sum
/// of these states. The model is that of `replay`; the tests compare with all possible cuts.
class block_cuts {
 public:
  /// \param c  must outlive this
  explicit block_cuts(chain_model const& c) : c_{c}, last_need_(std::size_t(c.stages) + 1) {
    std::int64_t need = c.b[std::size_t(c.stages)], first_run = 0;
    last_need_[std::size_t(c.stages)] = need;
    for (std::size_t i = std::size_t(c.stages); i-- > 0;) {
      // `need`: bytes besides state i for recording the rest and for all adjoints. `first_run`: bytes for recording
      // stage i while state i must be kept.
      need = (std::max)({c.s[i] + c.f[i], c.s[i] + c.g[i + 1] + c.b[i], c.s[i] + need});
      first_run = c.s[i] + c.f[i];
      last_need_[i] = (std::max)(need - given_up(i), first_run);
    }
  }

  /// The blocks with a peak of at most `budget` that run the fewest stages again; empty if no blocks of one level fit.
  /// Cost: O(stages * stages that fit into the budget)
  [[nodiscard]] std::optional<std::vector<stage_range>> within(std::int64_t budget) const {
    std::size_t const stages = std::size_t(c_.stages);
    if (stages == 0) {
      if (last_need_[0] > budget) return {};
      return std::vector<stage_range>{};
    }
    std::vector<std::int64_t> kept(stages, endless);
    std::vector<std::size_t> from(stages, 0);
    kept[0] = 0;
    for (std::size_t a = 0; a < stages; ++a) {
      if (kept[a] > budget) continue;
      if (kept[a] + last_need_[a] <= budget) return blocks(from, a);
      extend(a, budget, kept, from);
    }
    return {};
  }
  /// The least budget for which `within` finds blocks.   Cost: about 40 calls of `within`
  [[nodiscard]] std::int64_t least_budget() const {
    std::int64_t low = least_peak_bound(c_), high = (std::max)(low, c_.store_all_peak());
    while (low < high) {
      std::int64_t const middle = low + (high - low) / 2;
      if (within(middle)) high = middle;
      else low = middle + 1;
    }
    return low;
  }

 private:
  /// Bytes that a self-contained first tape frees: those of the state it was made from.
  [[nodiscard]] std::int64_t given_up(std::size_t first) const noexcept {
    return c_.self_contained_tape && first > 0 ? c_.x[first] : 0;
  }

  /// Tries all blocks [a, b) that fit, b < stages.
  void extend(std::size_t a, std::int64_t budget, std::vector<std::int64_t>& kept,
              std::vector<std::size_t>& from) const {
    std::int64_t const free_bytes = budget - kept[a], given_up_later = given_up(a);
    std::int64_t tapes = 0, forward = 0, record = 0, backward = 0;
    for (std::size_t i = a; i + 1 < kept.size(); ++i) {
      std::size_t const b = i + 1;
      std::int64_t const own = i > a ? given_up_later : 0;
      tapes += c_.s[i];
      forward = (std::max)(forward, (i > a ? c_.x[i] : 0) + c_.x[b] + c_.f[i]);
      record = (std::max)(record, tapes + c_.f[i] - own);
      backward = (std::max)(backward, tapes + c_.g[b] + c_.b[i] - given_up_later);
      if ((std::max)({forward, record, backward}) > free_bytes) return;
      if (record + c_.g[b] > free_bytes || kept[a] + c_.x[b] >= kept[b]) continue;
      kept[b] = kept[a] + c_.x[b];
      from[b] = a;
    }
  }
  [[nodiscard]] std::vector<stage_range> blocks(std::vector<std::size_t> const& from, std::size_t last) const {
    std::vector<stage_range> found;
    for (step_index end = c_.stages;; last = from[last]) {
      found.push_back({step_index(last), end});
      if (last == 0) break;
      end = step_index(last);
    }
    std::reverse(found.begin(), found.end());
    return found;
  }

  chain_model const& c_;
  std::vector<std::int64_t> last_need_;  ///< bytes of a last block that begins at stage i, without the states that are
                                         ///< kept up to it
};

}  // namespace cairn::detail
