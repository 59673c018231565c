// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file online.hpp  Checkpoints for a loop whose length is unknown until it ends.
#include <cairn/core/action.hpp>
#include <cairn/core/error.hpp>
#include <cairn/rules/open_schedule.hpp>
#include <cairn/schedule/detail/online_cursor.hpp>
#include <cairn/schedule/detail/remarks.hpp>
#include <cairn/schedule/stopped_online.hpp>
#include <cairn/schedule/work_limit.hpp>

namespace cairn {

/// Options of an `online` plan.
struct online_options {
  /// Decide on a state at once, before the next step runs. Otherwise that step runs first, into a frame that executors
  /// have anyway, and a state that turns out to be the last but one needs no slot: fewer advances on average. At worst,
  /// eager takes 1.334 times the offline advances with 2 slots (5 steps), 1.154 with 3 (9 steps), 1.125 with 4 (7
  /// steps), all over loops of up to 300 steps.
  bool eager = false;
  /// Most work of `stopped_online::counts`, which simulates the forward run and calls `stop` regularly. An executor
  /// decides while the loop runs, without a limit.
  work_limit limit = {};
};

/// Keeps `slots` states of a loop that may end after any step, so that its reversal takes few advances wherever it
/// ends. The rule: a new state replaces the oldest of the states whose loss costs least, as soon as this pays for a
/// loop that ends one step later (see `detail::online_decision`); the reverse sweep is binomial gap by gap (Griewank &
/// Walther 2000).
/// With lag it takes the fewest advances possible for every loop of up to C(slots + 2, 2) + 1 steps; no rule can do so
/// for every longer loop. Online over offline advances, over all loops of 2 .. 100,000 steps: 1.0022 on average with 2
/// slots, 1.0076 with 4, 1.0043 with 10, 1.0006 with 50; at worst 1.139 with 2 slots (14 steps), 1.0625 with 3, 1.053
/// with 4, 1.027 with 10. No rule has a worst ratio below 1.108 with 2 slots, 1.0525 with 3, 1.0335 with 4, 1.024 with
/// 5 (exhaustive search over loops of up to 120, 90, 60, 44 steps).
/// (Online checkpointing: Heuveline & Walther 2006; Stumm & Walther 2010; Wang, Moin & Iaccarino 2009.)
class online {
 public:
  using cursor = detail::online_cursor;  ///< walks forward until `stop_at`, then back

  /// \param slots  most states kept at once, the initial one included, >= 1; a cursor allocates all of them at its
  /// first action
  /// \throws invalid_plan
  constexpr explicit online(slot_index slots, online_options options = {})
      : start_{checked(slots), options.eager}, limit_{options.limit} {}

  /// Most states kept at once, the initial one included.
  [[nodiscard]] constexpr slot_index slots() const noexcept { return start_.slots(); }
  /// Whether the decision about a state waits until the next step has run.
  [[nodiscard]] constexpr bool lags() const noexcept { return start_.lags(); }
  [[nodiscard]] constexpr step_index leaf() const noexcept { return 1; }  ///< steps of one `reverse`
  /// Bytes that a cursor allocates.
  [[nodiscard]] constexpr wide table_bytes() const noexcept { return start_.table_bytes(); }
  /// The start; valid as long as the plan.
  [[nodiscard]] constexpr cursor const& walk() const noexcept { return start_; }

  /// The sweep of a loop that stops after `steps` steps.
  /// \param last_is_at_hand  whether the executor still has the last state but one when the loop stops. With an
  /// in-place step, it has that state only if the step ran ahead of a candidate
  /// \throws invalid_plan   unless steps >= 0
  [[nodiscard]] constexpr stopped_online stopping_at(step_index steps, bool last_is_at_hand = true) const {
    detail::check_steps("cairn::online", steps);
    return {steps, slots(), !lags(), last_is_at_hand, limit_};
  }

 private:
  [[nodiscard]] static constexpr slot_index checked(slot_index slots) {
    if (slots < 1)
      throw invalid_plan{
          "cairn::online", "too few slots", {{"slots", slots}, {"least slots", 1}}, "the initial state needs one"};
    return slots;
  }
  cursor start_;
  work_limit limit_;
};
static_assert(open_schedule<online>);

}  // namespace cairn
