// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file with_losses.hpp  Steps and adjoints that also sum the terms of an objective and their derivatives.
#include <cstddef>
#include <optional>
#include <type_traits>
#include <utility>
#include <vector>
#include <cairn/core/bytes_of.hpp>
#include <cairn/core/detail/executor_bytes.hpp>
#include <cairn/core/detail/lesser.hpp>
#include <cairn/core/detail/leaf_bytes.hpp>
#include <cairn/core/forms.hpp>
#include <cairn/core/state_traits.hpp>
#include <cairn/run/detail/advanced_copy.hpp>
#include <cairn/run/detail/call.hpp>
#include <cairn/run/detail/come_back.hpp>
#include <cairn/run/detail/plans_inside.hpp>
#include <cairn/run/objective.hpp>

namespace cairn::detail {

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
    auto const part = [&](step_index from, step_index to) { all.part = greater(all.part, lesser(to, steps) - from); };
    auto const end_of = [&](step_index i) { return i / leaf == (steps - 1) / leaf ? steps : (i / leaf + 1) * leaf; };
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
  [[nodiscard]] wide take_ran() noexcept { return std::exchange(ran_, 0); }  ///< steps that ran since the last call
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

/// A step that shows each state to the losses before it runs.
template <step_form Form, class Step, class State, class Losses>
struct step_with_losses;
template <class Step, class Losses>
struct step_and_losses {
  [[no_unique_address]] Step step;
  Losses* seen;
  void begin(loop_begins loop) {
    begin_loop(step, loop);
    seen->begin();
  }
  [[nodiscard]] wide choice_bytes(step_index steps) const { return choice_bytes_of(step, steps); }
};
template <class Step, class State, class Losses>
struct step_with_losses<step_form::in_place, Step, State, Losses> : step_and_losses<Step, Losses> {
  static constexpr auto shape = shape_of_step<std::remove_reference_t<Step>, State>();
  auto operator()(State& x, step_index const i) -> std::conditional_t<shape.stops, bool, void> {
    this->seen->see(std::as_const(x), i);
    if constexpr (shape.indexed) return this->step(x, i);
    else return this->step(x);
  }
};
template <class Step, class State, class Losses>
struct step_with_losses<step_form::by_value, Step, State, Losses> : step_and_losses<Step, Losses> {
  State operator()(State const& x, step_index const i) {
    this->seen->see(x, i);
    if constexpr (shape_of_step<std::remove_reference_t<Step>, State>().indexed) return call_lending(this->step, x, i);
    else return call_lending(this->step, x);
  }
};
template <class Step, class State, class Losses>
struct step_with_losses<step_form::out_of_place, Step, State, Losses> : step_and_losses<Step, Losses> {
  void operator()(State const& x, State& x1, step_index const i) {
    this->seen->see(x, i);
    if constexpr (shape_of_step<std::remove_reference_t<Step>, State>().indexed) call_lending(this->step, x, x1, i);
    else call_lending(this->step, x, x1);
  }
};
/// \tparam Step  a reference for a step that outlives the result
template <class State, class Step, class Losses>
[[nodiscard]] auto with_losses(Step&& step, Losses& losses) {
  return step_with_losses<shape_of_step<std::remove_reference_t<Step>, State>().form, Step, State, Losses>{
      {std::forward<Step>(step), &losses}};
}

/// An adjoint that adds the derivatives of the terms of the state where it arrives.
template <adjoint_form Form, class Adjoint, class State, class Bar, class Losses, class Step>
struct adjoint_with_losses;
template <class Adjoint, class State, class Bar, class Losses, class Step>
struct adjoint_with_losses<adjoint_form::one_step, Adjoint, State, Bar, Losses, Step> {
  Adjoint& adjoint;
  Losses& losses;
  static constexpr bool indexed = shape_of_adjoint<Adjoint, State, Bar>().indexed;
  static constexpr bool leaves = detail::moves_object<Adjoint, State, Bar>();
  static constexpr bool moves_object = leaves;
  void operator()(lent_state<State> x, Bar& bar, step_index const i) const {
    if constexpr (leaves) {  // the object must come back to state i where that has terms
      if (losses.any_at(i)) {
        auto const before = taken_snapshot(std::as_const(x));
        losses.held(heap_if_known(before), 0);
        pull_back_step<indexed>(adjoint, bar, x, i);
        restore_state(x, before);
        return losses.pull(std::as_const(x), bar, i);
      }
      pull_back_step<indexed>(adjoint, bar, x, i);
    } else {
      pull_back_step<indexed>(adjoint, bar, x, i);
      losses.pull(std::as_const(x), bar, i);
    }
  }
  void ends_in(end_hash end) const
    requires takes_end_hash<Adjoint>
  {
    referred_to(adjoint).ends_in(end);
  }
  template <class, class>
  void check_plans() const { check_plans_inside<State, Bar>(adjoint); }
  [[nodiscard]] term_needs of_terms(wide heap, step_index steps, step_index) const {
    return {leaves && losses.next_after(-1) < steps ? heap : 0};
  }
  [[nodiscard]] wide terms_held() const noexcept { return losses.most_held(); }
};
template <class Adjoint, class State, class Bar, class Losses, class Step>
struct adjoint_with_losses<adjoint_form::with_next, Adjoint, State, Bar, Losses, Step> {
  Adjoint& adjoint;
  Losses& losses;
  void operator()(State const& x, State const& x1, Bar& bar, step_index const i) const {
    pull_back(adjoint, bar, x, x1, bar, i);
    losses.pull(x, bar, i);
  }
};
/// A leaf with terms at states inside it is reversed in parts, from one such state to the next. The states are made by
/// the step, which runs from the leaf's first state to the last of them once more.
template <class Adjoint, class State, class Bar, class Losses, class Step>
struct adjoint_with_losses<adjoint_form::leaf, Adjoint, State, Bar, Losses, Step> {
  Adjoint& adjoint;
  Losses& losses;
  Step& step;
  static constexpr bool moves_object = detail::moves_object<Adjoint, State, Bar>(), copied = copied_state<State>;
  using lent = std::conditional_t<copied, State const, State>;

