// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file online_segments.hpp  Segments of a loop whose length is unknown until it ends.
#include <cairn/core/action.hpp>
#include <cairn/core/error.hpp>
#include <cairn/rules/open_schedule.hpp>
#include <cairn/schedule/detail/leaves_in.hpp>
#include <cairn/schedule/leaves.hpp>
#include <cairn/schedule/online.hpp>
#include <cairn/schedule/segments.hpp>

namespace cairn {

/// The schedule of a `reversible` step, or of another adjoint of several steps, in a loop that may end after any step:
/// `online` over segments of `length` steps, the last one shorter. Only the first state of a segment is ever kept. On
/// the way back each segment is loaded or made from the kept state before it, and reversed by one adjoint call, which
/// runs it once more: also the last one, because nobody knows in the forward run that it is the last.
/// Cost: that of `online` for a loop of as many steps as there are segments.
class online_segments {
 public:
  class cursor;

  /// \param options  `length`, >= 1, and `slots`, most states kept at once, the initial one included, >= 1
  /// \throws invalid_plan   unless both are given
  constexpr explicit online_segments(segments_options options)
      : length_{checked(options)}, over_{options.slots, {.eager = true}}, start_{over_.walk(), length_} {}

  [[nodiscard]] constexpr slot_index slots() const noexcept { return over_.slots(); }  ///< most states kept at once
  [[nodiscard]] constexpr step_index leaf() const noexcept { return length_; }         ///< most steps of one `reverse`
  [[nodiscard]] constexpr wide table_bytes() const noexcept { return over_.table_bytes(); }  ///< bytes that a cursor allocates
  /// The start; valid as long as the plan.
  [[nodiscard]] constexpr cursor const& walk() const noexcept { return start_; }
  /// The sweep of a loop that stops after `steps` steps, for `estimate`.   \throws invalid_plan   unless steps >= 0
  [[nodiscard]] constexpr leaves<stopped_online> stopping_at(step_index steps) const {
    detail::check_steps("cairn::online_segments", steps);
    return {steps, length_, over_.stopping_at(detail::leaves_in(steps, length_), false)};
  }

  /// Converts the actions of `online` from segments to steps.
  class cursor {
   public:
    [[nodiscard]] constexpr action next() {  ///< the next action
      action a = over_.next();
      a.from = first_(a.from);
      a.to = first_(a.to);
      if (a.kind == action_kind::turn) a.from = live_;
      return a;
    }
    /// See `open_cursor`.   \throws invalid_call   as `online`
    constexpr void stop_at(step_index steps, step_index live) {
      step_index const count = detail::leaves_in(steps, first_.leaf);
      over_.stop_at(count, count);
      first_.count = count, first_.steps = steps, live_ = live;
    }
    [[nodiscard]] constexpr bool lags() const noexcept { return false; }  ///< it decides on a state at once

   private:
    friend online_segments;
    constexpr cursor(online::cursor const& over, step_index length) noexcept
        : over_{over}, first_{INT64_MAX / length, INT64_MAX, length} {}

    online::cursor over_;
    // Before the stop, what is too large stands for no end.
    detail::first_step first_;
    step_index live_ = 0;
  };

 private:
  [[nodiscard]] static constexpr step_index checked(segments_options const& options) {
    if (options.length < 1 || options.slots < 1)
      throw invalid_plan{"cairn::online_segments",
                         "a loop of unknown length needs the length of its segments, and slots for their states",
                         {{"length", options.length}, {"slots", options.slots}},
                         "give 1 or more of each"};
    return options.length;
  }
  step_index length_;
  online over_;
  cursor start_;
};
static_assert(open_schedule<online_segments>);

}  // namespace cairn
