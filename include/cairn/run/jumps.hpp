// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file jumps.hpp  Events of a loop: the state jumps at a given step, or when a condition holds.
#include <cstddef>
#include <optional>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>
#include <cairn/core/detail/signature.hpp>
#include <cairn/core/detail/user_values.hpp>
#include <cairn/core/error.hpp>
#include <cairn/core/forms.hpp>
#include <cairn/core/state_traits.hpp>
#include <cairn/run/detail/cached_object.hpp>

namespace cairn {
namespace detail {

/// Advances x by a step or a jump. Forward and backward sweep call the same instantiation, and so the same machine
/// code: see call.hpp. Returns the step's result if the step may end its loop, otherwise true.
template <class F, class State>
[[gnu::noinline]] bool move_on(F& f, State& x, step_index const i) {
  static constexpr auto shape = shape_of_step<F, State>();
  if constexpr (shape.form == step_form::by_value) {
    if constexpr (shape.indexed) x = call_lending(f, std::as_const(x), i);
    else x = call_lending(f, std::as_const(x));
  } else if constexpr (shape.stops) {
    if constexpr (shape.indexed) return f(x, i);
    else return f(x);
  } else {
    if constexpr (shape.indexed) f(x, i);
    else f(x);
  }
  return true;
}

/// The state and the bar of a loop, if the signatures of step and adjoint name the same ones. Void if these are
/// templates, or take types to which a state converts.
template <class Step, class Adjoint, class OfStep, class OfAdjoint>
struct told_types {
  using state = void;
  using bar = void;
};
template <class Step, class Adjoint, class State, class... After, class X, class Bar, class... Behind>
  requires(state<State> && copied_state<Bar> && std::is_same_v<std::remove_cvref_t<X>, State> &&
           (shape_of_adjoint<Adjoint, State, Bar>().form == adjoint_form::one_step ||
            shape_of_adjoint<Adjoint, State, Bar>().form == adjoint_form::leaf))
struct told_types<Step, Adjoint, arguments<State&, After...>, arguments<X, Bar&, Behind...>> {
  using state = State;
  using bar = Bar;
};
template <class Step, class Adjoint>
using told_by = told_types<Step, Adjoint, typename decltype(parameters_of<Step>())::type,
                           typename decltype(parameters_of<Adjoint>())::type>;

/// What all jumps have: the map of the state, and its adjoint.
template <class Jump, class Adjoint>
struct jump_maps {
  mutable Jump jump;  // mutable, so that a const pair of mutable lambdas works
  mutable Adjoint adjoint;

  template <class State>
  static consteval bool check_jump() {
    constexpr auto shape = shape_of_step<Jump, State>();
    constexpr bool jumps =
        (shape.form == step_form::in_place || shape.form == step_form::by_value) && !shape.stops;
    static_assert(jumps, "cairn: a jump must be `jump(x)` or `jump(x, i)`, which changes x or returns the new state");
    return jumps;
  }
  template <class State, class Bar>
  static consteval bool check_adjoint() {
    constexpr bool reverses = shape_of_adjoint<Adjoint, State, Bar>().form == adjoint_form::one_step;
    static_assert(reverses,
                  "cairn: the adjoint of a jump must be `adjoint(x, bar)` or `adjoint(x, bar, i)`, where x is the "
                  "state before the jump");
    return reverses;
  }

  template <class State>
  void run(State& x, step_index i) const {
    if constexpr (check_jump<State>()) move_on(jump, x, i);
  }
  /// \param x  the state before the jump
  template <class X, class Bar>
  void reverse(X& x, Bar& bar, step_index const i) const {
    using State = std::remove_const_t<X>;
    if constexpr (!check_adjoint<State, Bar>()) return;
    else pull_back_step<shape_of_adjoint<Adjoint, State, Bar>().indexed>(adjoint, bar, x, i);
  }
};

/// A jump before or after one step.
template <class Jump, class Adjoint>
struct jump_of_step : jump_maps<Jump, Adjoint> {
  step_index step = 0;
  bool after = false;

