// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file online_cursor.hpp  The cursor of `online`: a forward run that may stop anywhere, then the reverse sweep.
#include <cstddef>
#include <cstdint>
#include <cairn/core/action.hpp>
#include <cairn/core/detail/compiler.hpp>
#include <cairn/core/detail/table.hpp>
#include <cairn/core/error.hpp>
#include <cairn/schedule/binomial.hpp>

namespace cairn {
namespace detail {

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

}  // namespace detail

class online;
class stopped_online;

namespace detail {

/// Behaves as if the loop never ended until `stop_at` says where it did. At the start and after each `advance` its
/// position is a *candidate*: a state that may be kept. With lag, `next` is called there only when the loop is known to
/// continue past the state after the candidate; without lag, at once. It returns `drop` (if a state makes room), `save`
/// of the candidate, and `advance` to the next candidate, up to 2^63-1 if there will be none. After the stop come the
/// turn and the reverse sweep, gap by gap from the last, each by the binomial rule with the slots that are free by
/// then.
class online_cursor {
 public:
  /// The next action. Cost: O(slots) if it returns an `advance` of the forward run, otherwise O(1).
  /// \throws invalid_call   if the candidate would be state 2^63-1
  [[nodiscard]] constexpr action next() {
    switch (phase_) {
      case phase::candidate: return decide();
      case phase::take: return take();
      case phase::leave: return leave();
      case phase::idle: return idle();
      case phase::turn: return turn();
      case phase::reverse: return reverse();
      case phase::load: return load();
      case phase::drop: return drop();
      case phase::advance: return advance();
      case phase::save: return save();
      case phase::lift: return lift();
      case phase::move: return move();
      case phase::done: break;
    }
    return {};
  }

  /// The loop turned out to have `steps` steps, and the executor still has `live`: state steps or steps - 1 (0 if there
  /// are no steps). Called at a candidate instead of `next`, or after an `advance` that was cut short at `live`.
  /// \throws invalid_call   if the loop cannot have stopped there, and for a second stop
  constexpr void stop_at(step_index steps, step_index live) {
    bool const begun = phase_ == phase::take || phase_ == phase::leave;
    if (stopped() || begun)
      throw invalid_call{
          "cairn::online",
          stopped() ? "the loop has been stopped before" : "a loop cannot stop between a save and its advance",
          {{"steps", steps}, {"live state", live}},
          "stop it once, at a candidate or where an advance was cut"};
    bool const last = live == steps || (live < steps && live == steps - 1);
    if (!last || live < from_ || live > at_)
      throw invalid_call{"cairn::online",
                         "the loop cannot have stopped there",
                         {{"steps", steps}, {"live state", live}, {"from", from_}, {"to", at_}},
                         "the live state is the last or the last but one, and within the last advance"};
    steps_ = end_ = steps;
    live_ = live;
    entered_ = top_ + 1;
    phase_ = top_ >= 0 && kept_[top_].at == live ? phase::idle : phase::turn;
  }

  [[nodiscard]] constexpr bool stopped() const noexcept { return steps_ >= 0; }  ///< whether `stop_at` has been called
  /// Whether the decision about a candidate waits until the state after it is known.
  [[nodiscard]] constexpr bool lags() const noexcept { return !eager_; }
  /// Most states kept at once, the initial one included.
  [[nodiscard]] constexpr slot_index slots() const noexcept { return slots_; }
  /// The cursor's position before the stop; 2^63-1 if the last advance has no end.
  [[nodiscard]] constexpr step_index candidate() const noexcept { return at_; }
  /// Bytes allocated by the first `next`; nothing is allocated later.
  [[nodiscard]] constexpr wide table_bytes() const noexcept { return wide(slots_) * sizeof(online_slot); }

 private:
  friend online;
  friend stopped_online;
  enum class phase : std::uint8_t {
    candidate,
    take,
    leave,
    idle,
    turn,
    reverse,
    load,
    drop,
    advance,
    save,
    lift,
    move,
    done
  };

  constexpr online_cursor(slot_index slots, bool eager) noexcept : slots_{slots}, eager_{eager} {}

  [[nodiscard]] constexpr online_slot& top() noexcept { return kept_[top_]; }
  /// Empty slots follow those in use, so that the table is always a permutation of the slots.
  constexpr action decide() {
    if (at_ == no_state)
      throw invalid_call{"cairn::online",
                         "the loop has run out of step numbers",
                         {{"steps", at_}},
                         "it has to stop within 2^63-1 steps"};
    if (top_ < 0) {
      kept_.assign(entries_for(slots_), {});
      for (std::size_t k = 0; k < kept_.size(); ++k) kept_[k].slot = slot_index(k);
    }
    if (top_ + 1 < slots_) {
      kept_[++top_].at = at_;
      return take();
    }
    slot_index const slot = kept_[victim_].slot;
    for (std::size_t k = victim_; k < std::size_t(top_); ++k) {
      kept_[k].at = kept_[k + 1].at;
      kept_[k].slot = kept_[k + 1].slot;
    }
    top().at = at_;
    top().slot = slot;
    phase_ = phase::take;
    return {action_kind::drop, tier::memory, content::state, slot, 0, 0};
  }
  constexpr action take() noexcept {
    phase_ = phase::leave;
    return {action_kind::save, tier::memory, content::state, top().slot, at_, 0};
  }
  constexpr action leave() noexcept {
    online_choice wanted{at_ + 1};
    if (top_ + 1 == slots_) {
      online_decision const decision{kept_, victim_ > 0 ? victim_ - 1 : 0, eager_};
      wanted = decision.choose(at_ > from_ ? at_ - from_ : 1);
    }
    from_ = at_;
    at_ = wanted.at;
    victim_ = wanted.victim;
    phase_ = phase::candidate;
    return {action_kind::advance, tier::memory, content::state, no_slot, from_, at_};
  }

