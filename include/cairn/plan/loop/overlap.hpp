// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file overlap.hpp  What a sweep takes whose far states are written and read while it computes, and whose steps run
/// again beside its adjoints, by a virtual clock.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>
#include <cairn/core/action.hpp>
#include <cairn/core/behind_options.hpp>
#include <cairn/core/error.hpp>
#include <cairn/rules/detail/two_threads.hpp>
#include <cairn/rules/frames_needed.hpp>
#include <cairn/rules/workload.hpp>

namespace cairn {

/// Times of a sweep with a store `behind` it, or with a helper.
struct overlapped_times {
  double seconds = 0;    ///< the whole sweep
  double computing = 0;  ///< steps, adjoints, and transfers to and from memory
  double transfers = 0;  ///< of far states, on the other thread; those that were given up are not in it
  wide writes = 0;       ///< of far states
  wide reads = 0;        ///< of far states
};

namespace detail {

/// The other thread of `transfers`, in virtual seconds: one transfer at a time, by their turns.
class virtual_transfers {
 public:
  struct job {
    slot_index slot = no_slot;
    step_index at = -1;
    double takes = 0, asked = 0, done = -1;  // done < 0: it has not begun
    std::uint64_t turn = 0;
    bool writes = false, used = false;
  };
  explicit virtual_transfers(behind_options const& how)
      : saves_(std::size_t((std::max)(how.saves, 1))), loads_(std::size_t((std::max)(how.loads, 1))),
        ahead_{std::size_t((std::max)(how.loads, 0))} {}

  [[nodiscard]] double now() const noexcept { return now_; }
  void compute(double seconds) noexcept { now_ += seconds; }
  void save(slot_index slot, step_index i, double takes) {
    forget(slot);
    job* to = nullptr;
    for (job& one : saves_)
      if (!one.used) {
        to = &one;
        break;
      } else if (to == nullptr || one.turn < to->turn) to = &one;
    if (to->used) wait_for(*to);
    ask(*to, slot, i, takes, ++turns_, true);
  }
  void load(slot_index slot, step_index i, double takes) {
    if (is_at_hand(slot, i)) return;
    job* from = find(slot, i);
    if (from != nullptr) from->turn = 0;
    else {
      for (job& one : loads_)
        if (!one.used) from = &one;
      if (from == nullptr) {
        from = &*std::max_element(loads_.begin(), loads_.end(), [](job const& a, job const& b) { return a.turn < b.turn; });
        give_up(*from);
      }
      ask(*from, slot, i, takes, 0, false);
    }
    wait_for(*from);
    from->used = false;
    last_slot_ = slot, last_at_ = i;
  }
  void forget(slot_index slot) {
    for (auto* const all : {&saves_, &loads_})
      for (job& one : *all)
        if (one.used && one.slot == slot) give_up(one);
    if (last_slot_ == slot) last_slot_ = no_slot;
  }
  /// \param next  slots and states that are loaded next, without those at hand, as many as are read ahead
  template <class Takes>
  void read_ahead(std::vector<job> const& next, Takes const& takes) {
    for (job& one : loads_)
      if (one.used && std::none_of(next.begin(), next.end(), [&](job const& n) { return same(n, one.slot, one.at); })) {
        run_until(now_);
        if (one.done < 0 || one.done <= now_) one.used = false;
      }
    for (job const& one : next) {
      if (find(one.slot, one.at) != nullptr) continue;
      auto const free = std::find_if(loads_.begin(), loads_.end(), [](job const& j) { return !j.used; });
      if (free == loads_.end()) return;
      ask(*free, one.slot, one.at, takes(one.slot), ++turns_, false);
    }
  }
  [[nodiscard]] bool is_at_hand(slot_index slot, step_index i) const noexcept {
    return (last_slot_ == slot && last_at_ == i) ||
           std::any_of(saves_.begin(), saves_.end(), [&](job const& one) { return one.used && same(one, slot, i); });
  }
  [[nodiscard]] std::size_t ahead() const noexcept { return ahead_; }
  void settle() {
    for (job& one : saves_)
      if (one.used) wait_for(one);
  }
  double spent = 0;
  wide writes = 0, reads = 0;

