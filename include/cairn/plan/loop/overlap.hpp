// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file overlap.hpp  What a sweep takes whose far states are written and read while it computes, by a virtual clock.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>
#include <cairn/core/action.hpp>
#include <cairn/core/behind_options.hpp>
#include <cairn/core/error.hpp>
#include <cairn/rules/workload.hpp>

namespace cairn {

/// Times of a sweep with a store `behind` it.
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

}  // namespace detail

/// The times of one sweep of a plan, if states on other tiers than memory are written and read by a store `behind` it:
/// a walk over all actions with a clock for the sweep and one for the transfers. Take `how = {0, 0}` away from it and
/// the sweep waits for each transfer, which is what `estimate` says.
/// \param work  times of step, adjoint and tiers; other members do not matter
/// \throws invalid_plan   for a plan of more than 10^7 steps
/// Cost: a walk of the plan, and for each load from far a look at what comes next
template <schedule Plan>
[[nodiscard]] overlapped_times overlapped(Plan const& plan, workload const& work, behind_options const& how = {}) {
  if (plan.steps() > 10'000'000)
    throw invalid_plan{"cairn::overlapped", "the plan is too long to walk", {{"steps", plan.steps()}},
                       "take one of 10^7 steps or fewer"};
  detail::virtual_transfers slow{how};
  std::vector<step_index> held(std::size_t(plan.slots()), step_index{-1});
  std::vector<tier> where(std::size_t(plan.slots()), tier::memory);
  std::vector<detail::virtual_transfers::job> next;
  double const record = work.record_seconds.value_or(work.step_seconds);
  overlapped_times found;
  auto const compute = [&](double seconds) { found.computing += seconds, slow.compute(seconds); };
  auto cursor = plan.walk();
  for (action a = cursor.next(); a.kind != action_kind::done; a = cursor.next()) {
    bool const is_far = a.slot != no_slot && a.where != tier::memory && a.what == content::state;
    auto const& cost = work.tiers[a.where];
    switch (a.kind) {
      case action_kind::advance:
      case action_kind::turn: compute(double(a.to - a.from) * work.step_seconds); break;
      case action_kind::record: compute(double(a.to - a.from) * record); break;
      case action_kind::reverse: compute(double(a.to - a.from) * work.adjoint_seconds); break;
      case action_kind::save:
        if (a.what != content::state) break;
        if (is_far) slow.save(a.slot, a.from, cost.write_seconds);
        else compute(cost.write_seconds);
        held[std::size_t(a.slot)] = a.from, where[std::size_t(a.slot)] = a.where;
        break;
      case action_kind::load:
        if (a.what != content::state || a.slot == no_slot) break;
        if (!is_far) {
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
        if (a.what == content::state && a.slot != no_slot) held[std::size_t(a.slot)] = -1;
        break;
      case action_kind::done: break;
    }
  }
  slow.settle();
  found.seconds = slow.now();
  found.transfers = slow.spent;
  found.writes = slow.writes, found.reads = slow.reads;
  return found;
}

}  // namespace cairn
