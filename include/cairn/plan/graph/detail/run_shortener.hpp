// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file run_shortener.hpp  Makes plans for a graph faster: a value stays, and its repeated run is removed.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>
#include <cairn/plan/graph/detail/graph_model.hpp>
#include <cairn/plan/graph/detail/run_judge.hpp>
#include <cairn/plan/graph/detail/run_order.hpp>

namespace cairn::detail {

/// Shortens orders until no further run can be removed.
class run_shortener {
 public:
  /// \param judge  must outlive this object
  explicit run_shortener(run_judge& judge) : judge_{judge} {}

  /// Removes repeated runs whose value can stay.
  void shorten(run_order& runs) {
    for (bool again = true; again && judge_.effort > 0;) {
      std::int64_t const time = judge_.measure.cost(runs).time;
      auto const repeated = judge_.runs_again(runs);
      again = std::any_of(repeated.begin(), repeated.end(), [&](std::size_t i) { return remove(runs, i, time); });
    }
  }
  /// The same, but first checks whether the value fits the budget while it waits.
  void shorten_soon(run_order& runs) {
    for (bool again = true; again && judge_.effort > 0;) {
      std::int64_t const time = judge_.cost_of(runs).time;
      bytes_at_ = judge_.measure.bytes_at();
      find_gaps(runs);
      again = std::any_of(gaps_.begin(), gaps_.end(),
                          [&](gap const& one) { return fits(one) && remove(runs, one.run, time); });
    }
  }

 private:
  /// A repeated run, and the range of actions in which its value would have to wait without it.
  struct gap {
    std::size_t run, made, read, until;
    std::int64_t bytes, tape;
  };
  /// Removes run i unless the order then exceeds the budget, or does not take less than `time`.
  bool remove(run_order& runs, std::size_t i, std::int64_t time) {
    run_order fewer = runs;
    fewer.erase(fewer.begin() + std::ptrdiff_t(i));
    judge_.measure.strip(fewer);
    run_cost const cost = judge_.cost_of(fewer);
    if (cost.peak > judge_.budget || cost.time >= time) return false;
    runs = std::move(fewer);
    return true;
  }
  /// Fills gaps_, in random order.
  void find_gaps(run_order const& runs) {
    constexpr std::size_t npos = std::size_t(-1);
    made_at_.assign(judge_.model.count + 1, npos);
    gaps_.clear();
    std::size_t first = 0;  // of the current sequence of runs
    for (std::size_t i = 0; i < runs.size(); ++i) {
      if (runs[i].kind != action_kind::advance) {
        first = i + 1;
        continue;
      }
      std::size_t const v = std::size_t(runs[i].from), before = std::exchange(made_at_[v], i);
      if (before == npos) continue;
      gaps_.push_back({i, before, judge_.measure.last_read(before), first, judge_.model.bytes[v],
                       judge_.measure.makes_tape(i) ? judge_.model.tape[v] : 0});
    }
    for (std::size_t k = gaps_.size(); k > 1; --k) std::swap(gaps_[k - 1], gaps_[judge_.draw(k)]);
  }
  [[nodiscard]] bool fits(gap const& of) {
    judge_.spend(1 + (of.until - (std::min)(of.until, of.made)) / 16);
    auto const most = [this](std::size_t from, std::size_t to) {
      std::int64_t bytes = 0;
      for (std::size_t i = from; i < to; ++i) bytes = (std::max)(bytes, bytes_at_[i]);
      return bytes;
    };
    return most(of.read + 1, of.until) + of.bytes + of.tape <= judge_.budget &&
           (of.tape == 0 || most(of.made, (std::min)(of.read + 1, of.until)) + of.tape <= judge_.budget);
  }

  run_judge& judge_;
  std::vector<std::size_t> made_at_;
  std::vector<std::int64_t> bytes_at_;
  std::vector<gap> gaps_;
};

}  // namespace cairn::detail
