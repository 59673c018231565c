// SPDX-License-Identifier: Apache-2.0
#pragma once
// The fastest of all plans for a small graph, by search over every set of kept values and tapes, with every eviction at
// every moment; no planner of cairn, and not its replay.
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <queue>
#include <utility>
#include <vector>

#include <cairn/rules/operation_graph.hpp>

namespace brute {

/// Searches one graph of up to 14 operations, tapes and operations that use states outside the graph ((n+2) 2^k places
/// for k of all) for as many budgets as one likes.
class graph_search {
 public:
  explicit graph_search(cairn::operation_graph const& graph);

  /// Least makespan of any plan whose peak is at most `budget`; nothing where there is none.
  [[nodiscard]] std::optional<std::int64_t> makespan(std::int64_t budget);
  /// Least peak of any plan. \param enough  a budget that is feasible
  [[nodiscard]] std::int64_t least_peak(std::int64_t enough);

 private:
  static constexpr std::int64_t never = INT64_MAX;

  [[nodiscard]] static bool conflict(cairn::graph_operation const& a, cairn::graph_operation const& b);

  [[nodiscard]] std::int64_t adjoint_bytes(unsigned set) const;
  [[nodiscard]] std::int64_t held_bytes(unsigned set) const;
  void reach(int left, unsigned kept, std::int64_t time);
  /// `left` adjoints are still to run, that of the loss being number `count_`.
  void leave(int left, unsigned kept, std::int64_t time, std::int64_t budget);

  cairn::operation_graph graph_;
  int count_, bits_ = count_, droppable_ = 0;
  std::vector<unsigned> tape_;  // the bit of each, above those of values; 0 where there is none
  std::vector<unsigned> ran_, earlier_;  // a bit for each that uses states: it has run; those that run before it
  // Adjoint bytes while one runs, and when so many are left; the loss has run below count_ + 1.
  std::vector<std::int64_t> during_, before_, time_;
  using entry = std::pair<std::int64_t, std::size_t>;
  std::priority_queue<entry, std::vector<entry>, std::greater<entry>> next_;
};

}  // namespace brute