  void operator()(lent_state<State> x, Bar& bar, step_index const first, step_index const last) const {
    step_index count = 0;
    for (step_index i = losses.next_after(first); i < last; i = losses.next_after(i)) ++count;
    if (count > 0) in_parts(x, bar, first, last, count);
    else whole(x, bar, first, last, 0);
  }
  [[nodiscard]] wide leaf_bytes(lent& x, step_index steps) const
    requires weighs_leaf_bytes<Adjoint, lent>
  {
    return leaf_bytes_of(adjoint, x, steps);
  }
  [[nodiscard]] wide leaf_bytes(step_index steps) const
    requires tells_leaf_bytes<Adjoint>
  {
    return function_in(adjoint).leaf_bytes(steps);
  }
  [[nodiscard]] wide leaf_known(step_index steps) const { return detail::leaf_known(adjoint, steps); }
  [[nodiscard]] wide leaf_held() const
    requires says_leaf_held<Adjoint>
  {
    return function_in(adjoint).leaf_held();
  }
  [[nodiscard]] term_needs of_terms(wide heap, step_index steps, step_index leaf) const {
    auto const inside = losses.inside(steps, leaf);
    wide const states = wide(inside.states);
    wide const back = moves_object && losses.next_after(-1) < steps ? heap : 0;
    if (states == 0) return {back, 0, leaf};
    wide const beside = copied ? copies * (heap + sizeof(State) + bytes_a_frame) : heap + back;
    return {states * (heap + sizeof(cut)) + beside, inside.steps, inside.part};
  }
  [[nodiscard]] wide terms_held() const noexcept { return losses.most_held(); }
  [[nodiscard]] wide take_ran() const noexcept { return losses.take_ran(); }  ///< steps that ran once more

 private:
  static constexpr step_form form = shape_of_step<Step, State>().form;
  static constexpr wide copies = form == step_form::in_place ? 1 : 2;  // of an `advanced_copy`
  struct cut {
    step_index at;
    stored_as<State> state;
  };

