// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file segments.hpp  Checkpoints between segments that run backwards, or that are run again as a whole.
#include <cstddef>
#include <cstdint>
#include <cairn/core/action.hpp>
#include <cairn/core/detail/compiler.hpp>
#include <cairn/core/detail/table.hpp>
#include <cairn/core/error.hpp>
#include <cairn/schedule/detail/leaves_in.hpp>
#include <cairn/schedule/detail/remarks.hpp>
#include <cairn/schedule/walked_counts.hpp>

namespace cairn {

/// How `segments` divides a loop.
struct segments_options {
  step_index length = 0;  ///< most steps of a segment; 0: all steps of the loop
  slot_index slots = 0;   ///< most states kept at once, the initial one included; 0: one for each segment
};

/// The schedule of a `reversible` step: at most `length` steps are reversed by one adjoint call, from at most `slots`
/// kept states. Every segment but the last of the loop is run again as a whole by its adjoint, once, so the fewest steps
/// run forward if segments are as long as they may be: of N(s, t) = length C(s + t, s + 1) steps, with s slots besides
/// the first state, none runs more than t times. Segments at the beginning are shorter, if some have to be. It is
/// Griewank and Walther's binomial schedule with segments in the place of steps, for loops that are no multiple of them:
/// fewest for any `steps`, `length` and `slots`, by a brute force over all divisions for up to 40 steps.
/// A plan allocates nothing, a cursor `table_bytes()`. Cost: an action O(t); t is the repetition number.
class segments {
 public:
  class cursor;

  /// \param steps  loop length, >= 0
  /// \throws invalid_plan   for negative numbers
  constexpr explicit segments(step_index steps, segments_options options = {})
      : steps_{steps}, length_{checked(steps, options)}, slots_{slots_of(steps, length_, options)},
        start_{steps_, length_, slots_} {}

  [[nodiscard]] constexpr step_index steps() const noexcept { return steps_; }  ///< loop length
  /// Most states kept at once; 0 for one segment, which only needs the initial state.
  [[nodiscard]] constexpr slot_index slots() const noexcept { return slots_; }
  [[nodiscard]] constexpr step_index leaf() const noexcept { return length_; }  ///< most steps of one `reverse`
  /// Segments of full length that the loop has, the rest counted as one.
  [[nodiscard]] constexpr step_index count() const noexcept { return detail::leaves_in(steps_, length_); }
  [[nodiscard]] constexpr wide table_bytes() const noexcept;  ///< bytes that a cursor allocates
  /// The start; valid as long as the plan.
  [[nodiscard]] constexpr cursor const& walk() const noexcept { return start_; }
  /// The fewest runs of steps forward of a loop of so many steps, those that the adjoints of segments make included.
  /// \pre steps >= 0, length >= 1, slots >= 1   Cost: O(t)
  [[nodiscard]] static constexpr wide fewest_runs(step_index steps, step_index length, slot_index slots) noexcept {
    if (steps <= length) return wide(steps);
    auto const n = wide(steps), s = wide(slots - 1);
    if (s == 0) {  // t steps before the last length run t times
      wide const whole = n / wide(length), rest = n % wide(length);
      return wide(length) * (whole * (whole + 1) / 2) + rest * (whole + 1);
    }
    wide sum = 0, reached = 0;
    for (wide t = 1, more = wide(length);; ++t) {  // so many steps run t times: length C(s + t - 1, s)
      if (n - reached <= more) return sum + (n - reached) * t;
      sum += more * t, reached += more;
      more = more * (s + t) / t;
    }
  }
  /// The totals of a sweep, by a walk.
  [[nodiscard]] constexpr schedule_counts counts() const { return walked_counts(*this); }
  /// Whether that walk is short.
  [[nodiscard]] constexpr bool is_counted() const noexcept { return count() <= most_counted; }

