// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file lower_bounds.hpp  Lower bounds for every schedule of a chain: peak bytes, and time of stages run again.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <numeric>
#include <cairn/core/wide.hpp>
#include <cairn/plan/chain/detail/chain_model.hpp>
#include <cairn/schedule/detail/value_list.hpp>
#include <cairn/schedule/work_limit.hpp>

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

/// Bytes that every sweep needs at some moment.
struct peak_need {
  std::int64_t stage = 0;    ///< the stage that runs; L for the loss
  bool is_backward = false;  ///< whether this is its adjoint, or the loss; if false, its recorded run
  std::int64_t state = 0;    ///< bytes of the state that is read
  std::int64_t tape = 0;     ///< bytes of its tape
  std::int64_t adjoint = 0;  ///< bytes of the adjoint that is read
  std::int64_t work = 0;     ///< working bytes
  std::int64_t bytes = 0;    ///< the sum of the above
};

/// The moment that needs the most bytes: the loss, or the recorded run or the adjoint of a stage; among equals the
/// first. A state that is not kept by itself is held in the tape before it, which is no smaller.   Cost: O(L)
[[nodiscard]] inline peak_need binding_need(chain_model const& c) {
  peak_need most{.stage = -1, .bytes = -1};
  auto const consider = [&](std::int64_t stage, bool is_backward, std::int64_t state, std::int64_t tape,
                            std::int64_t adjoint, std::int64_t work) {
    std::int64_t const bytes = state + tape + adjoint + work;
    if (bytes > most.bytes) most = {stage, is_backward, state, tape, adjoint, work, bytes};
  };
  for (std::int64_t stage = 0; stage < c.stages; ++stage) {
    std::size_t const i = std::size_t(stage);
    std::int64_t const state = i > 0 ? c.x[i] : 0;
    consider(stage, false, state, c.s[i], 0, c.f[i]);
    consider(stage, true, c.self_contained_tape ? 0 : state, c.s[i], c.g[i + 1], c.b[i]);
  }
  std::size_t const last = std::size_t(c.stages);
  consider(c.stages, true, last > 0 ? c.x[last] : 0, 0, 0, c.b[last]);
  return most;
}

/// A lower bound on the peak of every schedule, without state 0.   Cost: O(L)
[[nodiscard]] inline std::int64_t least_peak_bound(chain_model const& c) { return binding_need(c).bytes; }

/// Lower bounds on the time of stages run again, window by window.
///
/// Let T_L be the start of the loss, and T_a that of the adjoint of stage a. Every stage has run once before T_L,
/// because state L exists then. So everything that runs after T_L runs again. For L = a_0 > a_1 > ... > a_n = 0 the
/// windows [T_a_0, T_a_1), [T_a_1, T_a_2), ... do not overlap, so bounds on what runs in each of them add up. Let W(a,
/// b) be such a bound for the window [T_a, T_b), b < a. The adjoints of a-1, ..., b+1 run in it, and tape b is there at
/// its end, so each stage in [b, a) runs in it unless its tape is kept at T_a. All that is kept at T_a shares
/// R = budget - (tape a, adjoint a+1, working bytes of the adjoint of a), or budget - (working bytes of the loss) for a
/// = L. State a is part of it, except with self-contained tapes and a < L: by itself, x_a, or in tape a-1, s_a-1. Both
/// cases are tried; in the second, stage a-1 need not run. With the rest of R there are two cases for tape b:
/// - It is kept: the stages after b run, except those whose tapes fit into R - s_b.
/// - It is not: stage b runs and needs state b. Let k <= b be the last state at hand at T_a; then every stage from k to
///   b-1 has to run.
/// State k is kept by itself, or in tape k-1, which has no fewer bytes and is not one of [b, a); state 0 is free. So
/// k..b run, and the stages after b, except those whose tapes fit into R - x_k. Only those k matter whose state is
/// smaller than all states between it and b.
/// W is the least of these cases. If none fits, the budget is infeasible for every schedule, and any value is a valid
/// bound. Which tapes fit is a knapsack with times as values and bytes as weights, bounded from above. So D(a) = max
/// over b < a of W(a, b) + D(b), D(0) = 0, is a lower bound on all that is run again from T_a on.
class window_bound {
 public:
  static constexpr std::size_t usual_windows = 4'000'000;  ///< about a second

