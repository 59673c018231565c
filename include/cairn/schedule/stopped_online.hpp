// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file stopped_online.hpp  The sweep of an `online` plan over a loop whose length is known to the caller.
#include <cairn/core/action.hpp>
#include <cairn/schedule/detail/online_cursor.hpp>
#include <cairn/schedule/walked_counts.hpp>
#include <cairn/schedule/work_limit.hpp>

namespace cairn {

/// The sweep of an `online` plan over a loop that stops after `steps()` steps. A schedule like any other: it can be
/// verified, counted and drawn.
class stopped_online {
 public:
  /// Stops the cursor where the loop ends; copies advance independently.
  class cursor {
   public:
    /// The next action. Cost: O(slots) for an advance of the forward run, otherwise O(1).
    [[nodiscard]] constexpr action next() {
      action a;
      return !inside_.stopped() && forward(a) ? a : inside_.next();
    }

   private:
    friend stopped_online;
    constexpr cursor(detail::online_cursor const& inside, step_index steps, bool last_is_at_hand) noexcept
        : inside_{inside}, steps_{steps}, last_is_at_hand_{last_is_at_hand} {}
    /// Whether there is an action before the stop.   \pre not yet stopped
    constexpr bool forward(action& a) {
      step_index const candidate = inside_.candidate();
      if (steps_ == 0 || (inside_.lags() && steps_ - 1 == candidate)) {  // found by the step run ahead of the candidate
        inside_.stop_at(steps_, candidate);
        return false;
      }
      a = inside_.next();
      if (a.kind != action_kind::advance || steps_ > a.to) return true;
      a.to = last_is_at_hand_ ? steps_ - 1 : steps_;
      inside_.stop_at(steps_, a.to);
      return a.to > a.from;
    }

    detail::online_cursor inside_;
    step_index steps_;
    bool last_is_at_hand_;
  };

  [[nodiscard]] constexpr step_index steps() const noexcept { return start_.steps_; }  ///< where the loop stops
  /// Most states kept at once, the initial one included.
  [[nodiscard]] constexpr slot_index slots() const noexcept { return slots_; }
  [[nodiscard]] constexpr step_index leaf() const noexcept { return 1; }  ///< steps of one `reverse`
  /// See `cairn::runs_ahead`.
  [[nodiscard]] constexpr bool runs_ahead() const noexcept { return start_.inside_.lags(); }
  [[nodiscard]] static constexpr bool learns_length() noexcept { return true; }  ///< see `cairn::learns_length`
  /// Bytes that a cursor allocates.
  [[nodiscard]] constexpr wide table_bytes() const noexcept { return keeps() ? start_.inside_.table_bytes() : 0; }
  /// What `checkpointed_while`, which does not know `steps()`, reserves: all slots of the `online` plan.
  [[nodiscard]] constexpr reserved_memory reserved() const noexcept {
    return {asked_, keeps() ? wide(asked_) * sizeof(detail::online_slot) : 0};
  }
  /// The start; valid as long as the plan.
  [[nodiscard]] constexpr cursor const& walk() const noexcept { return start_; }

  /// The totals: the forward run is simulated, the reverse sweep counted in closed form. Cost: O(slots) for each state
  /// kept in the forward run; seconds for 10^8 steps.   \throws too_much_work   if that is more than
  /// `online_options::limit` allows
  [[nodiscard]] constexpr schedule_counts counts() const {
    schedule_counts sum;
    detail::held_counts now;
    detail::work_meter meter{"cairn::online",
                             {"steps", steps()},
                             limit_,
                             "allow more, or give fewer steps or slots",
                             detail::work_words{"the totals of this plan take too much work",
                                                "the counting of this plan was stopped", "percent of the steps"}};
    cursor ahead = start_;
    for (action a; !ahead.inside_.stopped();) {
      if (!ahead.forward(a)) continue;
      detail::add_to(sum, now, a);
      if (a.kind == action_kind::advance)
        meter.add(ahead.inside_.sums_of_decision(), [&] { return double(a.to) / double(steps()); });
    }
    ahead.inside_.add_rest(sum);
    sum.on(tier::memory) = {sum.saves, sum.loads, sum.peak_slots};
    return sum;
  }

 private:
  friend online;
  constexpr stopped_online(step_index steps, slot_index slots, bool eager, bool last_is_at_hand,
                           work_limit const& limit) noexcept
      : asked_{slots},
        slots_{fewer(slots, eager ? steps : steps - 1)},
        start_{{fewer(slots, steps), eager}, steps, last_is_at_hand},
        limit_{limit} {}

  [[nodiscard]] static constexpr slot_index fewer(slot_index slots, step_index useful) noexcept {
    return slots < useful ? slots : useful > 1 ? useful : 1;
  }
  [[nodiscard]] constexpr bool keeps() const noexcept { return steps() > (start_.inside_.lags() ? 1 : 0); }

  slot_index asked_, slots_;  // slots of the plan for any length, and how many of them this length can use
  cursor start_;
  work_limit limit_;
};
static_assert(schedule<stopped_online>);

}  // namespace cairn
