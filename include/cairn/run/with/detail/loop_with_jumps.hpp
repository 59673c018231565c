// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file loop_with_jumps.hpp  The step of a loop with jumps, and its adjoint where that does not record.
#include <cstddef>
#include <optional>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>
#include <cairn/core/detail/compiler.hpp>
#include <cairn/core/detail/kept_as.hpp>
#include <cairn/core/state_traits.hpp>
#include <cairn/door/forms.hpp>
#include <cairn/run/form/detail/loop_adjoint.hpp>
#include <cairn/run/form/detail/plans_inside.hpp>
#include <cairn/run/form/detail/reversal.hpp>
#include <cairn/run/sweep/detail/cached_object.hpp>
#include <cairn/run/sweep/detail/kept_snapshot.hpp>
#include <cairn/run/with/detail/adjoint_over.hpp>
#include <cairn/run/with/detail/jump_kinds.hpp>

namespace cairn::detail {

/// The jumps and runs of steps of one pass over some steps, in order, with the state before each. They run on a copy of
/// the first state; an object runs itself, and is restored to the start of each part. Memory is kept from call to call.
template <class State>
class jump_trail {
  static constexpr bool copies = copied_state<State>;
  using input = std::conditional_t<copies, State const, State>;
  struct none {};
  using own_state = std::conditional_t<copies, std::optional<State>, none>;

 public:
  static constexpr std::size_t of_steps = std::size_t(-1);
  struct mark {
    std::optional<stored_as<State>> stored;  // may be left from an earlier call
    input* x = nullptr;                      // null: in `stored`
    std::size_t jump = of_steps;
    step_index from = 0, to = 0;
  };
  /// \param x  the first state; must outlive the walk
  void begin(input& x) noexcept {
    used_ = 0;
    start_ = &x;
    moved_ = false;
  }
  /// The present state of the walk.
  [[nodiscard]] State const& here() const noexcept {
    if constexpr (copies)
      if (moved_) return *live_;
    return *start_;
  }
  /// The same, for a step or jump that changes it.
  [[nodiscard]] State& live() {
    if constexpr (!copies) return *start_;
    else {
      if (!std::exchange(moved_, true)) keep_in(live_, *start_);
      return *live_;
    }
  }
  /// Notes that a jump, or a run of steps, begins here.
  /// \param ends  the walk ends here, so that the state is not kept
  void note(std::size_t jump, step_index from, bool ends = false) {
    if (used_ == marks_.size()) marks_.emplace_back();
    mark& made = marks_[used_++];
    made.jump = jump;
    made.from = made.to = from;
    made.x = nullptr;
    if constexpr (copies) {
      if (ends || !moved_) made.x = address_of(here());
    } else if (ends) made.x = start_;
    if (made.x == nullptr) keep_in(made.stored, here());
  }
  /// Runs step i on the present state.
  template <class Step, class Params>
  void run(Step& step, Params const& p, step_index i) {
    if constexpr (step_in_loop<Step, State, Params>().form == step_form::out_of_place) {
      keep_in(next_, here());  // a state of the same shape; what it holds is not read
      move_to(step, here(), *next_, p, i);
      moved_ = true;
      using std::swap;
      swap(live_, next_);
    } else move_on(step, live(), p, i);
  }
  [[nodiscard]] std::size_t size() const noexcept { return used_; }
  [[nodiscard]] mark& operator[](std::size_t k) noexcept { return marks_[k]; }
  /// The state at a mark, for the reverse pass.
  [[nodiscard]] input& back_at(mark const& m) const {
    if constexpr (copies) return m.x != nullptr ? *m.x : *m.stored;
    else {
      if (m.x == nullptr) restore_state(*start_, *m.stored);
      return *start_;
    }
  }

 private:
  std::vector<mark> marks_;
  std::size_t used_ = 0;
  input* start_ = nullptr;
  own_state live_, next_;
  bool moved_ = false;
};

/// The step of a loop with jumps.
template <class Step, class... Jump>
struct jumps_step {
  using inner_step = std::remove_reference_t<Step>;
  using jumps_type = std::tuple<Jump...>;
  template <class State>
  static constexpr step_shape shape_on = shape_of_step<inner_step, State>();
  kept_callable<Step> inner;
  jumps_type jumps;
  mutable lent_object memory;

  /// See `binds_step`.
  template <class State, class Params>
  static consteval step_shape step_with() {
    constexpr auto read = step_in_loop<inner_step, State, Params>();
    if constexpr (read.wrong != fault::none) return read;
    else if constexpr (!(Jump::template fits<State, Params>() && ...)) return no_step(fault::part);
    else
      return {read.form == step_form::out_of_place ? read.form : step_form::in_place, true, read.stops, fault::none};
  }
  template <class State, class Params>
  auto run(Params const& p, step_index const i, State& x) const
      -> std::conditional_t<step_in_loop<inner_step, State, Params>().stops, bool, void> {
    before(x, p, i);
    if constexpr (step_in_loop<inner_step, State, Params>().stops) {
      bool const more = move_on(*inner, x, p, i);
      after(x, p, i);
      return more;
    } else {
      move_on(*inner, x, p, i);
      after(x, p, i);
    }
  }
  template <class State, class Params>
  void run(Params const& p, step_index const i, State const& x, State& x1) const {
    bool due = false;
    each_jump(jumps, [&](auto const& jump, std::size_t) { due = due || jump.due_before(x, p, i); });
    if (!due) move_to(*inner, x, x1, p, i);
    else {
      auto& jumped = memory.object().get<std::optional<State>>();
      keep_in(jumped, x);
      before(*jumped, p, i);
      move_to(*inner, std::as_const(*jumped), x1, p, i);
    }
    after(x1, p, i);
  }
  template <class State>
    requires(shape_on<State>.form == step_form::in_place || shape_on<State>.form == step_form::by_value)
  auto operator()(State& x, step_index i) const { return run<State>(no_parameters, i, x); }
  template <class State>
    requires(shape_on<State>.form == step_form::out_of_place)
  void operator()(State const& x, State& x1, step_index i) const { run<State>(no_parameters, i, x, x1); }
  /// Called by executors, once before each loop.
  void begin(loop_begins loop) const {
    if (loop.steps >= 0) each_jump(jumps, [&](auto const& jump, std::size_t) { jump.check_loop(loop.steps); });
    begin_loop(*inner, loop);
  }
  template <class Look>
  void each_function(Look const& look) const { look(*inner), look_at_jumps(jumps, look); }

