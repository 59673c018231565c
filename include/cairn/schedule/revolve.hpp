// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file revolve.hpp  The binomial schedule: the fewest steps run for a given number of kept states.
#include <cstdint>
#include <cairn/core/action.hpp>
#include <cairn/core/detail/table.hpp>
#include <cairn/core/error.hpp>
#include <cairn/schedule/binomial.hpp>
#include <cairn/schedule/detail/remarks.hpp>

namespace cairn {

/// How a `revolve` treats the initial state.
struct revolve_options {
  /// It is kept outside the slots and loaded from `no_slot`; then 0 slots suffice.
  bool free_initial = false;
};

/// The numbers of a `revolve`, by name, so that they cannot be swapped: `revolve{{.steps = 1'000'000, .slots = 20}}`.
struct revolve_shape {
  step_index steps = -1;  ///< loop length; required
  slot_index slots = -1;  ///< most states kept at once; required
};

/// The binomial schedule (Griewank & Walther 2000, Algorithm 799): the fewest advances that `slots` kept states allow,
/// and among those the fewest saves. A plan allocates nothing; a cursor allocates `table_bytes()` at its first action
/// and nothing later. Cost: construction O(log of the repetition number); an action O(1) with at most one division.
/// Exact up to 2^63-1 steps.
/// \ingroup start
class revolve {
 public:
  class cursor;

  /// \param steps  loop length, >= 0
  /// \param slots  most states kept at once, >= 1, the initial one included unless it is free; slots that do not help
  /// are not used
  /// \throws invalid_plan
  constexpr revolve(step_index steps, slot_index slots, revolve_options options = {})
      : steps_{steps},
        free_{options.free_initial},
        total_{total(steps, slots, options)},
        remark_{detail::remark_on_slots(steps, slots)},
        start_{steps_, total_, free_} {}
  /// The same with named numbers.   \throws invalid_plan
  constexpr revolve(revolve_shape const& of, revolve_options options = {}) : revolve{of.steps, of.slots, options} {}

  [[nodiscard]] constexpr step_index steps() const noexcept { return steps_; }  ///< loop length
  /// Most states kept at once.
  [[nodiscard]] constexpr slot_index slots() const noexcept { return free_ ? total_ - 1 : total_; }
  [[nodiscard]] constexpr step_index leaf() const noexcept { return 1; }  ///< steps of one `reverse`
  [[nodiscard]] constexpr bool initial_is_free() const noexcept { return free_; }  ///< see `cairn::initial_is_free`
  [[nodiscard]] constexpr wide table_bytes() const noexcept;  ///< bytes that a cursor allocates
  /// See `remark_of`; more slots than states suggests swapped numbers.
  [[nodiscard]] constexpr char const* remark() const noexcept { return remark_; }
  /// The start; valid as long as the plan.
  [[nodiscard]] constexpr cursor const& walk() const noexcept { return start_; }

  /// The totals of a sweep, in closed form.
  [[nodiscard, gnu::noinline]] constexpr schedule_counts counts() const noexcept {
    bool const keeps = steps_ > 1;
    schedule_counts sum;
    sum.advances = fewest_advances(steps_, total_);
    sum.turned = steps_ > 0 ? 1 : 0;
    sum.reversals = wide(steps_);
    sum.saves = fewest_saves(steps_, total_) - (keeps && free_ ? 1 : 0);
    sum.loads = keeps ? wide(steps_) - 1 : 0;
    sum.peak_slots = keeps ? slots() : 0;
    sum.on(tier::memory) = {sum.saves, sum.loads, sum.peak_slots};
    return sum;
  }
  /// The most often that any step is run unrecorded.
  [[nodiscard]] constexpr step_index repetition_number() const noexcept { return repetitions(steps_, total_); }
  /// The first state kept after the initial one; 0 if there is none.
  [[nodiscard]] constexpr step_index first_split() const noexcept {
    if (steps_ < 2) return 0;
    if (total_ == 1) return steps_ - 1;
    detail::bracket own = detail::bracket_of(steps_, total_);
    detail::bracket right;
    return detail::take_split(steps_, detail::q_below<wide>(total_, own), own, right);
  }
  /// The advances of `revolve{steps, slots}`, without making it.   \throws invalid_plan   as the constructor does
  [[nodiscard]] static constexpr wide advances(step_index steps, slot_index slots) {
    return fewest_advances(steps, total(steps, slots, {}));
  }

 private:
  /// The slots in use, including one for the initial state even if it is free.
  [[nodiscard]] static constexpr slot_index total(step_index steps, slot_index slots, revolve_options options) {
    slot_index const least = options.free_initial ? 0 : 1;
    detail::check_steps("cairn::revolve", steps);
    if (slots < least)
      throw invalid_plan{"cairn::revolve",
                         "too few slots",
                         {{"steps", steps}, {"slots", slots}, {"least slots", least}},
                         options.free_initial ? "" : "with {.free_initial = true} the initial state needs none"};
    slot_index const useful = useful_slots(steps);
    return slots >= useful ? useful : slots + (1 - least);
  }

