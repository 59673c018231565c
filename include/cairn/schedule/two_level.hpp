// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file two_level.hpp  The first state of every period on a large tier, and the binomial schedule inside each period.
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <cairn/core/action.hpp>
#include <cairn/core/detail/compiler.hpp>
#include <cairn/core/error.hpp>
#include <cairn/schedule/binomial.hpp>
#include <cairn/schedule/detail/leaves_in.hpp>
#include <cairn/schedule/detail/remarks.hpp>
#include <cairn/schedule/revolve.hpp>

namespace cairn {

/// The numbers of a `two_level`, by name: `two_level{{.steps = 1000, .period = 50, .extra_slots = 20}}`.
struct two_level_shape {
  step_index steps = -1;        ///< loop length; required
  step_index period = -1;       ///< steps from the start of one period to the next; required
  slot_index extra_slots = -1;  ///< states kept inside a period besides its first; required
};

/// The tiers on which a `two_level` keeps its states.
struct two_level_options {
  tier periods_on = tier::disk;   ///< the first state of every period
  tier extra_on = tier::memory;   ///< the states inside the period that is being reversed
};

namespace detail {

/// How often `revolve` loads the first of `steps` states, with `slots` slots, its own included: once for each cut of
/// its range until one step is left. Write the number of steps as P + e, with P = beta(s, t-1) and Q = beta(s-1, t-1).
/// Each cut lowers t by one and turns e into e - beta(s-2, t-1), clamped to 0 .. Q. Down to t = 1 the subtrahends sum
/// up to Q - 1, so steps are left at t = 1 if and only if e was at least Q.
/// \pre steps >= 0, slots >= 1
[[nodiscard]] constexpr step_index loads_of_first(step_index steps, slot_index slots) noexcept {
  auto const [p, q, t] = bracket_of(steps, slots);
  return t == 0 ? 0 : steps - p >= q ? t : t - 1;
}

}  // namespace detail

/// Keeps every `period`-th state in the forward run; then reverses the periods from last to first, each by `revolve`
/// from its kept start with `extra_slots` more states. The start of a period is dropped at its last load, and its slot
/// is used for nothing else; a run kept in memory can therefore be reversed again without another forward run.
/// Advances: n + the sum over periods of Revolve's minimum for extra_slots + 1 slots; the turn runs no step. (Pringle,
/// Jones, Goswami, Narayanan, Goldberg 2016: periodic checkpoints, binomial inside.)
/// Cost: O(1) memory and O(log of the repetition number) to make; a cursor allocates as much as a cursor of `revolve`
/// over one period; an action is O(1).
class two_level {
 public:
  class cursor;

  /// \param steps  loop length, 0 .. 2^63-1   \param period  steps from the start of one period to the next, >= 1; more
  /// than `steps` means one period
  /// \param extra_slots  states kept inside a period besides its first, >= 0; slots that do not help are not used
  /// \throws invalid_plan
  constexpr two_level(step_index steps, step_index period, slot_index extra_slots, two_level_options options = {})
      : start_{checked(steps, period, extra_slots, options), period, extra_slots, options},
        inside_{cursor::over(start_.whole_length(), extra_slots)} {}
  /// The same with named numbers.   \throws invalid_plan
  constexpr two_level(two_level_shape const& of, two_level_options options = {})
      : two_level{of.steps, of.period, of.extra_slots, options} {}

  [[nodiscard]] constexpr step_index steps() const noexcept { return start_.steps_; }  ///< loop length
  /// Most states kept at once: first the slots of the periods, then those inside a period.
  [[nodiscard]] constexpr slot_index slots() const noexcept { return periods() + extra_slots(); }
  [[nodiscard]] constexpr step_index leaf() const noexcept { return 1; }  ///< steps of one `reverse`
  /// Steps from the start of one period to the next.
  [[nodiscard]] constexpr step_index period() const noexcept { return start_.period_; }
  /// Number of periods; the last one may be shorter.
  [[nodiscard]] constexpr step_index periods() const noexcept { return start_.count_; }
  /// States kept inside a period besides its first; slots that do not help are left out.
  [[nodiscard]] constexpr slot_index extra_slots() const noexcept { return inside_.slots(); }
  /// The tier of a slot.   \pre 0 <= slot < slots()
  [[nodiscard]] constexpr tier slot_tier(slot_index slot) const noexcept {
    return slot < periods() ? start_.options_.periods_on : start_.options_.extra_on;
  }
  /// See `remark_of`; a period longer than the loop suggests swapped numbers.
  [[nodiscard]] constexpr char const* remark() const noexcept {
    return period() > detail::greater<step_index>(steps(), 1)
               ? "a period longer than the loop: are steps and period swapped?"
               : "";
  }
  /// Whether state i is the first of a period.
  [[nodiscard]] constexpr bool is_checkpoint(step_index i) const noexcept {
    return i >= 0 && i < steps() && i % period() == 0;
  }
  /// Bytes that a cursor allocates.
  [[nodiscard]] constexpr wide table_bytes() const noexcept { return inside_.table_bytes(); }
  /// The start; valid as long as the plan.
  [[nodiscard]] constexpr cursor const& walk() const noexcept { return start_; }

