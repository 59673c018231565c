// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file max_flow.hpp  The maximum flow from one node of a network to another, and its minimum cut.
#include <algorithm>
#include <cstddef>
#include <limits>
#include <vector>

namespace cairn::detail {

/// Dinic's method (1970) with real capacities. Apart from rounding, the result is never above the true maximum.
class max_flow {
 public:
  static constexpr double endless = std::numeric_limits<double>::infinity();

  explicit max_flow(std::size_t nodes) : first_(nodes, none), level_(nodes), next_(nodes) {}

  /// Adds an edge; returns its number.
  std::size_t connect(std::size_t from, std::size_t to, double capacity) {
    edges_.push_back({to, first_[from], capacity});
    first_[from] = edges_.size() - 1;
    edges_.push_back({from, first_[to], 0});
    first_[to] = edges_.size() - 1;
    return edges_.size() - 2;
  }
  /// Changes the capacity of an edge; `flow` must be called again.
  void set(std::size_t number, double capacity) noexcept {
    edges_[number].left = capacity;
    edges_[number + 1].left = 0;
  }
  /// The maximum flow from `from` to `to`. Begins with the residual capacities that `connect` and `set` have left.
  [[nodiscard]] double flow(std::size_t from, std::size_t to) {
    double sum = 0, most = 0;
    for (auto const& e : edges_)
      if (e.left < endless) most = (std::max)(most, e.left);
    least_ = most * 1e-12;
    while (layer(from, to)) {
      next_ = first_;
      for (double more = push(from, to, endless); more > 0; more = push(from, to, endless)) sum += more;
    }
    return sum;
  }
  /// Whether a node is on the side of `from` in the minimum cut of the last flow that is nearest to `from`.
  [[nodiscard]] bool is_before_cut(std::size_t node) const noexcept { return level_[node] != none; }

 private:
  static constexpr std::size_t none = std::size_t(-1);
  struct edge {
    std::size_t to, next;
    double left;
  };

  bool layer(std::size_t from, std::size_t to) {
    std::fill(level_.begin(), level_.end(), none);
    queue_.assign(1, from);
    level_[from] = 0;
    for (std::size_t k = 0; k < queue_.size(); ++k)
      for (std::size_t e = first_[queue_[k]]; e != none; e = edges_[e].next)
        if (edges_[e].left > least_ && level_[edges_[e].to] == none) {
          level_[edges_[e].to] = level_[queue_[k]] + 1;
          queue_.push_back(edges_[e].to);
        }
    return level_[to] != none;
  }
  double push(std::size_t node, std::size_t to, double most) {
    if (node == to) return most;
    double sum = 0;
    for (std::size_t& e = next_[node]; e != none; e = edges_[e].next) {
      edge& way = edges_[e];
      if (way.left <= least_ || level_[way.to] != level_[node] + 1) continue;
      double const done = push(way.to, to, (std::min)(most - sum, way.left));
      if (done <= 0) continue;
      way.left -= done;
      edges_[e ^ 1].left += done;
      sum += done;
      if (most - sum <= least_) return sum;
    }
    return sum;
  }

  std::vector<std::size_t> first_, level_, next_, queue_;
  std::vector<edge> edges_;
  double least_ = 0;
};

}  // namespace cairn::detail