  template <class State>
  [[nodiscard]] bool due_before(State const&, step_index i) const noexcept { return !after && i == step; }
  [[nodiscard]] bool due_after(step_index i) const noexcept { return after && i == step; }
  /// The first step > i before which the jump may be due, known once step i has run; otherwise `none`.
  [[nodiscard]] step_index next(step_index i, step_index none) const noexcept {
    return step + (after ? 1 : 0) > i ? step + (after ? 1 : 0) : none;
  }
  void check(char const* operation) const {
    if (step < 0)
      throw invalid_call{operation, "a jump has a negative step number", {{"step", step}}, "steps count from 0"};
  }
  void check_loop(step_index steps) const {
    if (step >= steps)
      throw invalid_call{
          "cairn::with_jumps",
          "the loop has no step at which this jump would run",
          {{"step", step}, {"steps", steps}},
          "the jump of the final state is cairn::jump_after(n - 1, jump, adjoint), n being the number of steps"};
  }
};

/// A jump before every step at which a condition holds.
template <class Condition, class Jump, class Adjoint>
struct jump_on_condition : jump_maps<Jump, Adjoint> {
  mutable Condition condition;

  template <class State>
  static constexpr bool indexed = calls<Condition, State const&, step_index const&>;
  template <class State>
  static consteval bool check_condition() {
    constexpr bool answers = [] {
      if constexpr (indexed<State>)
        return std::is_same_v<std::remove_cvref_t<call_result<Condition, State const&, step_index const&>>, bool>;
      else if constexpr (calls<Condition, State const&>)
        return std::is_same_v<std::remove_cvref_t<call_result<Condition, State const&>>, bool>;
      else return false;
    }();
    static_assert(answers,
                  "cairn: the condition of a jump must be `condition(x)` or `condition(x, i)`, with x const&, and "
                  "return bool");
    return answers;
  }

  template <class State>
  [[nodiscard]] bool due_before(State const& x, step_index const i) const {
    if constexpr (!check_condition<State>()) return false;
    else if constexpr (indexed<State>) return call_lending(condition, x, i);
    else return call_lending(condition, x);
  }
  [[nodiscard]] static constexpr bool due_after(step_index) noexcept { return false; }
  [[nodiscard]] static constexpr step_index next(step_index i, step_index) noexcept { return i + 1; }
  static constexpr void check_loop(step_index) noexcept {}
};

/// Checked when a loop with jumps is made, if the signatures of its step and adjoint name their types; otherwise in the
/// sweep.
template <class Jump, class State, class Bar>
[[nodiscard]] consteval bool fits_jump() {
  if constexpr (std::is_void_v<State>) return true;
  else if constexpr (!Jump::template check_jump<State>()) return false;
  else if constexpr (!Jump::template check_adjoint<State, Bar>()) return false;
  else if constexpr (requires { Jump::template check_condition<State>(); })
    return Jump::template check_condition<State>();
  else return true;
}

/// The jumps and runs of steps of one pass over some steps, in order, with the state before each. Memory is kept from
/// call to call.
template <class State>
class jump_trail {
 public:
  static constexpr std::size_t of_steps = std::size_t(-1);
  struct mark {
    std::optional<State> stored;  // may hold a state from an earlier call
    State const* x = nullptr;     // null: in `stored`
    std::size_t jump = of_steps;
    step_index from = 0, to = 0;
  };

  /// \param x  the first state; must outlive the walk
  void begin(State const& x) noexcept {
    used_ = 0;
    start_ = &x;
    moved_ = false;
  }
  /// The present state of the walk.
  [[nodiscard]] State const& here() const noexcept { return moved_ ? *live_ : *start_; }
  /// The same, for a step or jump that changes it.
  [[nodiscard]] State& live() {
    if (!std::exchange(moved_, true)) put(live_, *start_);
    return *live_;
  }
  /// Notes that a jump, or a run of steps, begins here.
  /// \param ends  the walk ends here, so that the state is not copied
  void note(std::size_t jump, step_index from, bool ends = false) {
    if (used_ == marks_.size()) marks_.emplace_back();
    mark& made = marks_[used_++];
    made.jump = jump;
    made.from = made.to = from;
    made.x = nullptr;
    if (!moved_) made.x = start_;
    else if (ends) made.x = &*live_;
    else put(made.stored, *live_);
  }
  [[nodiscard]] std::size_t size() const noexcept { return used_; }
  [[nodiscard]] mark& operator[](std::size_t k) noexcept { return marks_[k]; }
  /// The state at a mark, for the reverse pass.
  [[nodiscard]] State const& back_at(mark const& m) const noexcept { return m.x != nullptr ? *m.x : *m.stored; }