  /// \param held  bytes that terms hold beside
  void whole(lent_state<State> x, Bar& bar, step_index first, step_index last, wide held) const {
    if constexpr (moves_object) {
      if (losses.any_at(first)) {
        auto const before = taken_snapshot(std::as_const(x));
        losses.held(held + heap_if_known(before), 0);
        pull_back(adjoint, bar, x, bar, first, last);
        restore_state(x, before);
        return losses.pull(std::as_const(x), bar, first);
      }
    }
    pull_back(adjoint, bar, x, bar, first, last);
    losses.pull(std::as_const(x), bar, first);
  }
  void in_parts(lent_state<State> x, Bar& bar, step_index first, step_index last, step_index count) const {
    std::vector<cut> cuts;
    cuts.reserve(std::size_t(count));
    wide held = wide(cuts.capacity()) * sizeof(cut);
    auto const each = [&](auto const& run_to, auto const& now) {
      for (step_index from = first, at; (at = losses.next_after(from)) < last; from = at) {
        run_to(from, at);
        cuts.push_back({at, now()});
        held += heap_if_known(cuts.back().state);
      }
      losses.held(held, cuts.back().at - first);
    };
    step_index failed = first;
    if constexpr (copied) {
      advanced_copy<State> live{x, form};
      held += copies * (heap_if_known(std::as_const(x)) + sizeof(State) + bytes_a_frame);
      each([&](step_index from, step_index to) { live.run(step, from, to, failed); },
           [&] { return copy_of(std::as_const(live).state()); });
      for (; !cuts.empty(); cuts.pop_back()) {
        cut const& here = cuts.back();
        whole(here.state, bar, here.at, last, held);
        last = here.at;
      }
    } else {
      auto const before = taken_snapshot(std::as_const(x));
      held += heap_if_known(before);
      each([&](step_index from, step_index to) { run_in_place(step, x, from, to, failed); },
           [&] { return taken_snapshot(std::as_const(x)); });
      for (; !cuts.empty(); cuts.pop_back()) {
        restore_state(x, cuts.back().state);
        whole(x, bar, cuts.back().at, last, held);
        last = cuts.back().at;
      }
      restore_state(x, before);
    }
    whole(x, bar, first, last, held);
  }
};

/// A tape, and beside it the state at its begin if that has terms.
template <class Tape, class State>
struct tape_with_state {
  Tape tape;
  std::optional<stored_as<State>> state;
};
template <class Adjoint, class State, class Losses>
struct record_with_losses {
  using tape =
      std::remove_cvref_t<decltype(record_step(std::declval<record_of<Adjoint>&>(), std::declval<State&>(), 0))>;
  Adjoint& adjoint;
  Losses& losses;
  State** object;  // where the object of a loop over one is
  tape_with_state<tape, State> operator()(State& x, step_index const i) const {
    losses.see(std::as_const(x), i);
    if constexpr (!copied_state<State>) *object = &x;
    std::optional<stored_as<State>> at;
    if (losses.any_at(i)) {
      if constexpr (copied_state<State>) at.emplace(copy_of(std::as_const(x)));
      else at.emplace(taken_snapshot(std::as_const(x)));
    }
    return {record_step(adjoint.record, x, i), std::move(at)};
  }
  /// Bytes of a tape with a state, if any step has one.   \param heap  of a state
  [[nodiscard]] wide most_bytes(tape_with_state<tape, State> const& kept, wide heap) const {
    return wide(bytes_of(kept)) + (!kept.state && losses.next_after(-1) < objective_part::no_state ? heap : 0);
  }
};
template <class Adjoint, class State, class Bar, class Losses>
struct reverse_with_losses {
  using tape = typename record_with_losses<Adjoint, State, Losses>::tape;
  static constexpr bool indexed = shape_of_adjoint<Adjoint, State, Bar>().reverse_indexed;
  Adjoint& adjoint;
  Losses& losses;
  State** object;
  void operator()(tape_with_state<tape, State>& kept, Bar& bar, step_index const i) const {
    pull_back_step<indexed>(adjoint.reverse, bar, kept.tape, i);
    if (!kept.state) return;
    if constexpr (copied_state<State>) losses.pull(std::as_const(*kept.state), bar, i);
    else {
      auto const now = taken_snapshot(std::as_const(**object));
      losses.held(heap_if_known(now), 0);
      restore_state(**object, *kept.state);
      losses.pull(std::as_const(**object), bar, i);
      restore_state(**object, now);
    }
  }
  [[nodiscard]] term_needs of_terms(wide heap, step_index steps, step_index) const {
    return {!copied_state<State> && losses.next_after(-1) < steps ? heap : 0};
  }
  [[nodiscard]] wide terms_held() const noexcept { return losses.most_held(); }
};
template <class Adjoint, class Tape, class State>
struct restart_with_losses {
  Adjoint& adjoint;
  decltype(auto) operator()(tape_with_state<Tape, State> const& kept) const { return adjoint.restart(kept.tape); }
};
/// \param object  a place for the address of an object; used by recording adjoints only
template <class State, class Bar, class Adjoint, class Losses, class Step>
[[nodiscard]] auto with_losses(Adjoint& adjoint, Losses& losses, Step& step, [[maybe_unused]] State*& object) {
  constexpr auto form = shape_of_adjoint<Adjoint, State, Bar>().form;
  if constexpr (form == adjoint_form::recorded) {
    record_with_losses<Adjoint, State, Losses> record{adjoint, losses, &object};
    reverse_with_losses<Adjoint, State, Bar, Losses> reverse{adjoint, losses, &object};
    using tape = typename decltype(record)::tape;
    if constexpr (requires { sizeof(adjoint.restart); })
      return recorded{std::move(record), std::move(reverse), restart_with_losses<Adjoint, tape, State>{adjoint}};
    else return recorded{std::move(record), std::move(reverse)};
  } else if constexpr (form == adjoint_form::leaf) {
    adjoint_with_losses<form, Adjoint, State, Bar, Losses, Step> with{adjoint, losses, step};
    return tagged<form, decltype(with)>{with};
  } else {
    adjoint_with_losses<form, Adjoint, State, Bar, Losses, Step> with{adjoint, losses};
    if constexpr (form == adjoint_form::one_step) return with;
    else return tagged<form, decltype(with)>{with};
  }
}

}  // namespace cairn::detail
