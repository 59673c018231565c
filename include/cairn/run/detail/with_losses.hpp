// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file with_losses.hpp  Steps and adjoints that also sum the terms of an objective and their derivatives.
#include <cstddef>
#include <optional>
#include <type_traits>
#include <utility>
#include <vector>
#include <cairn/core/forms.hpp>
#include <cairn/core/state_traits.hpp>
#include <cairn/run/detail/advanced_copy.hpp>
#include <cairn/run/detail/call.hpp>
#include <cairn/run/detail/come_back.hpp>
#include <cairn/run/detail/plans_inside.hpp>

namespace cairn::detail {

/// The terms of one loop: values as steps run for the first time, derivatives as they are reversed.
template <class Objective, class Params, class DP>
class losses {
 public:
  losses(Objective const& objective, Params const& p, DP& dp) : objective_{objective}, p_{p}, dp_{dp} {}

  void begin() noexcept { sum_ = 0, next_ = 0; }
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
  [[nodiscard]] bool any_at(step_index i) const {
    std::size_t sum = 0;
    objective_.each_count(i, [&](std::size_t count) { sum += count; });
    return sum > 0;
  }
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
};

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
  static constexpr bool moves_object = detail::moves_object<Adjoint, State, Bar>();

  void operator()(lent_state<State> x, Bar& bar, step_index const first, step_index const last) const {
    step_index inside = last;  // the last state inside the leaf that has terms
    while (--inside > first && !losses.any_at(inside)) {}
    if (inside > first) in_parts(x, bar, first, inside, last);
    else whole(x, bar, first, last);
  }

 private:
  static constexpr bool copied = copied_state<State>;

  void whole(lent_state<State> x, Bar& bar, step_index first, step_index last) const {
    bool const comes_back = moves_object && losses.any_at(first);
    if constexpr (moves_object) {
      if (comes_back) {
        auto const before = taken_snapshot(std::as_const(x));
        pull_back(adjoint, bar, x, bar, first, last);
        restore_state(x, before);
        return losses.pull(std::as_const(x), bar, first);
      }
    }
    pull_back(adjoint, bar, x, bar, first, last);
    losses.pull(std::as_const(x), bar, first);
  }
  void in_parts(lent_state<State> x, Bar& bar, step_index first, step_index inside, step_index last) const {
    struct cut {
      step_index at;
      stored_as<State> state;
    };
    std::vector<cut> cuts;
    auto const each = [&](auto const& run_to, auto const& now) {
      for (step_index at = first + 1, from = first; at <= inside; ++at)
        if (losses.any_at(at)) {
          run_to(from, at);
          cuts.push_back({at, now()});
          from = at;
        }
    };
    step_index failed = first;
    if constexpr (copied) {
      advanced_copy<State> live{x, shape_of_step<Step, State>().form};
      each([&](step_index from, step_index to) { live.run(step, from, to, failed); },
           [&] { return copy_of(std::as_const(live).state()); });
      for (; !cuts.empty(); cuts.pop_back()) {
        cut const& here = cuts.back();
        whole(here.state, bar, here.at, last);
        last = here.at;
      }
    } else {
      auto const before = taken_snapshot(std::as_const(x));
      each([&](step_index from, step_index to) { run_in_place(step, x, from, to, failed); },
           [&] { return taken_snapshot(std::as_const(x)); });
      for (; !cuts.empty(); cuts.pop_back()) {
        restore_state(x, cuts.back().state);
        whole(x, bar, cuts.back().at, last);
        last = cuts.back().at;
      }
      restore_state(x, before);
    }
    whole(x, bar, first, last);
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
      restore_state(**object, *kept.state);
      losses.pull(std::as_const(**object), bar, i);
      restore_state(**object, now);
    }
  }
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