 private:
  static void put(std::optional<State>& into, State const& x) {
    if (into) copy_state(x, *into);
    else emplace_by(into, [&] { return copy_of(x); });
  }

  std::vector<mark> marks_;
  std::size_t used_ = 0;
  State const* start_ = nullptr;
  std::optional<State> live_;
  bool moved_ = false;
};

/// The same for an object: the object itself runs, and is restored to the start of each part.
template <saved_state State>
class jump_trail<State> {
 public:
  static constexpr std::size_t of_steps = std::size_t(-1);
  struct mark {
    std::optional<stored_as<State>> stored;  // may be left from another call
    bool moved_on = false;                   // the object has gone on from there, and `stored` is where it was
    std::size_t jump = of_steps;
    step_index from = 0, to = 0;
  };

  void begin(State& x) noexcept {
    used_ = 0;
    live_ = &x;
  }
  [[nodiscard]] State const& here() const noexcept { return *live_; }
  [[nodiscard]] State& live() noexcept { return *live_; }
  void note(std::size_t jump, step_index from, bool ends = false) {
    if (used_ == marks_.size()) marks_.emplace_back();
    mark& made = marks_[used_++];
    made.jump = jump;
    made.from = made.to = from;
    made.moved_on = !ends;
    if (ends) return;
    if constexpr (saves_into<State>) {
      if (made.stored) return save_state(here(), *made.stored);
    }
    emplace_by(made.stored, [this] { return taken_snapshot(here()); });
  }
  [[nodiscard]] std::size_t size() const noexcept { return used_; }
  [[nodiscard]] mark& operator[](std::size_t k) noexcept { return marks_[k]; }
  [[nodiscard]] State& back_at(mark const& m) const {
    if (m.moved_on) restore_state(*live_, *m.stored);
    return *live_;
  }

