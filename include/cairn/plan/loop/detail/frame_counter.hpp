// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file frame_counter.hpp  Counts the states and tapes that a sweep holds at once, action by action as executors over
/// a store in memory do.
#include <type_traits>
#include <utility>
#include <cairn/core/action.hpp>
#include <cairn/plan/loop/detail/slot_map.hpp>
#include <cairn/rules/frames_needed.hpp>

namespace cairn {
class revolve;
}

namespace cairn::detail {

/// The contents of a sweep at the moment with the most bytes.
struct heaviest_moment {
  slot_index states = 0;  ///< frames filled so far: they keep their memory
  wide tapes = 0;         ///< tapes held, including that of an adjoint call
  wide weight = 0;        ///< of both
};

/// The weights of the parts of a sweep.
struct frame_weights {
  wide state = 1;
  wide tape = 0;
  bool other_tiers_apart = false;  ///< states on tiers other than memory are not frames
};

/// The properties of a plan that the counter uses.
struct counted_plan {
  bool initial_apart = false;
  bool runs_ahead = false;
  slot_index frames = 0;       ///< frames that a kept run may fill in its forward run
  slot_index frames_back = 0;  ///< frames that it may fill from its first adjoint on
};

/// Follows the frames of one sweep: those in slots, live, the final state, x1 and a run's initial state. Frames that
/// coincide are counted once. A step that is not in place, or whose frame must be kept, writes into a frame of its own.
/// In a kept run, frames that hold states at the turn "expire" when they are released: they are reused only when no
/// other frame is left.
class frame_counter {
 public:
  constexpr frame_counter(sweep_form form, counted_plan const& plan, frame_weights weights = {}) noexcept
      : form_{form},
        plan_{plan},
        weights_{weights},
        frames_{plan.frames},
        pinned_{form.snapshots ? plan.initial_apart || holds_initial() : form.keeps_run},
        live_is_pinned_{form.keeps_run && !form.snapshots} {
    live_ = !form.snapshots;
    demand(0);
    weigh();
  }

  constexpr void obey(action const& a) noexcept {
    standing_ = 0;
    tapes_now_ = tapes_;
    if (plan_.runs_ahead && !turned_ && (a.kind == action_kind::save || a.kind == action_kind::drop)) demand(1);
    follow(a);
    note(others() + (live_is_alone() ? 1 : 0));
    weigh();
  }
  /// The moment with the most weight so far. Frames keep their memory to the end; tapes release theirs.
  [[nodiscard]] constexpr heaviest_moment const& heaviest() const noexcept { return heaviest_; }
  /// The most tapes at once while the last action was obeyed.
  [[nodiscard]] constexpr wide standing_tapes() const noexcept { return tapes_now_; }
  /// The most states at once so far.
  [[nodiscard]] constexpr slot_index peak() const noexcept { return peak_; }
  /// The most states at once while the last action was obeyed.
  [[nodiscard]] constexpr slot_index standing() const noexcept { return standing_; }

