// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file optimiser.hpp  L-BFGS (Nocedal 1980) with a backtracking line search (Armijo 1966): enough for a smooth
/// misfit.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <deque>
#include <numeric>
#include <utility>
#include <vector>

namespace seismic {

using numbers = std::vector<double>;

[[nodiscard]] inline double dot(numbers const& a, numbers const& b) {
  return std::inner_product(a.begin(), a.end(), b.begin(), 0.0);
}

class lbfgs {
 public:
  explicit lbfgs(std::size_t memory = 6) : memory_{memory} {}

  /// Moves x downhill once. \param value, slope  objective and gradient at x; those of the new x after
  /// \param evaluate  `double evaluate(x, slope)`, infinite where there is no objective
  /// \param first_change  largest change of a number in the first move
  /// \returns whether a lower value was found
  template <class Evaluate>
  bool step(numbers& x, double& value, numbers& slope, double first_change, Evaluate evaluate) {
    auto direction = downhill(slope);
    double descent = dot(direction, slope), scale = 1;
    if (pairs_.empty()) {
      double largest = 0;
      for (double const d : direction) largest = std::max(largest, std::abs(d));
      if (largest > 0) scale = first_change / largest;
    }
    numbers next(x.size()), next_slope(x.size());
    for (int halvings = 0; halvings < 12; ++halvings, scale /= 2) {
      for (std::size_t k = 0; k < x.size(); ++k) next[k] = x[k] + scale * direction[k];
      double const found = evaluate(next, next_slope);
      if (!(found <= value + 1e-4 * scale * descent)) continue;
      remember(x, next, slope, next_slope);
      x = std::move(next);
      slope = std::move(next_slope);
      value = found;
      return true;
    }
    return false;
  }

 private:
  struct pair {
    numbers moved, bent;  ///< changes of x and of the gradient
    double curvature;     ///< their product, > 0
  };

  [[nodiscard]] numbers downhill(numbers const& slope) const {
    numbers d(slope.size());
    for (std::size_t k = 0; k < d.size(); ++k) d[k] = -slope[k];
    std::vector<double> share(pairs_.size());
    for (std::size_t j = pairs_.size(); j-- > 0;) {
      share[j] = dot(pairs_[j].moved, d) / pairs_[j].curvature;
      for (std::size_t k = 0; k < d.size(); ++k) d[k] -= share[j] * pairs_[j].bent[k];
    }
    if (!pairs_.empty()) {
      double const scale = pairs_.back().curvature / dot(pairs_.back().bent, pairs_.back().bent);
      for (double& v : d) v *= scale;
    }
    for (std::size_t j = 0; j < pairs_.size(); ++j) {
      double const rest = share[j] - dot(pairs_[j].bent, d) / pairs_[j].curvature;
      for (std::size_t k = 0; k < d.size(); ++k) d[k] += rest * pairs_[j].moved[k];
    }
    return d;
  }
  void remember(numbers const& x, numbers const& next, numbers const& slope, numbers const& next_slope) {
    pair one{numbers(x.size()), numbers(x.size()), 0};
    for (std::size_t k = 0; k < x.size(); ++k) {
      one.moved[k] = next[k] - x[k];
      one.bent[k] = next_slope[k] - slope[k];
    }
    one.curvature = dot(one.moved, one.bent);
    if (!(one.curvature > 0)) return;  // a line search without a curvature condition may end in a bend upwards
    pairs_.push_back(std::move(one));
    if (pairs_.size() > memory_) pairs_.pop_front();
  }

  std::size_t memory_;
  std::deque<pair> pairs_;
};

}  // namespace seismic