 public:
  /// Starts at the first action; copies advance independently.
  class cursor {
   public:
    /// The next action. Always inlined, like `advance`, so that an executor can branch directly from making an action
    /// to obeying it.
    [[nodiscard, gnu::always_inline]] constexpr action next() {
      for (;;) {
        switch (phase_) {
          case phase::start: begin(); break;
          case phase::save: return save();
          case phase::advance: return advance();
          case phase::turn: return turn();
          case phase::reverse: return reverse();
          case phase::load: return load();
          case phase::drop: return drop();
          case phase::done: return {};
          default: __builtin_unreachable();
        }
      }
    }

   private:
    friend revolve;
    enum class phase : std::uint8_t { start, save, advance, turn, reverse, load, drop, done };
    struct held_state { step_index at; detail::bracket ahead; };

    constexpr cursor(step_index steps, slot_index total, bool free) noexcept
        : end_{steps},
          total_{total},
          first_{detail::bracket_of(steps, total)},
          unslotted_{free ? 1 : 0},
          narrow_{detail::is_narrow(total, first_)} {}

    /// Not inlined, like `split_far`: the calls inside would cost every `next` its registers. Neither returns an
    /// action, which would have to be passed in memory.
    [[gnu::noinline]] constexpr void begin() {
      if (end_ > 1) {
        kept_.resize_for_overwrite(detail::entries_for(total_));
        kept_[0] = {0, first_};
      }
      top_ = unslotted_ - 1;
      phase_ = end_ < 2 ? phase::turn : unslotted_ == 0 ? phase::save : phase::advance;
    }
    constexpr action save() noexcept {
      kept_[++top_].at = live_;
      phase_ = phase::advance;
      return {action_kind::save, tier::memory, content::state, top_ - unslotted_, live_, 0};
    }
    [[gnu::always_inline]] constexpr action advance() noexcept {
      slot_index const slots = total_ - top_;
      if (slots == 1) return advance_by(end_ - live_ - 1);
      held_state* const own = &kept_[top_];
      if (own->ahead.t == 1) {  // a slot for every state
        own[1].ahead.t = 1;
        return advance_by(1);
      }
      if (!narrow_) return advance_by(split_far());
      return advance_by(detail::take_split(end_ - live_, detail::q_below<std::uint64_t>(slots, own->ahead),
                                           own[0].ahead, own[1].ahead));
    }
    /// For numbers that need a 128-bit division.
    [[gnu::noinline]] constexpr step_index split_far() noexcept {
      held_state* const own = &kept_[top_];
      return detail::take_split(end_ - live_, detail::q_below<wide>(total_ - top_, own->ahead), own[0].ahead,
                                own[1].ahead);
    }
    constexpr action advance_by(step_index length) noexcept {
      step_index const from = live_;
      live_ += length;
      phase_ = end_ - live_ > 1 ? phase::save : arrived_;
      return {action_kind::advance, tier::memory, content::state, no_slot, from, live_};
    }
    constexpr action turn() noexcept {
      arrived_ = phase::reverse;
      phase_ = end_ > 0 ? phase::reverse : phase::done;
      return {action_kind::turn, tier::memory, content::state, no_slot, live_, end_};
    }
    constexpr action reverse() noexcept {
      step_index const to = end_--;
      phase_ = end_ > 0 ? phase::load : phase::done;
      return {action_kind::reverse, tier::memory, content::state, no_slot, end_, to};
    }
    constexpr action load() noexcept {
      live_ = kept_[top_].at;
      slot_index const slot = top_ - unslotted_;
      phase_ = end_ - live_ > 1 ? phase::advance : slot == no_slot ? phase::reverse : phase::drop;
      return {action_kind::load, tier::memory, content::state, slot, live_, 0};
    }
    constexpr action drop() noexcept {
      phase_ = phase::reverse;
      return {action_kind::drop, tier::memory, content::state, top_-- - unslotted_, 0, 0};
    }
    detail::table<held_state> kept_;  // the kept states, lowest step first; the cursor's only memory
    step_index end_;            // steps [0, end_) are not yet reversed
    step_index live_ = 0;
    slot_index top_ = -1;       // the last of kept_ in use
    slot_index total_;
    detail::bracket first_;
    slot_index unslotted_;      // 1 if the initial state is kept_[0] without a slot
    phase phase_ = phase::start;
    phase arrived_ = phase::turn;
    bool narrow_;               // slots and q of every bracket fit in 32 bits; neither ever grows
  };

 private:
  step_index steps_;
  bool free_;
  slot_index total_;
  char const* remark_;
  cursor start_;
};
static_assert(schedule<revolve>);

constexpr wide revolve::table_bytes() const noexcept {
  return steps_ < 2 ? 0 : wide(total_) * sizeof(cursor::held_state);
}

}  // namespace cairn
