// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file online_rule.hpp  Which states to keep while the length of the loop is unknown.
#include <cstddef>
#include <cstdint>
#include <cairn/core/action.hpp>
#include <cairn/core/detail/compiler.hpp>
#include <cairn/core/detail/table.hpp>
#include <cairn/schedule/binomial.hpp>

namespace cairn::detail {

/// Stands for the number of a state if no further state will be kept.
inline constexpr step_index no_state = INT64_MAX;

/// A slot and, if it is in use, the state p_j that it keeps.
struct online_slot {
  step_index at = 0;
  slot_index slot = 0;
  bracket ahead = {};  ///< the bracket of the steps after the state, in the reverse sweep
  /// In the forward run, for `online_decision`. `inner`: of p_1 .. p_j the oldest whose loss costs least. `gained`: the
  /// change of the advances of gaps 1 .. j if each has one more slot. `inner_loss`: the least, over these p_i, of D_i
  /// without its sum, minus the `gained` of p_i.
  std::size_t inner = 0;
  wide_difference gained = 0;
  wide_difference inner_loss = 0;
};

/// The largest t with t (t+1) / 2 < steps: the repetition number of two slots.   \pre steps >= 1
[[nodiscard]] constexpr step_index repetitions_of_two(step_index steps) noexcept {
  std::uint64_t t = 0;
  for (std::uint64_t bit = std::uint64_t{1} << ((65 - leading_zeros(std::uint64_t(steps))) / 2); bit > 0; bit /= 2)
    if (auto const more = t + bit; more >> 32 == 0 && more * (more + 1) / 2 < std::uint64_t(steps)) t = more;
  return step_index(t);
}

/// `fewest_advances`, faster if the repetition number is small or there are one or two slots: a decision needs it three
/// times per slot.
/// \pre steps >= 0, slots >= 1
[[nodiscard]] constexpr wide gap_advances(step_index steps, slot_index slots) noexcept {
  if (steps <= 1) return 0;
  if (steps - 1 <= slots) return wide(steps) - 1;
  wide const n = wide(steps);
  if (slots == 1) return n * (n - 1) / 2;
  if (slots == 2) {
    wide const t = wide(repetitions_of_two(steps));
    return t * n - t * (t + 1) * (t + 2) / 6;
  }
  if (((steps | slots) >> 31) != 0) return fewest_advances(steps, slots);
  auto const s = std::uint64_t(slots);
  auto p = s + 1;  // beta(s, t-1)
  for (std::uint64_t t = 2; t < 20; ++t) {
    auto const next = p * (s + t) / t;
    if (next >= std::uint64_t(steps)) return t * std::uint64_t(steps) - p * (s + t) / (s + 1);
    p = next;
  }
  return fewest_advances(steps, slots);
}

/// The next state to keep, and the entry that makes room for it.
struct online_choice {
  step_index at = no_state;
  std::size_t victim = 0;  ///< 0 if a slot is empty
};

/// Decides on the next state to keep once all slots are full. Let the kept states be p_0 = 0 < p_1 < ..., with gaps L_i
/// of which gap i owns s - i slots, and T(n, m) the fewest advances. Dropping p_j for a new state g steps after the
/// last one costs
/// D_j = T(L_{j-1} + L_j, s-j+1) - T(L_{j-1}, s-j+1) - T(L_j, s-j) + sum_{i > j} [T(L_i, s-i+1) - T(L_i, s-i)], L_{s-1}
/// = g.
/// The oldest p_j, j >= 1, with the least D_j is dropped as soon as D_j <= g with lag (the cost, without the new state,
/// of a loop one step longer), or 2 D_j <= g - 1 without lag. For j < s-1, D_j depends on g only through T(g, 2) - T(g,
/// 1), and both conditions, once true, remain true as g grows: the next state to keep is known as soon as one has been
/// kept.
class online_decision {
 public:
  /// \param kept  the entries, all in use, in the order of their states; updates what they store for the rule
  /// \param changed  the first entry that is new or has a new successor   \param eager  decide without knowing the next
  /// state
  /// Cost: O(entries from `changed` on), which are few if a long loop has few slots.
  constexpr online_decision(table<online_slot>& kept, std::size_t changed, bool eager) noexcept
      : eager_{eager}, top_{kept.size() - 1} {
    last_ = kept[top_].at;
    if (top_ == 0) return;
    last_gap_ = last_ - kept[top_ - 1].at;
    last_gap_advances_ = gap_advances(last_gap_, 2);
    if (top_ == 1) return;
    for (std::size_t j = greater(changed, std::size_t{1}); j < top_; ++j) weigh(kept, j);
    inner_ = kept[top_ - 1].inner;
    inner_constant_ = kept[top_ - 1].inner_loss + kept[top_ - 1].gained;
  }