  /// Work of the next decision, in the unit of `work_limit`. If no slot is empty, it is estimated by the last decision:
  /// proportional to the entries after the one that makes room.
  [[nodiscard]] constexpr wide sums_of_decision() const noexcept {
    constexpr wide sums_of_a_choice = 512, sums_of_an_entry = 4;
    return sums_of_a_choice + (top_ + 1 == slots_ ? sums_of_an_entry * (wide(slots_) - victim_) : 0);
  }

  /// Drops the entry of the live state, which need not also be kept.
  constexpr action idle() noexcept {
    phase_ = phase::turn;
    return {action_kind::drop, tier::memory, content::state, kept_[top_--].slot, 0, 0};
  }
  constexpr action turn() noexcept {
    phase_ = end_ == 0 ? phase::done : live_ == end_ ? phase::load : phase::reverse;
    return {action_kind::turn, tier::memory, content::state, no_slot, live_, steps_};
  }
  constexpr action reverse() noexcept {
    step_index const to = end_--;
    phase_ = end_ > 0 ? phase::load : phase::done;
    return {action_kind::reverse, tier::memory, content::state, no_slot, end_, to};
  }
  constexpr action load() noexcept {
    live_ = top().at;
    phase_ = top_ < entered_ ? enter() : end_ - live_ > 1 ? phase::advance : phase::drop;
    return {action_kind::load, tier::memory, content::state, top().slot, live_, 0};
  }
  /// Begins the gap after a state that was kept in the forward run.
  constexpr phase enter() noexcept {
    entered_ = top_;
    step_index const better = moved(top_, end_);
    top().ahead = bracket_of(end_ - better, slots_ - top_);
    if (better == live_) return end_ - live_ > 1 ? phase::advance : phase::drop;
    top().at = better;
    return phase::lift;
  }
  /// The state to which the kept state of an entry moves when the reverse sweep reaches the entry.
  [[nodiscard]] constexpr step_index moved(slot_index index, step_index end) const noexcept {
    auto const k = std::size_t(index);
    return k > 0 ? moved_forward(kept_[k - 1].at, kept_[k].at, end, slots_ - index) : kept_[k].at;
  }
  constexpr action lift() noexcept {
    phase_ = phase::move;
    return {action_kind::drop, tier::memory, content::state, kept_[top_--].slot, 0, 0};
  }
  constexpr action move() noexcept {
    step_index const from = live_;
    live_ = kept_[top_ + 1].at;
    phase_ = phase::save;
    return {action_kind::advance, tier::memory, content::state, no_slot, from, live_};
  }
  constexpr action drop() noexcept {
    phase_ = phase::reverse;
    return {action_kind::drop, tier::memory, content::state, kept_[top_--].slot, 0, 0};
  }
  constexpr action advance() noexcept {
    step_index const from = live_;
    live_ += end_ - from > 1 && slots_ - top_ > 1 ? split() : end_ - from - 1;
    phase_ = end_ - live_ > 1 ? phase::save : phase::reverse;
    return {action_kind::advance, tier::memory, content::state, no_slot, from, live_};
  }
  [[nodiscard]] constexpr step_index split() noexcept {
    online_slot* const own = &top();
    slot_index const slots = slots_ - top_;
    step_index const below =
        is_narrow(slots, own->ahead) ? q_below<std::uint64_t>(slots, own->ahead) : q_below<wide>(slots, own->ahead);
    return take_split(end_ - live_, below, own[0].ahead, own[1].ahead);
  }
  constexpr action save() noexcept {
    ++top_;
    top().at = live_;
    phase_ = phase::advance;
    return {action_kind::save, tier::memory, content::state, top().slot, live_, 0};
  }

  /// Adds the turn and all that follows it, in closed form, gap by gap from the last. The peak is that of the forward
  /// run, which keeps every state until no slot is empty.   \pre `stopped()`, and no action since
  constexpr void add_rest(schedule_counts& sum) const noexcept {
    sum.turned += wide(steps_ - live_);
    sum.reversals += wide(steps_);
    step_index end = live_;
    sum.loads += wide(end);
    for (auto index = top_ - (phase_ == phase::idle ? 1 : 0); index >= 0; --index) {
      step_index const kept = kept_[index].at;
      step_index const start = moved(index, end);
      slot_index const slots = slots_ - index;
      sum.advances += gap_advances(end - start, slots) + wide(start - kept);
      if (start != kept) ++sum.saves;
      if (end - start > 1) sum.saves += fewest_saves(end - start, useful_slots(end - start, slots)) - 1;
      end = start;
    }
  }

  table<online_slot> kept_;  // top_ + 1 of them in use, in the order of their states; the cursor's only memory
  slot_index slots_;
  slot_index top_ = -1;
  slot_index entered_ = 0;  // the reverse sweep has entered the gaps from here on
  step_index at_ = 0;       // the candidate
  step_index from_ = 0;     // where the last advance to it began
  step_index steps_ = -1;   // length of the loop, once it has stopped
  step_index end_ = 0;      // steps [0, end_) are not yet reversed
  step_index live_ = 0;
  std::size_t victim_ = 0;
  phase phase_ = phase::candidate;
  bool eager_;
};

}  // namespace detail
}  // namespace cairn