  /// \param effort  visits of all knapsacks together; after that they are relaxed, and the bound is lower but valid
  /// \param most_windows  most windows visited; fewer make a lower bound   \param meter  counts the work; null for no
  ///   limit
  window_bound(chain_model const& c, std::int64_t budget, std::int64_t effort, std::size_t most_windows = usual_windows,
               work_meter* meter = nullptr)
      : c_{c},
        budget_{budget},
        effort_{effort},
        most_windows_{most_windows},
        meter_{meter},
        place_(std::size_t(c.stages)),
        order_{by_density()},
        lighter_(std::size_t(c.stages) + 1),
        again_(std::size_t(c.stages) + 1),
        alone_{growing_knapsack{order_}},
        in_tape_{growing_knapsack{order_}} {
    for (std::size_t k = 1; k < lighter_.size(); ++k) {
      lighter_[k] = k - 1;
      while (lighter_[k] > 0 && bytes_of(lighter_[k]) >= bytes_of(k)) lighter_[k] = lighter_[lighter_[k]];
    }
  }

  /// D(L). For long chains only the windows from some states a are visited. The other states take D(a-1), because no
  /// less is run again from T_a on than from a later T on.
  /// Cost: O(min(L^2, most_windows) log L) for each of the states that matter as sources, and the effort; O(L) memory
  /// \throws too_much_work
  [[nodiscard]] std::int64_t extra_forward() {
    std::size_t const stages = again_.size() - 1, stride = stages * stages / 2 / most_windows_ + 1;
    for (std::size_t a = 1; a <= stages; ++a)
      if ((stages - a) % stride == 0) windows_from(a);
      else again_[a] = again_[a - 1];
    return again_.back();
  }

 private:
  /// One way in which state a may be held at T_a.
  struct shelf {
    growing_knapsack tapes;    ///< of the stages after b whose tape may be kept, without one that holds state a
    std::int64_t capacity = -1;  ///< bytes for these tapes, tape b and a source
    std::int64_t spared = 0;   ///< time of stage a-1 if its tape holds state a
    std::size_t end = 0;       ///< one past the last of the stages in `tapes`
  };

  /// All tapes; fills `place_`.
  [[nodiscard]] value_list<knapsack_item> by_density() {
    auto const item = [&](std::size_t i) { return knapsack_item{c_.u[i], c_.s[i]}; };
    value_list<std::size_t> stages(place_.size());
    std::iota(stages.begin(), stages.end(), std::size_t{0});
    sort_values(stages, [&](std::size_t i, std::size_t j) { return denser(item(i), item(j)); });
    value_list<knapsack_item> order;
    for (std::size_t const i : stages) {
      place_[i] = order.size();
      order.push_back(item(i));
    }
    return order;
  }
  [[nodiscard]] std::int64_t bytes_of(std::size_t state) const noexcept { return state == 0 ? 0 : c_.x[state]; }