 private:
  static bool same(job const& one, slot_index slot, step_index i) noexcept { return one.slot == slot && one.at == i; }
  [[nodiscard]] job* find(slot_index slot, step_index i) noexcept {
    for (job& one : loads_)
      if (one.used && same(one, slot, i)) return &one;
    return nullptr;
  }
  void ask(job& one, slot_index slot, step_index i, double takes, std::uint64_t turn, bool writes_it) {
    run_until(now_);
    one = {slot, i, takes, now_, -1, turn, writes_it, true};
  }
  /// Begins what would have begun by then.   \returns false if nothing waits
  bool begin_next(double until) {
    double begin = -1;
    for (auto* const all : {&saves_, &loads_})
      for (job& one : *all)
        if (one.used && one.done < 0 && (begin < 0 || one.asked < begin)) begin = one.asked;
    if (begin < 0) return false;
    begin = (std::max)(begin, free_);
    if (begin > until) return false;
    job* next = nullptr;
    for (auto* const all : {&saves_, &loads_})
      for (job& one : *all)
        if (one.used && one.done < 0 && one.asked <= begin && (next == nullptr || one.turn < next->turn)) next = &one;
    next->done = free_ = begin + next->takes;
    spent += next->takes;
    ++(next->writes ? writes : reads);
    return true;
  }
  void run_until(double until) {
    while (begin_next(until)) {}
  }
  void wait_for(job& one) {
    run_until(now_);
    while (one.done < 0 && begin_next(free_ > now_ ? free_ : now_)) {}
    now_ = (std::max)(now_, one.done);
  }
  void give_up(job& one) {
    run_until(now_);
    if (one.done > now_) now_ = one.done;  // it runs: the sweep waits for it
    one.used = false;
  }

  double now_ = 0, free_ = 0;
  std::vector<job> saves_, loads_;
  std::size_t ahead_;
  std::uint64_t turns_ = 0;
  slot_index last_slot_ = no_slot;
  step_index last_at_ = -1;
};

/// The caller's thread of a sweep with a helper, in virtual seconds, and the frames that both share: a frame that was
/// handed over is free when its reversal is over, and no slot holds it.
class virtual_caller {
 public:
  /// \param frames  as many as there are   \param holds_back  handed frames that the caller keeps: x1
  virtual_caller(slot_index slots, slot_index frames, std::size_t holds_back)
      : in_slot_(std::size_t(slots), none), left_{frames}, holds_back_{holds_back} {
    live_ = fresh();
  }
  /// Live is to be written; returns when it has a frame of its own.
  [[nodiscard]] double write(double now) {
    if (live_ != none && owners_[live_] == 1) return now;
    forget(live_);
    while (begin_ + holds_back_ < ring_.size() && (left_ <= 0 || ring_[begin_ + holds_back_].done <= now)) {
      now = (std::max)(now, ring_[begin_ + holds_back_].done);
      forget(ring_[begin_++].frame);
    }
    live_ = fresh();
    return now;
  }
  void save(slot_index slot) { drop(slot), ++owners_[in_slot_[std::size_t(slot)] = live_]; }
  void load(slot_index slot) { forget(live_), ++owners_[live_ = in_slot_[std::size_t(slot)]]; }
  void drop(slot_index slot) { forget(in_slot_[std::size_t(slot)]); }
  /// Live comes from elsewhere.
  [[nodiscard]] double load_anew(double now) { return forget(live_), write(now); }
  void hand_over(double now, double takes) {
    if (begin_ > 64 && begin_ > ring_.size() / 2)
      ring_.erase(ring_.begin(), ring_.begin() + std::ptrdiff_t(std::exchange(begin_, 0)));
    ends_ = (std::max)(ends_, now) + takes;
    ring_.push_back({std::exchange(live_, none), ends_});
  }
  /// The final state, which is the x1 of the first reversal.
  void keep_next(double now) { ring_.push_back({fresh(), now}); }
  [[nodiscard]] double ends() const noexcept { return ends_; }

 private:
  static constexpr std::size_t none = ~std::size_t{0};
  struct handed {
    std::size_t frame;
    double done;
  };
  [[nodiscard]] std::size_t fresh() {
    --left_;
    std::size_t k = free_.empty() ? owners_.size() : free_.back();
    if (free_.empty()) owners_.push_back(1);
    else free_.pop_back(), owners_[k] = 1;
    return k;
  }
  void forget(std::size_t& frame) {
    if (frame != none && --owners_[frame] == 0) free_.push_back(frame), ++left_;
    frame = none;
  }

