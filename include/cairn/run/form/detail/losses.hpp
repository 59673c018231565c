// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file losses.hpp  The terms of an objective in one sweep.
#include <utility>
#include <cairn/core/action.hpp>
#include <cairn/core/bytes_of.hpp>
#include <cairn/core/detail/lesser.hpp>
#include <cairn/core/state_traits.hpp>
#include <cairn/core/wide.hpp>

namespace cairn::detail {

/// A loop without an objective.
struct no_losses {};
inline no_losses nothing_seen;

/// The terms of one loop: values as steps run for the first time, derivatives as they are reversed.
template <class Objective, class Params, class DP>
class losses {
 public:
  losses(Objective const& objective, Params const& p, DP& dp) : objective_{objective}, p_{p}, dp_{dp} {}

  void begin() noexcept { sum_ = 0, next_ = 0, most_held_ = 0; }
  /// Adds the terms of state i, if step i is about to run for the first time.
  template <class Input>
  void see(Input const& x, step_index i) {
    if (i != next_) return;
    ++next_;
    objective_.running(x, p_, i, [this](auto const& term) { sum_ += double(term); });
  }
  /// Adds the derivatives of the terms of state i.
  template <class Input, class Bar>
  void pull(Input const& x, Bar& bar, step_index i) { objective_.running_gradient(x, bar, p_, dp_, i); }
  /// Adds the terms of the last state, and their derivatives.
  template <class Input, class Bar>
  void end(Input const& x, Bar& bar) {
    value_ = sum_;
    auto const add = [this](auto const& term) { value_ += double(term); };
    objective_.running(x, p_, next_, add);
    objective_.ending(x, p_, next_, add);
    pull(x, bar, next_);
    objective_.ending_gradient(x, bar, p_, dp_, next_);
  }
  [[nodiscard]] bool any_at(step_index i) const { return next_after(i - 1) == i; }
  [[nodiscard]] bool any() const { return next_after(-1) < Objective::no_state; }
  /// The first state after i that has terms.
  [[nodiscard]] step_index next_after(step_index i) const { return objective_.next_after(i); }
  /// The most states with terms inside a leaf of a loop, how many steps run once more to make them, and the longest
  /// part of a leaf between them.
  struct inside_leaves {
    step_index states = 0;
    wide steps = 0;
    step_index part = 0;
  };
  [[nodiscard]] inside_leaves inside(step_index steps, step_index leaf) const {
    inside_leaves all;
    step_index here = 0, before = 0, cut = 0;  // in the leaf of the term before, and leaves with terms so far
    auto const part = [&](step_index from, step_index to) {
      all.part = greater(all.part, lesser(to, steps) - from);
    };
    auto const end_of = [&](step_index i) {
      return i / leaf == (steps - 1) / leaf ? steps : (i / leaf + 1) * leaf;
    };
    for (step_index i = next_after(0); leaf > 1 && i < steps; i = next_after(i)) {
      if (i % leaf == 0) continue;
      if (cut == 0 || i / leaf != before / leaf) {
        if (cut++ > 0) part(before, end_of(before));
        here = 0, before = i - i % leaf;
      }
      all.steps += wide(i - before);
      part(std::exchange(before, i), i);
      all.states = greater(all.states, ++here);
    }
    if (cut > 0) part(before, end_of(before));
    if (steps > 0 && cut <= (steps - 1) / leaf) all.part = lesser(leaf, steps);  // one has none inside
    return all;
  }
  /// States are held, and steps run, because of terms inside a leaf.
  void held(wide bytes, step_index steps) noexcept {
    if (bytes > most_held_) most_held_ = bytes;
    ran_ += wide(steps);
  }
  [[nodiscard]] wide most_held() const noexcept { return most_held_; }
  /// Steps that ran since the last call.
  [[nodiscard]] wide take_ran() noexcept { return std::exchange(ran_, 0); }
  /// Another process has seen the states before `next`, whose terms have this sum.
  void go_on(double sum, step_index next) noexcept { sum_ = sum, next_ = next; }
  [[nodiscard]] double sum() const noexcept { return sum_; }  ///< for `go_on`
  /// Another process has found this at the end.
  void ended(double ending) noexcept { value_ = ending; }
  [[nodiscard]] double ending() const noexcept { return value_; }  ///< for `ended`
  [[nodiscard]] double value() const noexcept { return value_; }
  [[nodiscard]] step_index steps() const noexcept { return next_; }  ///< that have run

 private:
  Objective const& objective_;
  Params const& p_;
  DP& dp_;
  double sum_ = 0, value_ = 0;
  step_index next_ = 0;
  wide most_held_ = 0, ran_ = 0;
};
/// Bytes outside a state or snapshot, 0 if they are unknown.
template <class T>
[[nodiscard]] wide heap_if_known([[maybe_unused]] T const& x) {
  if constexpr (sized_state<T>) return wide(bytes_of(x)) - sizeof(T);
  else return 0;
}

}  // namespace cairn::detail