  /// Starts at the first action; copies advance independently.
  class cursor {
   public:
    [[nodiscard]] constexpr action next() {  ///< the next action
      if (phase_ == phase::start) begin();
      switch (phase_) {
        case phase::save:
          kept_[std::size_t(++top_)] = live_;
          phase_ = phase::advance;
          return {action_kind::save, tier::memory, content::state, top_, live_, 0};
        case phase::advance: {
          step_index const from = live_;
          live_ += split(end_ - live_, slots_ - 1 - top_);
          phase_ = end_ - live_ > length_ ? phase::save : arrived_;
          return {action_kind::advance, tier::memory, content::state, no_slot, from, live_};
        }
        case phase::turn:
          arrived_ = phase::reverse;
          phase_ = end_ > 0 ? phase::reverse : phase::done;
          return {action_kind::turn, tier::memory, content::state, no_slot, live_, end_};
        case phase::reverse: {
          step_index const to = end_;
          end_ = live_;
          phase_ = end_ > 0 ? phase::load : phase::done;
          return {action_kind::reverse, tier::memory, content::state, no_slot, end_, to};
        }
        case phase::load:
          live_ = kept_[std::size_t(top_)];
          phase_ = end_ - live_ > length_ ? phase::advance : phase::drop;
          return {action_kind::load, tier::memory, content::state, top_, live_, 0};
        case phase::drop:
          phase_ = phase::reverse;
          return {action_kind::drop, tier::memory, content::state, top_--, 0, 0};
        default: return {};
      }
    }

   private:
    friend segments;
    enum class phase : std::uint8_t { start, save, advance, turn, reverse, load, drop, done };
    constexpr cursor(step_index steps, step_index length, slot_index slots) noexcept
        : end_{steps}, length_{length}, slots_{slots} {}
    constexpr void begin() {
      phase_ = end_ > length_ ? phase::save : phase::turn;
      if (end_ > length_) kept_.assign(detail::entries_for(slots_), 0);
    }
    /// How far to advance over a part of `steps` > length_ steps, with `free` slots besides that of its first state: as
    /// far as is best, so that segments are full where they can be.
    [[nodiscard]] constexpr step_index split(step_index steps, slot_index free) const noexcept {
      if (free == 0) return steps - length_;
      auto const n = wide(steps), s = wide(free);
      wide t = 1, reach = wide(length_);  // N(s, t)
      for (; reach < n; ++t) reach = reach * (s + t + 1) / t;
      wide const own = reach * (t - 1) / (s + t);           // N(s, t - 1)
      wide const other = own * (s + 1) / (s + t - 1);       // N(s - 1, t - 1)
      return step_index(own < n - other ? own : n - other);
    }
    detail::table<step_index> kept_;  // the kept states, lowest step first; the cursor's only memory
    step_index end_;                  // steps [0, end_) are not yet reversed
    step_index length_;
    slot_index slots_;
    step_index live_ = 0;
    slot_index top_ = -1;  // the last of kept_ in use
    phase phase_ = phase::start, arrived_ = phase::turn;
  };

 private:
  static constexpr step_index most_counted = 1 << 16;
  [[nodiscard]] static constexpr step_index checked(step_index steps, segments_options const& options) {
    detail::check_steps("cairn::segments", steps);
    if (options.length < 0 || options.slots < 0)
      throw invalid_plan{"cairn::segments",
                         "a segment has 1 or more steps, and its state a slot",
                         {{"length", options.length}, {"slots", options.slots}},
                         "give 1 or more; 0, or nothing, for one segment, and for a slot each"};
    step_index const all = detail::greater<step_index>(steps, 1);
    return options.length == 0 || options.length > all ? all : options.length;
  }
  [[nodiscard]] static constexpr slot_index slots_of(step_index steps, step_index length,
                                                     segments_options const& options) {
    if (steps <= length) return 0;
    slot_index const most = detail::leaves_in(steps, length) - 1;  // the last begins at the turn
    return options.slots == 0 || options.slots > most ? most : options.slots;
  }

  step_index steps_, length_;
  slot_index slots_;
  cursor start_;
};
static_assert(schedule<segments>);

constexpr wide segments::table_bytes() const noexcept {
  return steps_ > length_ ? wide(slots_) * sizeof(step_index) : 0;
}

}  // namespace cairn
