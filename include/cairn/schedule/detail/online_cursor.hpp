// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file online_cursor.hpp  The cursor of `online`: a forward run that may stop anywhere, then the reverse sweep.
#include <cstddef>
#include <cstdint>
#include <cairn/core/action.hpp>
#include <cairn/core/detail/table.hpp>
#include <cairn/core/error.hpp>
#include <cairn/schedule/binomial.hpp>
#include <cairn/schedule/detail/online_rule.hpp>

namespace cairn {

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