 private:
  constexpr void weigh() noexcept {
    wide const weight = wide(peak_) * weights_.state + tapes_now_ * weights_.tape;
    if (weight >= heaviest_.weight) heaviest_ = {peak_, tapes_now_, weight};
  }
  [[nodiscard]] constexpr bool records() const noexcept { return form_.adjoint == adjoint_form::recorded; }
  constexpr void hold_tapes(wide now) noexcept {
    if (now > tapes_now_) tapes_now_ = now;
  }
  constexpr void follow(action const& a) noexcept {
    bool const apart = weights_.other_tiers_apart && a.what == content::state && a.where != tier::memory;
    if (apart && (a.kind == action_kind::save || a.kind == action_kind::drop)) return;
    switch (a.kind) {
      case action_kind::advance: run(a.to - a.from); break;
      case action_kind::save:
        if (live_is_pinned_ || (form_.snapshots && holds_initial() && a.from == 0)) {
          initial_slot_ = a.slot;
        } else {
          ++full_slots_;
          if (expires() && (!turned_ || std::exchange(live_expires_, false))) at_turn_.insert(a.slot, {});
        }
        live_slot_ = a.slot;
        demand(0);
        break;
      case action_kind::load:
        expired_ += std::exchange(live_expires_, false) ? 1 : 0;
        live_is_shared_ = false;
        live_ = !form_.snapshots;
        live_slot_ = a.what == content::tape || apart ? no_slot : a.slot;
        live_is_pinned_ = a.what == content::state && !apart && pinned_ && !form_.snapshots &&
                          (a.slot == no_slot || a.slot == initial_slot_);
        demand(0);
        break;
      case action_kind::drop:
        if (a.what == content::tape) {
          --tapes_;
          break;
        }
        if (a.slot == initial_slot_) initial_slot_ = no_slot;
        else --full_slots_;
        if (at_turn_.find(a.slot)) expire(a.slot);
        if (a.slot == live_slot_) live_slot_ = no_slot;
        if (a.slot == next_slot_) next_slot_ = no_slot;
        break;
      case action_kind::record:
        own_live();
        hold_tapes(++tapes_);
        break;
      case action_kind::turn:
        turn(a.from, a.to - a.from);
        if (records() && !form_.keeps_run && a.to - a.from == 1) hold_tapes(++tapes_), last_tape_ = true;
        break;
      case action_kind::reverse:
        if (a.what == content::state) reverse();
        if (last_tape_) --tapes_, last_tape_ = false;
        else if (a.what == content::state || !records()) hold_tapes(tapes_ + 1);
        break;
      case action_kind::done: break;
    }
  }
  [[nodiscard]] constexpr bool live_is_alone() const noexcept {
    return live_ && live_slot_ == no_slot && !live_is_pinned_ && !live_is_shared_;
  }
  /// Frames that have an owner other than live.
  [[nodiscard]] constexpr slot_index others() const noexcept {
    return full_slots_ + (pinned_ ? 1 : 0) + (final_ ? 1 : 0) + (next_ && next_slot_ == no_slot ? 1 : 0);
  }
  /// Whether the snapshot of an object's initial state is kept to the end.
  [[nodiscard]] constexpr bool holds_initial() const noexcept {
    return form_.keeps_run || form_.ends == object_ends::at_initial;
  }
  [[nodiscard]] constexpr bool expires() const noexcept { return form_.keeps_run; }
  /// Called when a slot that was full at the turn is dropped.
  [[gnu::noinline]] constexpr void expire(slot_index slot) noexcept {
    at_turn_.erase(slot);
    if (!turned_) return;
    if (slot == live_slot_) live_expires_ = true;
    else if (slot == next_slot_) next_expires_ = true;
    else ++expired_;
  }
  constexpr void note(slot_index now) noexcept {
    if (now + expired_ > frames_ && expired_ > 0) expired_ = frames_ > now ? frames_ - now : 0;
    now += expired_;
    if (now > standing_) standing_ = now;
    if (now > peak_) peak_ = now;
  }
  constexpr void demand(slot_index more) noexcept { note(others() + (live_is_alone() ? 1 : 0) + more); }
  constexpr void leave_slot() noexcept {
    live_expires_ = live_is_shared_ = false;
    live_slot_ = no_slot;
    live_is_pinned_ = false;
  }
  /// Runs steps beside the frames that `others` counts; with `keeps_live` the frame of live is kept.
  constexpr void run(step_index length, bool keeps_live = false) noexcept {
    if (form_.snapshots) return;
    bool const alone = live_is_alone() && !keeps_live;
    slot_index const stays = keeps_live && live_is_alone() ? 1 : 0;
    slot_index const writes = form_.step == step_form::in_place || (!alone && length < 2) ? 1 : 2;
    note(others() + stays + writes);
    if (keeps_live) return;
    if (live_expires_ && length < 2 && form_.step != step_form::in_place) ++expired_;
    leave_slot();
  }
  constexpr void own_live() noexcept {
    leave_slot();
    demand(0);
  }
  [[gnu::noinline, gnu::cold]] constexpr void turn(step_index from, step_index length) noexcept {
    turned_ = true;
    if (form_.snapshots) {
      bool const parks = length > 0 && (from > 0 || !holds_initial());  // if false, a snapshot of the state exists
      final_ = form_.ends == object_ends::at_final;
      demand(parks ? 1 : 0);
      live_expires_ = expires() && parks;
      frames_ = plan_.frames_back;
      return;
    }
    if (length > 0) {
      if (form_.adjoint == adjoint_form::recorded && !form_.keeps_run && length == 1) demand(1);
      else run(length, true);
    }
    final_ = form_.keeps_run && !(length == 0 && live_is_pinned_);
    next_ = form_.adjoint == adjoint_form::with_next && !form_.keeps_run;
    live_expires_ = expires() && length > 0 && live_is_alone();
    live_is_shared_ = length == 0 && (final_ || next_);
    frames_ = plan_.frames_back;
  }
  constexpr void reverse() noexcept {
    if (form_.snapshots) {
      expired_ += std::exchange(live_expires_, false) ? 1 : 0;
      return;
    }
    if (form_.adjoint == adjoint_form::recorded) own_live();
    else demand(0);
    if (form_.adjoint == adjoint_form::with_next) {
      expired_ += std::exchange(next_expires_, live_expires_) ? 1 : 0;
      next_ = !live_is_pinned_;
      next_slot_ = live_slot_;
    }
    live_ = form_.adjoint != adjoint_form::with_next;
    if (!live_) leave_slot();
  }