 private:
  std::vector<mark> marks_;
  std::size_t used_ = 0;
  State* live_ = nullptr;
};

}  // namespace detail

/// A jump of state i before step i: `x = jump(x[, i])`, in place or by value. An argument of `with_jumps`.
/// \param adjoint  `adjoint(x, bar[, i])`, in place or by value: x is the state before the jump; bar belongs to the
///   state after the jump before the call, and to the state before the jump after the call
/// \throws invalid_call   if i < 0
template <class Jump, class Adjoint>
[[nodiscard]] auto jump_at(step_index i, Jump jump, Adjoint adjoint) {
  detail::jump_of_step<Jump, Adjoint> made{{std::move(jump), std::move(adjoint)}, i, false};
  made.check("cairn::jump_at");
  return made;
}
/// A jump after step i, before anything else uses state i + 1; for i = n - 1 a jump of the final state. Its adjoint
/// runs step i once more.
template <class Jump, class Adjoint>
[[nodiscard]] auto jump_after(step_index i, Jump jump, Adjoint adjoint) {
  detail::jump_of_step<Jump, Adjoint> made{{std::move(jump), std::move(adjoint)}, i, true};
  made.check("cairn::jump_after");
  return made;
}
/// A jump before every step i at which `condition(x)` or `condition(x, i)` is true for state i. The condition is not
/// evaluated for the final state, which no step follows.
template <class Condition, class Jump, class Adjoint>
[[nodiscard]] auto jump_when(Condition condition, Jump jump, Adjoint adjoint) {
  return detail::jump_on_condition<Condition, Jump, Adjoint>{{std::move(jump), std::move(adjoint)},
                                                             std::move(condition)};
}

/// A loop whose state jumps at some of its steps: a ball bounces, a dose is given, data are assimilated. `step` and
/// `adjoint` are those of the loop with its jumps, for any verb and plan; several jumps at one step are made in the
/// order given. Keeps copies of all callables.
///
/// The inner step is in place, and may return bool for `checkpointed_while`, or by value. The inner adjoint is one of a
/// step, `(x, bar, i)`, or of a leaf, `(x, bar, first, last)`, which is then called for each run of steps between two
/// jumps. If a library holds bar, no adjoint takes one. Checkpoints, hooks and `keep_going` see state i before the
/// jumps of `jump_at(i)` and `jump_when`, and after those of `jump_after(i - 1)`.
///
/// A step without a jump costs nothing extra. The adjoint of a step with jumps runs these jumps once more, on copies of
/// the state whose memory is reused: one copy, and one more for each further jump; `jump_after` also runs its step
/// again. An object that cannot be copied makes the jumps itself, and is restored from as many snapshots when an
/// adjoint needs it. In a leaf the steps before its last jump run once more (with `jump_when` all but the last), and so
/// do the jumps. Plans do not count these copies, snapshots and runs.
///
/// Jumps at fixed steps are differentiated exactly. For a condition on the state the derivative is that of the branch
/// taken: the step at which the condition becomes true is a whole number and has no derivative. To differentiate the
/// time of an event, too (saltation), find that time as a root inside the step, as a part of it.
/// \throws invalid_call   before any step runs, if a jump is at no step of a loop of known length
template <class Step, class Adjoint, class... Jump>
class with_jumps {
  using jumps_type = std::tuple<Jump...>;
  using told = detail::told_by<std::remove_const_t<Step>, std::remove_const_t<Adjoint>>;
  using checked = std::bool_constant<(detail::fits_jump<Jump, typename told::state, typename told::bar>() && ...)>;
  // The callables are mutable, so that a const pair of mutable lambdas works.
  struct forward {
    mutable std::remove_const_t<Step> inner;
    jumps_type jumps;

    template <class State>
      requires(detail::shape_of_step<Step, State>().form == step_form::in_place ||
               detail::shape_of_step<Step, State>().form == step_form::by_value)
    auto operator()(State& x, step_index i) const
        -> std::conditional_t<detail::shape_of_step<Step, State>().stops, bool, void> {
      each([&](auto const& jump) { if (jump.due_before(std::as_const(x), i)) jump.run(x, i); });
      [[maybe_unused]] bool const more = detail::move_on(inner, x, i);
      each([&](auto const& jump) { if (jump.due_after(i)) jump.run(x, i); });
      if constexpr (detail::shape_of_step<Step, State>().stops) return more;
    }
    /// Called by executors, once before each loop.
    void begin(detail::loop_begins loop) const {
      if (loop.steps >= 0) each([&](auto const& jump) { jump.check_loop(loop.steps); });
      detail::begin_loop(inner, loop);
    }

   private:
    template <class F>
    void each(F f) const {
      std::apply([&](auto const&... jump) { (f(jump), ...); }, jumps);
    }
  };

  struct backward {
    mutable std::remove_const_t<Step> inner;
    mutable std::remove_const_t<Adjoint> back;
    jumps_type jumps;
    mutable detail::cached_object memory;

    template <class State, class Bar>
    static constexpr adjoint_form form = detail::shape_of_adjoint<Adjoint, State, Bar>().form;
    template <class State, class Bar>
      requires(copied_state<State> && form<State, Bar> == adjoint_form::one_step)
    void operator()(State const& x, Bar& bar, step_index i) const { reverse(x, bar, i, i + 1); }
    template <class State, class Bar>
      requires(copied_state<State> && form<State, Bar> == adjoint_form::leaf)
    void operator()(State const& x, Bar& bar, step_index first, step_index last) const { reverse(x, bar, first, last); }
    template <class State, class Bar>
      requires(saved_state<State> && form<State, Bar> == adjoint_form::one_step)
    void operator()(State& x, Bar& bar, step_index i) const { reverse(x, bar, i, i + 1); }
    template <class State, class Bar>
      requires(saved_state<State> && form<State, Bar> == adjoint_form::leaf)
    void operator()(State& x, Bar& bar, step_index first, step_index last) const { reverse(x, bar, first, last); }
    template <class State>
      requires(saved_state<State> && form<State, library_bar> == adjoint_form::one_step)
    void operator()(State& x, step_index i) const {
      library_bar bar;
      reverse(x, bar, i, i + 1);
    }
    template <class State>
      requires(saved_state<State> && form<State, library_bar> == adjoint_form::leaf)
    void operator()(State& x, step_index first, step_index last) const {
      library_bar bar;
      reverse(x, bar, first, last);
    }

