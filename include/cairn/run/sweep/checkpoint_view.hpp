// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file checkpoint_view.hpp  The checkpoints of a run as a map-like range.
#include <cstddef>
#include <utility>
#include <vector>
#include <cairn/core/action.hpp>
#include <cairn/core/error.hpp>

namespace cairn {

/// The checkpoints of a run by position, in ascending order; a view that is valid until the run is reversed.
template <class State>
class checkpoint_view {
 public:
  /// A checkpoint and its number.
  struct checkpoint {
    step_index position;  ///< the number of the state
    State const& state;  ///< valid until the run is reversed
  };
  /// Walks the view in ascending order.
  class iterator {
   public:
    using value_type = checkpoint;  ///< the type that `*` returns
    using difference_type = std::ptrdiff_t;  ///< difference of iterators
    iterator() = default;
    /// The checkpoint at the iterator's position.
    [[nodiscard]] checkpoint operator*() const { return {(*all_)[k_].first, *(*all_)[k_].second}; }
    iterator& operator++() {  ///< advances to the next checkpoint
      ++k_;
      return *this;
    }
    iterator operator++(int) {  ///< advances to the next checkpoint; returns the old position
      auto const old = *this;
      ++k_;
      return old;
    }
    /// Compares iterators of one view.
    [[nodiscard]] bool operator==(iterator const& other) const noexcept { return k_ == other.k_; }

   private:
    friend checkpoint_view;
    iterator(std::vector<std::pair<step_index, State const*>> const& all, std::size_t k) : all_{&all}, k_{k} {}
    std::vector<std::pair<step_index, State const*>> const* all_ = nullptr;
    std::size_t k_ = 0;
  };

  [[nodiscard]] std::size_t size() const noexcept { return all_.size(); }  ///< number of checkpoints
  [[nodiscard]] bool empty() const noexcept { return all_.empty(); }  ///< whether there are no checkpoints
  [[nodiscard]] iterator begin() const noexcept { return {all_, 0}; }  ///< the first checkpoint
  [[nodiscard]] iterator end() const noexcept { return {all_, all_.size()}; }  ///< past the last
  /// Whether state `position` is a checkpoint.   Cost: O(log size)
  [[nodiscard]] bool contains(step_index position) const noexcept { return find(position) != nullptr; }
  /// \throws invalid_call   if there is no checkpoint at `position`
  [[nodiscard]] State const& at(step_index position) const {
    if (State const* const found = find(position)) return *found;
    throw invalid_call{"cairn::checkpoints",
                       "there is no checkpoint at this position",
                       {{"position", position}, {"checkpoints", all_.size()}},
                       "iterate over the view for the positions there are, or call run.at(i) to have any state"};
  }

 private:
  template <class, class, schedule, class, class, class> friend class checkpointed_run;
  [[nodiscard]] State const* find(step_index position) const noexcept {
    std::size_t low = 0, high = all_.size();
    while (low < high) {
      std::size_t const middle = low + (high - low) / 2;
      if (all_[middle].first < position) low = middle + 1;
      else high = middle;
    }
    return low < all_.size() && all_[low].first == position ? all_[low].second : nullptr;
  }
  std::vector<std::pair<step_index, State const*>> all_;
};

}  // namespace cairn