  void windows_from(std::size_t a) {
    bool const is_loss = a + 1 == again_.size();
    std::int64_t const capacity = budget_ - (is_loss ? c_.b[a] : c_.s[a] + c_.g[a + 1] + c_.b[a]);
    bool const needs_state = is_loss || !c_.self_contained_tape;
    shelf* const all[] = {&alone_, &in_tape_};
    alone_.capacity = capacity - (needs_state ? c_.x[a] : 0);
    alone_.end = a;
    in_tape_.capacity = needs_state ? capacity - c_.s[a - 1] : -1;
    in_tape_.end = a - 1;
    in_tape_.spared = c_.u[a - 1];
    for (auto* const one : all) one->tapes.clear();
    std::int64_t allowance = effort_ / std::int64_t(again_.size() - a);
    effort_ -= allowance;
    for (std::size_t b = a; b-- > 0;) {
      for (auto* const one : all)
        if (b + 1 < one->end) one->tapes.add(place_[b + 1]);
      sources_ = 0;
      std::int64_t const gain_wanted = again_[a] - again_[b];
      std::int64_t const roughly =
          window(a, b, [](shelf const& one, std::int64_t free) { return one.tapes.relaxed(free); });
      std::int64_t least = roughly;
      // A knapsack is worth at least its relaxation minus one item. If even that does not improve the bound, skip the
      // exact value.
      if (allowance > 0 && roughly + alone_.tapes.largest() + 1 > gain_wanted)
        least = window(a, b, [&](shelf const& one, std::int64_t free) {
          std::int64_t visits = (std::min)(allowance, most_visits);
          allowance -= visits;
          std::int64_t const value = one.tapes.most(free, visits);
          sources_ += 1'000;  // a knapsack takes as long as this many sources
          allowance += std::max<std::int64_t>(visits, 0);
          return value;
        });
      again_[a] = (std::max)({again_[a], again_[b], least + again_[b]});
      count_work(meter_, sums_of_a_source * (4 + sources_));
    }
    effort_ += allowance;
  }

  /// W(a, b). \param kept  returns an upper bound on the time saved by tapes within that many bytes
  template <class Kept>
  [[nodiscard]] std::int64_t window(std::size_t a, std::size_t b, Kept kept) {
    constexpr std::int64_t none = (std::numeric_limits<std::int64_t>::max)();
    std::int64_t least = none;
    std::int64_t const from_b = c_.run(std::int64_t(b), std::int64_t(a)), after_b = from_b - c_.u[b];
    for (auto const* one : {&alone_, &in_tape_}) {
      if (one->capacity < 0) continue;
      if (b == one->end) return 0;  // the tape that holds state a is tape b
      if (c_.s[b] <= one->capacity)
        least = (std::min)(least, after_b - one->spared - kept(*one, one->capacity - c_.s[b]));
      std::int64_t const at_best = from_b - one->spared - one->tapes.relaxed(one->capacity);
      for (std::size_t k = b;; k = lighter_[k]) {
        std::int64_t const way = c_.run(std::int64_t(k), std::int64_t(b));
        if (way + at_best >= least) break;
        ++sources_;
        if (bytes_of(k) <= one->capacity)
          least = (std::min)(least, way + from_b - one->spared - kept(*one, one->capacity - bytes_of(k)));
        if (k == 0) break;
      }
    }
    return least == none ? 0 : least;
  }

  static constexpr std::int64_t most_visits = 20'000;  // of one knapsack
  static constexpr wide sums_of_a_source = 32;  // a source takes as long as this many sums

  chain_model const& c_;
  std::int64_t budget_, effort_;
  std::size_t most_windows_;
  work_meter* meter_;
  wide sources_ = 0;  // visited for the current window
  value_list<std::size_t> place_;    // place of a stage's tape in `order_`
  value_list<knapsack_item> order_;  // tapes by density
  value_list<std::size_t> lighter_;  // for each state the last one before it that has fewer bytes, or 0
  value_list<std::int64_t> again_;   // D
  shelf alone_, in_tape_;
};

/// A lower bound on the time in which any schedule within `budget` bytes runs stages again; see `window_bound`. Adding
/// `store_all_time` gives a lower bound on every makespan. 0 if the budget is below `least_peak_bound`: no schedule
/// exists then.
/// \param effort  visits of knapsacks   \param most_windows, meter  as for `window_bound`   Cost: O(min(L^2,
///   most_windows) log L) and the effort   \throws too_much_work
[[nodiscard]] inline std::int64_t extra_forward_bound(chain_model const& c, std::int64_t budget,
                                                      std::int64_t effort = 4'000'000,
                                                      std::size_t most_windows = window_bound::usual_windows,
                                                      work_meter* meter = nullptr) {
  if (budget >= c.store_all_peak() || budget < least_peak_bound(c)) return 0;
  return window_bound{c, budget, effort, most_windows, meter}.extra_forward();
}

}  // namespace cairn::detail