  sweep_form form_;
  counted_plan plan_;
  frame_weights weights_;
  slot_index frames_;
  slot_map at_turn_;  // in a kept run: the slots that have been full since the turn
  bool pinned_;
  bool live_is_pinned_;
  bool live_ = true, final_ = false, next_ = false, turned_ = false;
  bool live_is_shared_ = false;  // live shares its frame with the final state or with x1
  bool live_expires_ = false, next_expires_ = false;
  slot_index expired_ = 0, full_slots_ = 0, peak_ = 0, standing_ = 0;
  slot_index live_slot_ = no_slot, next_slot_ = no_slot, initial_slot_ = no_slot;
  wide tapes_ = 0, tapes_now_ = 0;
  bool last_tape_ = false;  // the turn of a recording adjoint keeps its tape until that step is reversed
  heaviest_moment heaviest_;
};

template <schedule Plan>
[[nodiscard]] constexpr counted_plan counted_plan_of(Plan const& plan, sweep_form form) {
  sweep_form forward = form;
  if (form.keeps_run) forward.adjoint = adjoint_form::one_step;
  slot_index const pinned = form.keeps_run && initial_stands_apart(plan) ? 1 : 0;
  return {initial_stands_apart(plan, form), runs_ahead(plan),
          plan.slots() + working_frames(forward, plan.leaf()) + pinned,
          plan.slots() + working_frames(form, plan.leaf()) + pinned};
}

/// Cost: one walk.
template <schedule Plan>
[[nodiscard, gnu::noinline]] constexpr frame_counter count_frames(Plan const& plan, sweep_form form,
                                                                  frame_weights weights = {}) {
  frame_counter counter{form, counted_plan_of(plan, form), weights};
  each_action(plan, [&](action const& taken) { counter.obey(taken); });
  return counter;
}

/// The most states at once.
/// Cost: one walk. For a `revolve` the walk ends three actions after the turn: all its slots are full at the turn, and
/// the first steps back use all other frames. If frames expire with x1, the walk goes on until all frames that the run
/// may fill hold states.
template <schedule Plan>
[[nodiscard, gnu::noinline]] constexpr slot_index most_frames(Plan const& plan, sweep_form form) {
  constexpr bool may_end = std::is_same_v<Plan, revolve>;
  bool const gathers = form.keeps_run && !form.snapshots && form.adjoint == adjoint_form::with_next &&
                       form.step != step_form::in_place;
  counted_plan const counted = counted_plan_of(plan, form);
  frame_counter counter{form, counted};
  cursor_of<Plan> cursor = plan.walk();
  int after = may_end && !gathers ? 0 : -1;  // actions from the turn on; -1 if they are not counted
  while (after < 4 && !(may_end && gathers && counter.peak() >= counted.frames_back)) {
    action const taken = cursor.next();
    if (taken.kind == action_kind::done) break;
    counter.obey(taken);
    if (after > 0 || (after == 0 && taken.kind == action_kind::turn)) ++after;
  }
  return counter.peak();
}

}  // namespace cairn::detail