   private:
    template <class X, class Bar>
    void reverse(X& x, Bar& bar, step_index first, step_index last) const {
      using State = std::remove_const_t<X>;
      auto& trail = memory.get<detail::jump_trail<State>>();
      trail.begin(x);
      walk(trail, first, last);
      for (std::size_t k = trail.size(); k-- > 0;) {
        auto const& mark = trail[k];
        auto& at = trail.back_at(mark);
        if (mark.jump == trail.of_steps) reverse_steps(at, bar, mark.from, mark.to);
        else pick(mark.jump, [&](auto const& jump) { jump.reverse(at, bar, mark.from); });
      }
    }
    /// Notes the jumps and runs of steps from `first` to `last`; runs no step after the last jump.
    template <class State>
    void walk(detail::jump_trail<State>& trail, step_index first, step_index last) const {
      bool open = false;  // a run of steps is in progress: the last entry is its start
      step_index i = first;
      for (;;) {
        each([&](auto const& jump, std::size_t k) {
          if (!jump.due_before(trail.here(), i)) return;
          trail.note(k, i);
          jump.run(trail.live(), i);
          open = false;
        });
        step_index const end = next_check(i, last);
        if (!std::exchange(open, true)) trail.note(trail.of_steps, i, end > last);
        trail[trail.size() - 1].to = end <= last ? end : last;
        if (end > last) return;
        for (; i < end; ++i) detail::move_on(inner, trail.live(), i);
        each([&](auto const& jump, std::size_t k) {
          if (!jump.due_after(end - 1)) return;
          trail.note(k, end - 1);
          jump.run(trail.live(), end - 1);
          open = false;
        });
        if (end == last) return;
      }
    }
    /// The next state in (i, last) before whose step a jump may be due, or in (i, last] after whose step one is due;
    /// more than `last` if there is none.
    [[nodiscard]] step_index next_check(step_index i, step_index last) const {
      step_index found = last + 1;
      each([&](auto const& jump, std::size_t) {
        step_index const next = jump.next(i, last + 1);
        if (next < found && (next < last || (next == last && jump.due_after(last - 1)))) found = next;
      });
      return found;
    }
    template <class X, class Bar>
    void reverse_steps(X& x, Bar& bar, step_index const from, step_index const to) const {
      constexpr auto shape = detail::shape_of_adjoint<Adjoint, std::remove_const_t<X>, Bar>();
      if constexpr (shape.form == adjoint_form::leaf) detail::pull_back(back, bar, x, bar, from, to);
      else detail::pull_back_step<shape.indexed>(back, bar, x, from);
    }
    template <class F>
    void each(F f) const {
      std::size_t k = 0;
      std::apply([&](auto const&... jump) { (f(jump, k++), ...); }, jumps);
    }
    template <class F>
    void pick(std::size_t which, F f) const {
      each([&](auto const& jump, std::size_t k) { if (k == which) f(jump); });
    }
  };

 public:
  /// \param inner  the step between jumps   \param back  its adjoint
  /// \param jumps  of `jump_at`, `jump_after`, `jump_when`
  explicit with_jumps(Step inner, Adjoint back, Jump... jumps)
      : step{inner, jumps_type{jumps...}}, adjoint{inner, back, jumps_type{jumps...}, {}} {}
  forward step;  ///< the step with its jumps
  backward adjoint;  ///< the adjoint of that step
};

}  // namespace cairn
