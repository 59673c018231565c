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

#include <cairn/rules/chain.hpp>

namespace brute {

/// Searches one chain of up to 8 stages (4^L (L+2) places) for as many budgets as one likes.
class chain_search {
 public:
  explicit chain_search(cairn::chain const& c);

  /// Least makespan of any schedule whose peak is at most `budget`; nothing where there is none.
  [[nodiscard]] std::optional<std::int64_t> makespan(std::int64_t budget);
  /// Least peak of any schedule. \param enough  a budget that is feasible
  [[nodiscard]] std::int64_t least_peak(std::int64_t enough);

 private:
  struct place {
    int adjoint;      // the state whose adjoint lives, L+1 before the loss
    unsigned states;  // bit i-1: state i is kept
    unsigned tapes;   // bit i: tape i lives
  };
  static constexpr std::int64_t never = INT64_MAX;

  [[nodiscard]] std::size_t number_of(place at) const;
  [[nodiscard]] place place_of(std::size_t number) const;
  /// State 0 and its adjoint are the caller's.
  [[nodiscard]] std::int64_t bytes(place at) const;
  void reach(place at, std::int64_t time);
  void leave(place at, std::int64_t time, std::int64_t budget);

  cairn::chain c_;
  int stages_;
  std::vector<std::int64_t> state_bytes_, tape_bytes_, time_;
  using entry = std::pair<std::int64_t, std::size_t>;
  std::priority_queue<entry, std::vector<entry>, std::greater<entry>> next_;
};

}  // namespace brute
