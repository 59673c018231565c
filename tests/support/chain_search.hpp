// SPDX-License-Identifier: Apache-2.0
#pragma once
// The fastest of all schedules for a small chain, by search over every set of states and tapes; no planner of cairn,
// and not its replay.
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <queue>
#include <utility>
#include <vector>

#include <cairn/core/chain.hpp>

namespace brute {

/// Searches one chain of up to 8 stages (4^L (L+2) places) for as many budgets as one likes.
class chain_search {
 public:
  explicit chain_search(cairn::chain const& c) : c_{c}, stages_{int(c.stages())} {
    if (c_.g.empty()) c_.g = c_.x;
    c_.f.resize(std::size_t(stages_)), c_.b.resize(std::size_t(stages_) + 1), c_.v.resize(std::size_t(stages_) + 1);
    state_bytes_.assign(std::size_t{1} << stages_, 0), tape_bytes_ = state_bytes_;
    for (unsigned set = 1; set < unsigned(state_bytes_.size()); ++set) {
      int const low = __builtin_ctz(set);
      state_bytes_[set] = state_bytes_[set & (set - 1)] + c_.x[std::size_t(low) + 1];
      tape_bytes_[set] = tape_bytes_[set & (set - 1)] + c_.s[std::size_t(low)];
    }
  }

  /// Least makespan of any schedule whose peak is at most `budget`; nothing where there is none.
  [[nodiscard]] std::optional<std::int64_t> makespan(std::int64_t budget) {
    time_.assign(std::size_t(stages_ + 2) << (2 * stages_), never);
    next_ = {};
    reach({stages_ + 1, 0, 0}, 0);
    while (!next_.empty()) {
      auto const [time, number] = next_.top();
      next_.pop();
      if (time > time_[number]) continue;
      place const at = place_of(number);
      if (at.adjoint == 0) return time;
      leave(at, time, budget);
    }
    return {};
  }
  /// Least peak of any schedule. \param enough  a budget that is feasible
  [[nodiscard]] std::int64_t least_peak(std::int64_t enough) {
    std::int64_t low = 0;
    while (low < enough) {
      std::int64_t const middle = low + (enough - low) / 2;
      if (makespan(middle)) enough = middle;
      else low = middle + 1;
    }
    return low;
  }

 private:
  struct place {
    int adjoint;      // the state whose adjoint lives, L+1 before the loss
    unsigned states;  // bit i-1: state i is kept
    unsigned tapes;   // bit i: tape i lives
  };
  static constexpr std::int64_t never = INT64_MAX;

  [[nodiscard]] std::size_t number_of(place at) const {
    return (std::size_t(at.adjoint) << (2 * stages_)) | (std::size_t(at.states) << stages_) | at.tapes;
  }
  [[nodiscard]] place place_of(std::size_t number) const {
    unsigned const all = (1u << stages_) - 1;
    return {int(number >> (2 * stages_)), unsigned(number >> stages_) & all, unsigned(number) & all};
  }
  /// State 0 and its adjoint are the caller's.
  [[nodiscard]] std::int64_t bytes(place at) const {
    return state_bytes_[at.states] + tape_bytes_[at.tapes] +
           (at.adjoint > 0 && at.adjoint <= stages_ ? c_.g[std::size_t(at.adjoint)] : 0);
  }
  void reach(place at, std::int64_t time) {
    std::size_t const number = number_of(at);
    if (time >= time_[number]) return;
    time_[number] = time;
    next_.push({time, number});
  }
  void leave(place at, std::int64_t time, std::int64_t budget) {
    std::int64_t const held = bytes(at);
    auto const state_bit = [](int i) { return 1u << (i - 1); };
    auto const at_hand = [&](int i) { return i == 0 || (at.states & state_bit(i)) || (at.tapes >> (i - 1) & 1u); };
    for (int i = 1; i <= stages_; ++i)
      if (at.states & state_bit(i)) reach({at.adjoint, at.states & ~state_bit(i), at.tapes}, time);
    for (int i = 0; i < stages_; ++i)
      if (at.tapes >> i & 1u) reach({at.adjoint, at.states, at.tapes & ~(1u << i)}, time);
    for (int i = 0; i < stages_ && i < at.adjoint; ++i) {
      std::size_t const k = std::size_t(i);
      if (!at_hand(i)) continue;
      if (!(at.states & state_bit(i + 1)) && held + c_.x[k + 1] + c_.f[k] <= budget)
        reach({at.adjoint, at.states | state_bit(i + 1), at.tapes}, time + c_.u[k]);
      if (!(at.tapes >> i & 1u) && held + c_.s[k] + c_.f[k] <= budget)
        reach({at.adjoint, at.states & ~state_bit(i + 1), at.tapes | 1u << i}, time + c_.u[k]);
    }
    int const i = at.adjoint - 1;
    bool const loss = i == stages_;
    if (!loss && !(at.tapes >> i & 1u)) return;
    if ((loss || !c_.self_contained_tape) && !at_hand(i)) return;
    if (held + c_.b[std::size_t(i)] > budget) return;
    place after{i, at.states, loss ? at.tapes : at.tapes & ~(1u << i)};
    if (loss ? i > 0 : true) after.states &= ~state_bit(loss ? i : i + 1);
    if (bytes(after) <= budget) reach(after, time + c_.v[std::size_t(i)]);
    // The state below may go at the moment its adjoint comes.
    if (i > 0 && !loss) {
      after.states &= ~state_bit(i);
      if (bytes(after) <= budget) reach(after, time + c_.v[std::size_t(i)]);
    }
  }

  cairn::chain c_;
  int stages_;
  std::vector<std::int64_t> state_bytes_, tape_bytes_, time_;
  using entry = std::pair<std::int64_t, std::size_t>;
  std::priority_queue<entry, std::vector<entry>, std::greater<entry>> next_;
};

}  // namespace brute