 private:
  template <class State, class Params>
  void before(State& x, Params const& p, step_index i) const {
    each_jump(jumps, [&](auto const& jump, std::size_t) {
      if (jump.due_before(std::as_const(x), p, i)) jump.run(x, p, i);
    });
  }
  template <class State, class Params>
  void after(State& x, Params const& p, step_index i) const {
    each_jump(jumps, [&](auto const& jump, std::size_t) { if (jump.due_after(i)) jump.run(x, p, i); });
  }
};

/// The adjoint of that step, unless it records.
template <class Step, class Adjoint, class... Jump>
struct jumps_adjoint : adjoint_over<jumps_adjoint<Step, Adjoint, Jump...>> {
  jumps_adjoint(kept_callable<Step> step, kept_callable<Adjoint> f, std::tuple<Jump...> all)
      : inner{step}, adjoint{f}, jumps{std::move(all)} {}
  using inner_step = std::remove_reference_t<Step>;
  using inner_back = std::remove_reference_t<Adjoint>;
  using jumps_type = std::tuple<Jump...>;
  kept_callable<Step> inner;
  kept_callable<Adjoint> adjoint;
  jumps_type jumps;
  mutable lent_object memory;

  template <class State, class Bar, class Params, class DP>
  static consteval adjoint_shape adjoint_with() {
    constexpr auto read = shape_of_adjoint_with<inner_back, State, Bar, Params, DP>();
    if constexpr (read.form == adjoint_form::none) return read;
    else if constexpr (!(Jump::template adjoint_fits<State, Bar, Params, DP>() && ...)) return no_adjoint(fault::part);
    else return made_adjoint(read.form);
  }
  template <class State, class Bar, class Params, class DP>
  void check_plans() const { check_plans_inside<State, Bar, Params, DP>(*adjoint); }

  template <class State, class Bar>
  static consteval adjoint_shape shape_on() { return shape_of_adjoint<inner_back, State, Bar>(); }
  template <class Look>
  void each_function(Look const& look) const {
    look(*inner), look(*adjoint), look_at_jumps(jumps, look);
  }
  /// \param x1  the state after the last step and its jumps, for adjoints that take x1
  template <class State, class Input, class Bar, class Params, class DP>
  void back(Input& x, State const* x1, Bar& bar, Params const& p, DP& dp, step_index first, step_index last) const {
    auto& trail = memory.object().get<jump_trail<State>>();
    trail.begin(x);
    walk(trail, p, first, last);
    for (std::size_t k = trail.size(); k-- > 0;) {
      auto const& mark = trail[k];
      auto& at = trail.back_at(mark);
      if (mark.jump == trail.of_steps) call_back<State>(*adjoint, at, x1, bar, p, dp, mark.from, mark.to);
      else
        each_jump(jumps, [&](auto const& jump, std::size_t which) {
          if (which == mark.jump) jump.reverse(at, bar, p, dp, mark.from);
        });
      x1 = address_of(std::as_const(at));
    }
  }
 private:
  /// Notes the jumps and runs of steps from `first` to `last`; runs no step after the last jump.
  template <class State, class Params>
  void walk(jump_trail<State>& trail, Params const& p, step_index first, step_index last) const {
    bool open = false;  // a run of steps is in progress: the last entry is its start
    step_index i = first;
    for (;;) {
      each_jump(jumps, [&](auto const& jump, std::size_t k) {
        if (!jump.due_before(trail.here(), p, i)) return;
        trail.note(k, i);
        jump.run(trail.live(), p, i);
        open = false;
      });
      step_index const end = next_check(i, last);
      if (!std::exchange(open, true)) trail.note(trail.of_steps, i, end > last);
      trail[trail.size() - 1].to = lesser(end, last);
      if (end > last) return;
      for (; i < end; ++i) trail.run(*inner, p, i);
      each_jump(jumps, [&](auto const& jump, std::size_t k) {
        if (!jump.due_after(end - 1)) return;
        trail.note(k, end - 1);
        jump.run(trail.live(), p, end - 1);
        open = false;
      });
      if (end == last) return;
    }
  }
  /// The next state in (i, last) before whose step a jump may be due, or in (i, last] after whose step one is due;
  /// more than `last` if there is none.
  [[nodiscard]] step_index next_check(step_index i, step_index last) const {
    step_index found = last + 1;
    each_jump(jumps, [&](auto const& jump, std::size_t) {
      step_index const next = jump.next(i, last + 1);
      if (next < found && (next < last || (next == last && jump.due_after(last - 1)))) found = next;
    });
    return found;
  }
};

}  // namespace cairn::detail