  /// \param likely  distance at which the search begins, >= 1; cost: O(log) of how far off that is
  [[nodiscard]] constexpr online_choice choose(step_index likely) const noexcept {
    step_index const most = no_state - 1 - last_;
    if (top_ == 0 || most < 1) return {};
    step_index enough = lesser(most, likely);
    step_index below = enough;
    if (pays(enough)) {
      for (step_index stride = 1; below > 0 && pays(below); stride = stride > most / 2 ? most : 2 * stride) {
        enough = below;
        below -= lesser(below, stride);
      }
    } else {
      for (step_index stride = 1; enough < most && !pays(enough); stride = stride > most / 2 ? most : 2 * stride) {
        below = enough;
        enough += lesser(most - enough, stride);
      }
      if (!pays(enough)) return {};
    }
    while (enough - below > 1) {
      step_index const middle = below + (enough - below) / 2;
      (pays(middle) ? enough : below) = middle;
    }
    return {last_ + enough, inner_ > 0 && inner_loss(enough) <= last_loss(enough) ? inner_ : top_};
  }

 private:
  static constexpr void weigh(table<online_slot>& kept, std::size_t j) noexcept {
    slot_index const before =
        slot_index(kept.size()) - slot_index(j) + 1;  // slots of the gap before p_j; the gap after it has one fewer
    step_index const front = kept[j].at - kept[j - 1].at;
    step_index const gap = kept[j + 1].at - kept[j].at;
    kept[j].gained = kept[j - 1].gained;
    wide_difference loss = 1;
    if (front + gap - 1 > before) {  // otherwise no step of either gap is run twice, together or apart
      wide const own = gap_advances(gap, before - 1);
      kept[j].gained += wide_difference(gap_advances(gap, before) - own);
      loss = wide_difference(gap_advances(front + gap, before) - gap_advances(front, before) - own);
    }
    loss -= kept[j].gained;
    bool const least = j == 1 || loss < kept[j - 1].inner_loss;
    kept[j].inner = least ? j : kept[j - 1].inner;
    kept[j].inner_loss = least ? loss : kept[j - 1].inner_loss;
  }
  /// D_j + T(g, 1) for the best entry before the last one, and for the last one.
  [[nodiscard]] constexpr wide_difference inner_loss(step_index g) const noexcept {
    return inner_constant_ + wide_difference(gap_advances(g, 2));
  }
  [[nodiscard]] constexpr wide_difference last_loss(step_index g) const noexcept {
    return wide_difference(gap_advances(last_gap_ + g, 2) - last_gap_advances_);
  }
  [[nodiscard]] constexpr bool pays(step_index g) const noexcept {
    wide const run_again = wide(g) * (wide(g) - 1) / 2;
    auto const allowed = wide_difference(run_again + (eager_ ? (wide(g) - 1) / 2 : wide(g)));
    return last_loss(g) <= allowed || (inner_ > 0 && inner_loss(g) <= allowed);
  }

  bool eager_;
  std::size_t top_;
  step_index last_ = 0;
  step_index last_gap_ = 0;
  wide last_gap_advances_ = 0;
  std::size_t inner_ = 0;  // 0 if there is none
  wide_difference inner_constant_ = 0;
};

/// The best position of the kept state `last` when the steps after it, up to `end`, are to be reversed next with
/// `slots` slots, its own included. Moving it forward to y costs y - last + T(end - y, slots) + T(y - before, slots +
/// 1), where `before` is the kept state before it; the cost is convex in y, and the first minimum is taken.   Cost:
/// O(log^2), less if it stays.   \pre before < last < end
[[nodiscard]] constexpr step_index moved_forward(step_index before, step_index last, step_index end,
                                                 slot_index slots) noexcept {
  auto const grows = [&](step_index y) {
    return repetitions(y + 1 - before, slots + 1) + 1 >= repetitions(end - y, slots);
  };
  if (grows(last)) return last;
  step_index y = last + 1;
  for (step_index most = end - 1; y < most;) {
    step_index const middle = y + (most - y) / 2;
    if (grows(middle)) most = middle;
    else y = middle + 1;
  }
  return y;
}

}  // namespace cairn::detail
