// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file held_contents.hpp  The contents that a call holds for backward, and which of them goes first.
#include <algorithm>
#include <c10/core/Storage.h>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <utility>
#include <vector>
#include <cairn/adapt/torch/record/detail/memory_cells.hpp>
#include <cairn/adapt/torch/record/detail/recorded_operators.hpp>
#include <cairn/adapt/torch/record/detail/remake_costs.hpp>

namespace cairn::libtorch::detail {

class held_contents {
 public:
  held_contents(memory_cells& contents, recorded_operators& operators)
      : contents_{contents}, costs_{contents, operators} {}

  /// \param is_own  whether the memory is ours, and nobody writes to it
  void hold(int c, c10::Storage memory, bool is_own) {
    auto& one = contents_[c];
    one.kept = std::move(memory);
    one.is_own = is_own;
    one.holding = int(held_.size());
    held_.push_back(c);
    costs_.is_made(c);
  }
  void drop(int c) {
    auto& one = contents_[c];
    if (one.holding >= 0) {
      held_[std::size_t(one.holding)] = held_.back();
      contents_[held_.back()].holding = one.holding;
      held_.pop_back();
      one.holding = -1;
    }
    if (std::exchange(one.is_part, false)) std::erase(contents_.cell_of(c).parts, c);
    one.kept = {};
  }
  /// Drops what costs least to make again for its bytes and for the time until it is asked for.
  /// \param now  operators that have run; in backward, those that had run when the tensor was saved that is asked for
  /// \param is_back  whether the call is over   \returns the bytes that are free now, and how many contents are gone
  [[nodiscard]] std::pair<std::int64_t, std::int64_t> drop_some(std::int64_t bytes, int now, bool is_back) {
    std::int64_t freed = 0, count = 0;
    int misses = 0;
    while (freed < bytes && !held_.empty()) {
      int best = -1;
      double least = 0;
      std::size_t const stride = held_.size() / 256 + 1;  // of many, some 256 that lie evenly, others each time
      for (std::size_t k = turn_++ % stride; k < held_.size(); k += stride) {
        auto const& one = contents_[held_[k]];
        if (one.bytes == 0 || is_shared(held_[k])) continue;
        int const away = std::abs(now - (is_back && one.asked_at > now ? one.made_by : one.asked_at));
        double const score = (costs_.of(held_[k]) + 1e-7) / (double(one.bytes) * std::sqrt(double(away + 1)));
        if (best < 0 || score < least) best = held_[k], least = score;
      }
      if (best < 0) {
        if (stride == 1 || ++misses > 8) break;
        continue;
      }
      freed += contents_[best].bytes;
      each_holder(best, [&](int c) {
        drop(c);
        costs_.is_dropped(c);
        ++count;
      });
    }
    return {freed, count};
  }

 private:
  /// Visits the contents that hold the memory of this one, itself last.
  template <class Visit>
  void each_holder(int c, Visit const& visit) {
    auto const& cell = contents_.cell_of(c);
    auto const* const memory = contents_[c].kept.unsafeGetStorageImpl();
    auto const parts = cell.parts;  // a copy: what is dropped leaves the list
    for (int const part : parts)
      if (part != c && contents_[part].kept.unsafeGetStorageImpl() == memory) visit(part);
    if (int const now = cell.current;
        now != c && contents_[now].holding >= 0 && contents_[now].kept.unsafeGetStorageImpl() == memory)
      visit(now);
    visit(c);
  }
  /// Whether no byte would be free without this content: somebody else holds its memory.
  [[nodiscard]] bool is_shared(int c) {
    auto holders = contents_[c].kept.use_count();
    if (holders == 1) return false;
    if (contents_.cell_of(c).parts.empty()) return true;
    each_holder(c, [&](int) { --holders; });
    return holders > 0;
  }

  memory_cells& contents_;
  remake_costs costs_;
  std::vector<int> held_;
  std::size_t turn_ = 0;
};

}  // namespace cairn::libtorch::detail
