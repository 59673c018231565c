// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file knapsack.hpp  The most value that fits a capacity, exactly or as an upper bound, in integers.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cairn/core/wide.hpp>
#include <cairn/schedule/detail/value_list.hpp>

namespace cairn::detail {

/// An item of a knapsack; both numbers are >= 0.
struct knapsack_item {
  std::int64_t value = 0;   ///< time that keeping it saves
  std::int64_t weight = 0;  ///< bytes
};

/// Whether an item has more value per byte; items without bytes come first. A strict weak order, in which two items of
/// no value and no weight are equivalent.
[[nodiscard]] inline bool denser(knapsack_item const& one, knapsack_item const& other) noexcept {
  if ((one.weight == 0) != (other.weight == 0)) return one.weight == 0;
  return wide(one.value) * wide(other.weight) > wide(other.value) * wide(one.weight);
}

/// The items of one knapsack, densest first, with prefix sums.
class knapsack {
 public:
  /// \param sorted  by `denser`; items that never fit are left out   \param capacity  bytes, >= 0   Cost: O(items)
  knapsack(value_list<knapsack_item> const& sorted, std::int64_t capacity) : capacity_{capacity} {
    weight_before_.push_back(0);
    value_before_.push_back(0);
    for (auto const& item : sorted) {
      if (item.weight > capacity) continue;
      weight_before_.push_back(weight_before_.back() + item.weight);
      value_before_.push_back(value_before_.back() + item.value);
    }
  }
  /// An upper bound on the value of any choice: the densest items that fit and a fraction of the next one, rounded down
  /// (Dantzig 1957).
  [[nodiscard]] std::int64_t relaxed() const noexcept { return relaxed(0, capacity_); }
  /// The largest value of any choice, by branch and bound (Horowitz and Sahni 1974). If `effort` is spent first,
  /// `relaxed()`.
  /// \param effort  visits left; counted down
  [[nodiscard]] std::int64_t most(std::int64_t& effort) const {
    std::int64_t best = 0, value = 0, capacity = capacity_;
    std::size_t next = 0;
    value_list<std::size_t> taken;
    for (;;) {
      if (--effort < 0) return relaxed();
      if (next < items() && value + relaxed(next, capacity) > best) {
        if (weight(next) <= capacity) {
          taken.push_back(next);
          value += worth(next);
          capacity -= weight(next);
          best = (std::max)(best, value);
        }
        ++next;
      } else {
        if (taken.empty()) return best;
        next = taken.back();
        taken.pop_back();
        value -= worth(next);
        capacity += weight(next);
        ++next;
      }
    }
  }

 private:
  [[nodiscard]] std::size_t items() const noexcept { return weight_before_.size() - 1; }
  [[nodiscard]] std::int64_t weight(std::size_t i) const noexcept { return weight_before_[i + 1] - weight_before_[i]; }
  [[nodiscard]] std::int64_t worth(std::size_t i) const noexcept { return value_before_[i + 1] - value_before_[i]; }
  [[nodiscard]] std::int64_t relaxed(std::size_t from, std::int64_t capacity) const noexcept {
    std::int64_t const reach = weight_before_[from] + capacity;
    std::size_t const cut =
        std::size_t(std::upper_bound(weight_before_.begin() + std::ptrdiff_t(from), weight_before_.end(), reach) -
                    weight_before_.begin()) -
        1;
    std::int64_t const whole = value_before_[cut] - value_before_[from];
    if (cut == items()) return whole;
    return whole + std::int64_t(wide(worth(cut)) * wide(reach - weight_before_[cut]) / wide(weight(cut)));
  }

  std::int64_t capacity_;
  value_list<std::int64_t> weight_before_, value_before_;
};

/// A knapsack whose items are added one by one, each with a known place in an order by density. `relaxed` costs O(log
/// items).
class growing_knapsack {
 public:
  /// \param order  all items that may be added, by `denser`; must outlive this object
  explicit growing_knapsack(value_list<knapsack_item> const& order)
      : order_{order}, weights_(order.size() + 1), values_(order.size() + 1) {
    while (2 * top_ <= order.size()) top_ *= 2;
  }
  /// Removes all items.
  void clear() noexcept {
    std::fill(weights_.begin(), weights_.end(), 0);
    std::fill(values_.begin(), values_.end(), 0);
    places_.clear();
    largest_ = 0;
  }
  /// \param place  the item's place in the order; not yet added
  void add(std::size_t place) {
    auto const& item = order_[place];
    for (std::size_t k = place + 1; k < weights_.size(); k += k & (0 - k))
      weights_[k] += item.weight, values_[k] += item.value;
    places_.insert(std::lower_bound(places_.begin(), places_.end(), place), place);
    largest_ = (std::max)(largest_, item.value);
  }
  /// The largest value of an added item; the best choice is worth at least `relaxed` minus this.
  [[nodiscard]] std::int64_t largest() const noexcept { return largest_; }
  /// An upper bound on the value of any choice.   \param capacity  >= 0
  [[nodiscard]] std::int64_t relaxed(std::int64_t capacity) const noexcept {
    std::size_t cut = 0;
    std::int64_t value = 0;
    for (std::size_t step = top_; step > 0; step /= 2)
      if (cut + step < weights_.size() && weights_[cut + step] <= capacity) {
        cut += step;
        capacity -= weights_[cut];
        value += values_[cut];
      }
    // The descent skips places without an item, so the item at `cut` is the first added one that does not fit whole.
    if (cut == order_.size()) return value;
    return value + std::int64_t(wide(order_[cut].value) * wide(capacity) / wide(order_[cut].weight));
  }
  /// The largest value of any choice, or `relaxed` if the effort is spent first.   Cost: O(items) and the effort
  [[nodiscard]] std::int64_t most(std::int64_t capacity, std::int64_t& effort) const {
    value_list<knapsack_item> sorted;
    sorted.reserve(places_.size());
    for (auto const place : places_) sorted.push_back(order_[place]);
    effort -= std::int64_t(places_.size());
    if (effort <= 0) return relaxed(capacity);
    return knapsack{sorted, capacity}.most(effort);
  }

 private:
  value_list<knapsack_item> const& order_;
  value_list<std::int64_t> weights_, values_;  // prefix sums over the places, as a tree (Fenwick 1994)
  value_list<std::size_t> places_;
  std::size_t top_ = 1;
  std::int64_t largest_ = 0;
};

}  // namespace cairn::detail
