// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file losses.hpp  The terms of an objective in one sweep.
#include <utility>
#include <cairn/core/action.hpp>
#include <cairn/core/bytes_of.hpp>
#include <cairn/core/detail/compiler.hpp>
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
  /// Adds the terms of the last state.
  template <class Input>
  void end(Input const& x) {
    value_ = sum_;
    auto const add = [this](auto const& term) { value_ += double(term); };
    objective_.running(x, p_, next_, add);
    objective_.ending(x, p_, next_, add);
  }
  /// The same with their derivatives.
  template <class Input, class Bar>
  void end(Input const& x, Bar& bar) {
    end(x);
    pull(x, bar, next_);
    objective_.ending_gradient(x, bar, p_, dp_, next_);
  }
  [[nodiscard]] bool any_at(step_index i) const { return next_after(i - 1) == i; }
  [[nodiscard]] bool any() const { return next_after(-1) < Objective::no_state; }
  /// The first state after i that has terms.
  [[nodiscard]] step_index next_after(step_index i) const { return objective_.next_after(i); }
  /// What a leaf holds because of terms at states inside it.
  struct kept_inside {
    wide heap;    ///< of one of these states
    wide entry;   ///< what it has in a list, which stays until the leaf is reversed
    wide making;  ///< only while they are made
  };
  /// How many steps run once more in a loop to make them, the longest part of a leaf between them, and the most bytes
  /// of a leaf at any moment: a part is reversed when the states behind it are gone.
  struct inside_leaves {
    wide steps = 0;
    step_index part = 0;
    wide bytes = 0;
  };
  /// \param tape  bytes of the adjoint call for a part of so many steps
  template <class Tape>
  [[nodiscard]] inside_leaves inside(step_index steps, step_index leaf, kept_inside const& kept, Tape tape) const {
    inside_leaves all;
    step_index before = 0, here = 0, cut = 0;  // where a part begins, states inside its leaf so far; leaves with some
    wide most = 0;                             // of this leaf
    auto const part = [&](step_index to) {
      all.part = greater(all.part, to - before);
      most = greater(most, wide(here) * kept.heap + tape(to - before));
    };
    auto const end_leaf = [&] {
      part(lesser(steps, (before / leaf + 1) * leaf));
      most = greater(most, wide(here) * kept.heap + kept.making) + wide(here) * kept.entry;
      all.bytes = greater(all.bytes, most);
    };
    for (step_index i = next_after(0); leaf > 1 && i < steps; i = next_after(i)) {
      if (i % leaf == 0) continue;
      if (cut == 0 || i / leaf != before / leaf) {
        if (cut++ > 0) end_leaf();
        here = 0, most = 0, before = i - i % leaf;
      }
      all.steps += wide(i - before);
      part(i);
      before = i, ++here;
    }
    if (cut > 0) end_leaf();
    // Leaves that have none inside; one alone may be the last, which may be shorter.
    if (step_index const last = (steps - 1) / leaf; steps > 0 && cut <= last) {
      bool const only_last = cut == last && (cut == 0 || before / leaf < last);
      step_index const whole = only_last ? steps - last * leaf : leaf;
      all.part = greater(all.part, whole);
      all.bytes = greater(all.bytes, tape(whole));
    }
    return all;
  }
  /// States are held beside the tape of a leaf, and steps run, because of terms inside it.
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
[[nodiscard]] wide heap_if_known(T const& x) {
  if constexpr (sized_state<T>) return wide(bytes_of(x)) - sizeof(T);
  else return 0;
}

}  // namespace cairn::detail