  std::vector<std::size_t> in_slot_, free_;
  std::vector<int> owners_;
  std::vector<handed> ring_;
  std::size_t live_, begin_ = 0;
  slot_index left_;
  std::size_t holds_back_;
  double ends_ = 0;
};

}  // namespace detail

/// The times of one sweep of a plan, if states on other tiers than memory are written and read by a store `behind` it,
/// and, where `work.form.ahead` is above 0, a helper runs the steps ahead of the adjoints (`parallel`): a walk over all
/// actions with a clock for each. Take `how = {0, 0}` away from it and the sweep waits for each transfer, which is what
/// `estimate` says.
/// \param work  times of step, adjoint and tiers, and its form
/// \throws invalid_plan   for a plan of more than 10^7 steps
/// Cost: a walk of the plan, and for each load from far a look at what comes next
template <schedule Plan>
[[nodiscard, gnu::cold]] overlapped_times overlapped(Plan const& plan, workload const& work, behind_options const& how = {}) {
  if (plan.steps() > 10'000'000)
    throw invalid_plan{"cairn::overlapped", "the plan is too long to walk", {{"steps", plan.steps()}},
                       "take one of 10^7 steps or fewer"};
  detail::virtual_transfers slow{how};
  std::vector<step_index> held(std::size_t(plan.slots()), step_index{-1});
  std::vector<tier> where(std::size_t(plan.slots()), tier::memory);
  std::vector<detail::virtual_transfers::job> next;
  auto const& form = work.form;
  bool const helped = form.ahead > 0 && tapes_of(plan) == 0, records = form.adjoint == adjoint_form::recorded;
  detail::virtual_caller caller{helped ? plan.slots() : 0, detail::shared_frames(plan, form),
                                form.adjoint == adjoint_form::with_next ? std::size_t{1} : 0};
  bool back = false;  // the helper is at work
  double const record = work.record_seconds.value_or(work.step_seconds);
  overlapped_times found;
  auto const compute = [&](double seconds) { found.computing += seconds, slow.compute(seconds); };
  double const slower = detail::helper_slows(form.ahead);
  auto const step = [&](double steps) { compute(steps * work.step_seconds * (back ? slower : 1)); };
  auto const until = [&](double moment) { slow.compute(moment - slow.now()); };
  auto cursor = plan.walk();
  for (action a = cursor.next(); a.kind != action_kind::done; a = cursor.next()) {
    bool const is_far = a.slot != no_slot && a.where != tier::memory && a.what == content::state;
    auto const& cost = work.tiers[a.where];
    switch (a.kind) {
      case action_kind::advance:
        if (helped) until(caller.write(slow.now()));
        step(double(a.to - a.from));
        break;
      case action_kind::turn:
        step(double(a.to - a.from));
        if ((back = helped) && form.adjoint == adjoint_form::with_next) caller.keep_next(slow.now());
        break;
      case action_kind::record: compute(double(a.to - a.from) * record); break;
      case action_kind::reverse: {
        double const takes =
            double(a.to - a.from) * (work.adjoint_seconds + (records && a.what == content::state ? record : 0));
        if (!helped) {
          compute(takes);
          break;
        }
        found.computing += takes;
        if (records) until(caller.write(slow.now()));
        caller.hand_over(slow.now(), takes);
        break;
      }
      case action_kind::save:
        if (a.what != content::state) break;
        if (is_far) slow.save(a.slot, a.from, cost.write_seconds);
        else compute(cost.write_seconds);
        if (helped && !is_far) caller.save(a.slot);
        held[std::size_t(a.slot)] = a.from, where[std::size_t(a.slot)] = a.where;
        break;
      case action_kind::load:
        if (a.what != content::state) break;
        if (helped && (a.slot == no_slot || is_far)) until(caller.load_anew(slow.now()));
        if (a.slot == no_slot) break;
        if (!is_far) {
          if (helped) caller.load(a.slot);
          compute(cost.read_seconds);
          break;
        }
        slow.load(a.slot, a.from, cost.read_seconds);
        if (slow.ahead() == 0) break;
        next.clear();
        {
          auto ahead = cursor;
          for (action b = ahead.next(); b.kind != action_kind::done && next.size() < slow.ahead(); b = ahead.next())
            if (b.kind == action_kind::load && b.what == content::state && b.slot != no_slot &&
                b.where != tier::memory && held[std::size_t(b.slot)] == b.from && !slow.is_at_hand(b.slot, b.from) &&
                std::none_of(next.begin(), next.end(), [&](auto const& n) { return n.slot == b.slot && n.at == b.from; }))
              next.push_back({b.slot, b.from});
        }
        slow.read_ahead(next, [&](slot_index slot) { return work.tiers[where[std::size_t(slot)]].read_seconds; });
        break;
      case action_kind::drop:
        if (is_far) slow.forget(a.slot);
        else if (helped && a.what == content::state) caller.drop(a.slot);
        if (a.what == content::state && a.slot != no_slot) held[std::size_t(a.slot)] = -1;
        break;
      case action_kind::done: break;
    }
  }
  slow.settle();
  found.seconds = (std::max)(slow.now(), caller.ends());
  found.transfers = slow.spent;
  found.writes = slow.writes, found.reads = slow.reads;
  return found;
}

}  // namespace cairn