  /// The totals of a sweep, in closed form.
  [[nodiscard, gnu::noinline]] constexpr schedule_counts counts() const {
    schedule_counts sum;
    if (steps() == 0) return sum;
    revolve const last = cursor::over(steps() - start_.first(periods() - 1), extra_slots());
    auto const in_whole = inside_.counts(), in_last = last.counts();
    auto const whole = wide(periods()) - 1;
    auto& starts = sum.on(start_.options_.periods_on);
    auto& inner = sum.on(start_.options_.extra_on);
    wide const starts_loaded = whole * loads_of_start(inside_) + loads_of_start(last);
    wide const inner_saves = whole * in_whole.saves + in_last.saves;
    sum.advances = wide(steps()) + whole * in_whole.advances + in_last.advances;
    sum.reversals = wide(steps());
    sum.saves = wide(periods()) + inner_saves;
    sum.loads = wide(steps());
    sum.peak_slots = periods() + in_last.peak_slots;
    if (whole > 0 && periods() - 1 + in_whole.peak_slots > sum.peak_slots)
      sum.peak_slots = periods() - 1 + in_whole.peak_slots;
    starts.saves += wide(periods());
    starts.loads += starts_loaded;
    starts.peak = periods();
    inner.saves += inner_saves;
    inner.loads += sum.loads - starts_loaded;
    inner.peak = &starts == &inner ? sum.peak_slots : whole > 0 ? in_whole.peak_slots : in_last.peak_slots;
    return sum;
  }

  /// Starts at the first action; copies advance independently.
  class cursor {
   public:
    [[nodiscard]] constexpr action next() {  ///< the next action
      switch (phase_) {
        case phase::save: return save();
        case phase::advance: return advance();
        case phase::turn: return turn();
        case phase::drop: return drop();
        case phase::inside: return inside();
        case phase::done: break;
      }
      return {};
    }

   private:
    friend two_level;
    enum class phase : std::uint8_t { save, advance, turn, drop, inside, done };

    constexpr cursor(step_index steps, step_index period, slot_index extra, two_level_options options)
        : steps_{steps}, period_{period}, count_{detail::leaves_in(steps, period)}, options_{options},
          whole_{over(whole_length(), extra).walk()}, inside_{over(steps - first(count_ - 1), extra).walk()},
          phase_{steps > 0 ? phase::save : phase::turn} {}

    /// The schedule of a period; the start of the period is its initial state.
    [[nodiscard]] static constexpr revolve over(step_index length, slot_index extra) {
      return {length, extra, {.free_initial = true}};
    }
    /// The length of all periods but the last, or of the only one.
    [[nodiscard]] constexpr step_index whole_length() const noexcept { return detail::lesser(steps_, period_); }
    [[nodiscard]] constexpr step_index first(step_index j) const noexcept { return j > 0 ? j * period_ : 0; }

    constexpr action save() noexcept {
      phase_ = phase::advance;
      return {action_kind::save, options_.periods_on, content::state, at_, first(at_), 0};
    }
    constexpr action advance() noexcept {
      step_index const from = first(at_);
      bool const last = at_ == count_ - 1;
      if (!last) ++at_;
      phase_ = last ? phase::turn : phase::save;
      return {action_kind::advance, tier::memory, content::state, no_slot, from, last ? steps_ : first(at_)};
    }
    constexpr action turn() noexcept {
      open_ = steps_;
      phase_ = steps_ > 0 ? phase::inside : phase::done;
      enter_ = true;
      return {action_kind::turn, tier::memory, content::state, no_slot, steps_, steps_};
    }
    /// Loads the start of the period; after the last such load, the start is dropped.
    constexpr action load() noexcept {
      enter_ = false;
      phase_ = open_ - first(at_) > 1 ? phase::inside : phase::drop;
      return {action_kind::load, options_.periods_on, content::state, at_, first(at_), 0};
    }
    constexpr action drop() noexcept {
      phase_ = phase::inside;
      return {action_kind::drop, options_.periods_on, content::state, at_, 0, 0};
    }
    constexpr action inside() {
      if (enter_) return load();
      for (;;) {
        auto const [kind, where, what, slot, from, to] = inside_.next();
        step_index const base = first(at_);
        switch (kind) {
          case action_kind::turn: continue;
          case action_kind::done:
            if (at_-- > 0) {
              inside_ = whole_;
              return load();
            }
            phase_ = phase::done;
            return {};
          case action_kind::drop: return {kind, options_.extra_on, what, count_ + slot, 0, 0};
          case action_kind::reverse: open_ = base + from; [[fallthrough]];
          case action_kind::advance: return {kind, where, what, slot, base + from, base + to};
          default:  // save and load
            if (slot == no_slot) return load();
            return {kind, options_.extra_on, what, count_ + slot, base + from, 0};
        }
      }
    }

    step_index steps_, period_, count_;
    two_level_options options_;
    revolve::cursor whole_;    // at the start of every period but the last
    revolve::cursor inside_;   // in the current period
    step_index at_ = 0;        // the number of the current period
    step_index open_ = 0;      // steps [0, open_) are not yet reversed
    phase phase_;
    bool enter_ = false;       // the current period has loaded nothing yet
  };

 private:
  [[nodiscard]] static constexpr step_index checked(step_index steps, step_index period, slot_index extra,
                                                    two_level_options const& options) {
    detail::check_steps("cairn::two_level", steps);
    if (period < 1)
      throw invalid_plan{"cairn::two_level", "a period has at least 1 step", {{"period", period}}, "give 1 or more"};
    if (extra < 0)
      throw invalid_plan{"cairn::two_level", "too few slots", {{"extra slots", extra}, {"least extra slots", 0}},
                         "a period's first state has a slot of its own"};
    for (tier const where : {options.periods_on, options.extra_on})
      if (std::size_t(where) >= tier_count)
        throw invalid_plan{
            "cairn::two_level", "there is no such tier", {{"tier", int(where)}}, "give memory, device, host or disk"};
    return steps;
  }
  /// Loads of the start of a period: the first one and those of its schedule.
  [[nodiscard]] static constexpr wide loads_of_start(revolve const& plan) noexcept {
    return wide(detail::loads_of_first(plan.steps(), plan.slots() + 1)) + 1;
  }

  cursor start_;
  revolve inside_;
};
static_assert(schedule<two_level>);

}  // namespace cairn
