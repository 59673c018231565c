// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file jumps.hpp  Events of a loop: the state jumps at a given step, or when a condition holds.
#include <cstddef>
#include <optional>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>
#include <cairn/core/detail/compiler.hpp>
#include <cairn/core/detail/kept_as.hpp>
#include <cairn/core/detail/lesser.hpp>
#include <cairn/core/detail/signature.hpp>
#include <cairn/core/detail/user_values.hpp>
#include <cairn/core/error.hpp>
#include <cairn/core/forms.hpp>
#include <cairn/core/state_traits.hpp>
#include <cairn/run/detail/cached_object.hpp>
#include <cairn/run/detail/plans_inside.hpp>
#include <cairn/run/detail/reversal.hpp>
#include <cairn/run/detail/with_params.hpp>

namespace cairn {
namespace detail {

/// `f(x, x1, i)`, which writes all of x1: the one place from which a loop with jumps calls such a step.
template <class Fn, class State>
[[gnu::noinline]] void move_to(Fn& f, State const& x, State& x1, step_index const i) {
  if constexpr (shape_of_step<Fn, State>().indexed) call_lending(f, x, x1, i);
  else call_lending(f, x, x1);
}
/// Advances x by a step or a jump. Forward and backward sweep call the same instantiation, and so the same machine
/// code: see call.hpp. Returns the step's result if the step may end its loop.
template <class Fn, class State>
[[gnu::noinline]] auto move_on(Fn& f, State& x, step_index const i)
    -> std::conditional_t<shape_of_step<Fn, State>().stops, bool, void> {
  static constexpr auto shape = shape_of_step<Fn, State>();
  if constexpr (shape.form == step_form::by_value) {
    if constexpr (shape.indexed) x = call_lending(f, std::as_const(x), i);
    else x = call_lending(f, std::as_const(x));
  } else {
    if constexpr (shape.indexed) return f(x, i);
    else return f(x);
  }
}

/// The state and the bar of a loop, if the signatures of step and adjoint name the same ones. Void if these are
/// templates, or take types to which a state converts.
template <class Step, class Adjoint, class OfStep, class OfAdjoint>
struct told_types {
  using state = void;
  using bar = void;
};
template <class Step, class Adjoint, class State, class... After, class Input, class Bar, class... Behind>
  requires(state<State> && copied_state<Bar> && std::is_same_v<std::remove_cvref_t<Input>, State> &&
           (shape_of_adjoint<Adjoint, State, Bar>().form == adjoint_form::one_step ||
            shape_of_adjoint<Adjoint, State, Bar>().form == adjoint_form::leaf))
struct told_types<Step, Adjoint, arguments<State&, After...>, arguments<Input, Bar&, Behind...>> {
  using state = State;
  using bar = Bar;
};
template <class Step, class Adjoint>
using told_by = told_types<Step, Adjoint, typename decltype(parameters_of<Step>())::type,
                           typename decltype(parameters_of<Adjoint>())::type>;

/// What all jumps have: the map of the state, and its adjoint. In a loop with parameters each may take them.
template <class KeptJump, class KeptAdjoint>
struct jump_maps {
  using Jump = std::remove_reference_t<KeptJump>;
  using Adjoint = std::remove_reference_t<KeptAdjoint>;
  kept_callable<KeptJump> jump;
  kept_callable<KeptAdjoint> adjoint;

  template <class State>
  static consteval bool check_jump() {
    constexpr auto shape = shape_of_step<Jump, State>();
    constexpr bool jumps =
        (shape.form == step_form::in_place || shape.form == step_form::by_value) && !shape.stops;
    static_assert(jumps,
                  "cairn: a jump must be `jump(x)` or `jump(x, i)`, which changes x or returns the new state; with "
                  "cairn::wrt it may take p before i");
    return jumps;
  }
  template <class State, class Bar>
  static consteval bool check_adjoint() {
    constexpr bool reverses = shape_of_adjoint<Adjoint, State, Bar>().form == adjoint_form::one_step;
    static_assert(reverses,
                  "cairn: the adjoint of a jump must be `adjoint(x, bar)` or `adjoint(x, bar, i)`, where x is the "
                  "state before the jump; with cairn::wrt it may take p and dp before i");
    return reverses;
  }

  /// Whether the map can be called in a loop with parameters, and its adjoint.
  template <class State, class Params>
  static consteval bool jump_fits() {
    constexpr auto with = shape_of_step_with<Jump, State, Params>(), without = shape_of_step<Jump, State>();
    if constexpr (with.wrong == fault::none) return with.form != step_form::out_of_place && !with.stops;
    else return without.wrong == fault::none && without.form != step_form::out_of_place && !without.stops;
  }
  template <class State, class Bar, class Params, class DP>
  static consteval bool adjoint_fits() {
    if constexpr (constexpr auto with = shape_of_adjoint_with<Adjoint, State, Bar, Params, DP>();
                  with.wrong == fault::none)
      return with.form == adjoint_form::one_step;
    else return shape_of_adjoint<Adjoint, State, Bar>().form == adjoint_form::one_step;
  }

  template <class State>
  void run(State& x, step_index i) const {
    if constexpr (check_jump<State>()) move_on(*jump, x, i);
  }
  /// \param x  the state before the jump
  template <class Input, class Bar>
  void reverse(Input& x, Bar& bar, step_index const i) const {
    using State = std::remove_const_t<Input>;
    if constexpr (!check_adjoint<State, Bar>()) return;
    else pull_back_step<shape_of_adjoint<Adjoint, State, Bar>().indexed>(*adjoint, bar, x, i);
  }

 protected:
  template <class State, class Params>
  [[nodiscard]] decltype(auto) bound_jump([[maybe_unused]] Params const& p) const {
    if constexpr (shape_of_step_with<Jump, State, Params>().wrong == fault::none) return bind_step<State>(*jump, p);
    else return *jump;
  }
  template <class State, class Bar, class Params, class DP>
  [[nodiscard]] decltype(auto) bound_adjoint([[maybe_unused]] Params const& p, [[maybe_unused]] DP& dp) const {
    if constexpr (shape_of_adjoint_with<Adjoint, State, Bar, Params, DP>().wrong == fault::none)
      return bind_adjoint<State, Bar>(*adjoint, p, dp);
    else return *adjoint;
  }
};

/// A jump before or after one step.
template <class Jump, class Adjoint>
struct jump_of_step : jump_maps<Jump, Adjoint> {
  step_index step = 0;
  bool after = false;

  template <class State, class Params>
  static consteval bool fits() { return jump_of_step::template jump_fits<State, Params>(); }
  /// For the step of a loop with parameters.
  template <class State, class Params>
  [[nodiscard]] auto with_params(Params const& p) const {
    using bound = decltype(this->template bound_jump<State>(p));
    return jump_of_step<bound, std::remove_reference_t<Adjoint>&>{
        {this->template bound_jump<State>(p), *this->adjoint}, step, after};
  }
  /// For its adjoint.
  template <class State, class Bar, class Params, class DP>
  [[nodiscard]] auto with_params(Params const& p, DP& dp) const {
    using bound = decltype(this->template bound_jump<State>(p));
    using back = decltype(this->template bound_adjoint<State, Bar>(p, dp));
    return jump_of_step<bound, back>{
        {this->template bound_jump<State>(p), this->template bound_adjoint<State, Bar>(p, dp)}, step, after};
  }

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

/// A condition `condition(x, p[, i])`, called without p.
template <class Fn, class Params>
struct condition_with_params {
  Fn& condition;
  Params const& p;

  template <class State>
  using reads = reads_before<Fn, arguments<State const&>, Params const&>;
  template <class State>
  static constexpr bool indexed = reads<State>::template before<step_index const&> &&
                                  !narrows<Fn, Params, arguments<State const&>, step_index>;
  template <class State>
  static constexpr bool takes = indexed<State> || (reads<State>::template before<> &&
                                                   !narrows<Fn, Params, arguments<State const&>>);
  template <class State>
  static consteval bool fits() {
    if constexpr (takes<State>) {
      using answer = decltype(std::declval<condition_with_params const&>()(std::declval<State const&>(), step_index{}));
      return std::is_same_v<std::remove_cvref_t<answer>, bool>;
    } else return calls<Fn, State const&, step_index const&> || calls<Fn, State const&>;
  }
  template <class State>
  decltype(auto) operator()(State const& x, step_index const& i) const {
    if constexpr (indexed<State>) return call_lending(condition, x, p, i);
    else return call_lending(condition, x, p);
  }
};
template <class Fn, class... Args>
concept returns_bool = calls<Fn, Args...> && std::is_same_v<std::remove_cvref_t<call_result<Fn, Args...>>, bool>;
/// A jump before every step at which a condition holds.
template <class KeptCondition, class Jump, class Adjoint>
struct jump_on_condition : jump_maps<Jump, Adjoint> {
  using Condition = std::remove_reference_t<KeptCondition>;
  kept_callable<KeptCondition> condition;

  template <class State, class Params>
  static consteval bool fits() {
    return jump_on_condition::template jump_fits<State, Params>() &&
           condition_with_params<Condition, Params>::template fits<State>();
  }
  template <class State, class Params>
  [[nodiscard]] auto with_params(Params const& p) const {
    using bound = decltype(this->template bound_jump<State>(p));
    using asked = decltype(bound_condition<State>(p));
    return jump_on_condition<asked, bound, std::remove_reference_t<Adjoint>&>{
        {this->template bound_jump<State>(p), *this->adjoint}, bound_condition<State>(p)};
  }
  template <class State, class Bar, class Params, class DP>
  [[nodiscard]] auto with_params(Params const& p, DP& dp) const {
    using bound = decltype(this->template bound_jump<State>(p));
    using back = decltype(this->template bound_adjoint<State, Bar>(p, dp));
    using asked = decltype(bound_condition<State>(p));
    return jump_on_condition<asked, bound, back>{
        {this->template bound_jump<State>(p), this->template bound_adjoint<State, Bar>(p, dp)},
        bound_condition<State>(p)};
  }

  template <class State>
  static constexpr bool indexed = calls<Condition, State const&, step_index const&>;
  template <class State>
  static consteval bool check_condition() {
    constexpr bool answers = indexed<State> ? returns_bool<Condition, State const&, step_index const&>
                                            : returns_bool<Condition, State const&>;
    static_assert(answers,
                  "cairn: the condition of a jump must be `condition(x)` or `condition(x, i)`, with x const&, and "
                  "return bool; with cairn::wrt it may take p before i");
    return answers;
  }

  template <class State>
  [[nodiscard]] bool due_before(State const& x, step_index const i) const {
    if constexpr (!check_condition<State>()) return false;
    else if constexpr (indexed<State>) return call_lending(*condition, x, i);
    else return call_lending(*condition, x);
  }
  [[nodiscard]] static constexpr bool due_after(step_index) noexcept { return false; }
  [[nodiscard]] static constexpr step_index next(step_index i, step_index) noexcept { return i + 1; }
  static constexpr void check_loop(step_index) noexcept {}

 private:
  template <class State, class Params>
  [[nodiscard]] decltype(auto) bound_condition([[maybe_unused]] Params const& p) const {
    using with = condition_with_params<Condition, Params>;
    if constexpr (with::template takes<State>) return with{*condition, p};
    else return *condition;
  }
};

template <class State, class Params, class... Jump>
[[nodiscard]] auto jumps_with_params(std::tuple<Jump...> const& jumps, Params const& p) {
  return std::apply(
      [&](auto const&... jump) { return std::tuple<decltype(jump.template with_params<State>(p))...>{
                                     jump.template with_params<State>(p)...}; },
      jumps);
}
template <class State, class Bar, class Params, class DP, class... Jump>
[[nodiscard]] auto jumps_with_params(std::tuple<Jump...> const& jumps, Params const& p, DP& dp) {
  return std::apply(
      [&](auto const&... jump) { return std::tuple<decltype(jump.template with_params<State, Bar>(p, dp))...>{
                                     jump.template with_params<State, Bar>(p, dp)...}; },
      jumps);
}
/// A class with the types of jumps in a tuple: `Of<First..., Jump...>`.
template <template <class...> class Of, class Jumps, class... First> struct over_jumps;
template <template <class...> class Of, class... Jump, class... First>
struct over_jumps<Of, std::tuple<Jump...>, First...> { using type = Of<First..., Jump...>; };

/// Checked when a loop with jumps is made, if the signatures of its step and adjoint name their types; otherwise in the
/// sweep.
template <class Jump, class State, class Bar>
consteval void check_jump_early() {
  if constexpr (!std::is_void_v<State>)
    if constexpr (Jump::template check_jump<State>())
      if constexpr (Jump::template check_adjoint<State, Bar>())
        if constexpr (requires { Jump::template check_condition<State>(); })
          (void)Jump::template check_condition<State>();
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
    else if (ends) made.x = address_of(*live_);
    else put(made.stored, *live_);
  }
  /// Runs step i on the present state.
  template <class Step>
  void run(Step& step, step_index i) {
    if constexpr (shape_of_step<Step, State>().form == step_form::out_of_place) {
      put(next_, here());  // a state of the same shape; what it holds is not read
      move_to(step, here(), *next_, i);
      moved_ = true;
      using std::swap;
      swap(live_, next_);
    } else move_on(step, live(), i);
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
  std::optional<State> live_, next_;
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
  template <class Step>
  void run(Step& step, step_index i) { move_on(step, live(), i); }
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

/// A jump that was made while a step was recorded, and the state before it.
template <class State>
struct jump_of_tape {
  State before;
  std::size_t jump = 0;
  bool after = false;  // after the step
};
/// The tape of a step with its jumps.
template <class State, class Tape>
struct jump_tape {
  using state = State;
  using inner_tape = Tape;
  Tape of_step;
  std::vector<jump_of_tape<State>> made;
  step_index step = 0;
};
/// `tape = record(x, i)` with the jumps of step i.
template <class Kept, class... Jump>
struct jumps_record {
  static constexpr bool copies = true;  // states
  using Record = std::remove_reference_t<Kept>;
  kept_callable<Kept> inner;
  std::tuple<Jump...> jumps;

  template <class State, class Params>
  static consteval bool record_with() { return copied_state<State> && record_takes<Record, State, Params>(); }
  template <class State, class Params>
  auto with_params(Params const& p) const {
    auto bound = bind_record<State>(*inner, p);
    auto all = jumps_with_params<State>(jumps, p);
    return typename over_jumps<cairn::detail::jumps_record, decltype(all), decltype(bound)>::type{
        bound, std::move(all)};
  }

  template <class State>
    requires(copied_state<State> && (calls<Record, State&, step_index> || calls<Record, State&>))
  auto operator()(State& x, step_index const i) const {
    std::vector<jump_of_tape<State>> made;
    auto const make = [&](bool after, auto due) {
      std::size_t k = 0;
      auto const one = [&](auto const& jump) {
        if (due(jump)) {
          made.push_back({copy_of(std::as_const(x)), k, after});
          jump.run(x, i);
        }
        ++k;
      };
      std::apply([&](auto const&... jump) { (one(jump), ...); }, jumps);
    };
    make(false, [&](auto const& jump) { return jump.due_before(std::as_const(x), i); });
    using inner_tape = std::remove_cvref_t<decltype(record_step(*inner, x, i))>;
    jump_tape<State, inner_tape> tape{
        taken_from([&]() -> decltype(auto) { return record_step(*inner, x, i); }), {}, i};
    make(true, [&](auto const& jump) { return jump.due_after(i); });
    tape.made = std::move(made);
    return tape;
  }
};
/// `reverse(tape, bar, i)` of such a tape.
template <class Kept, class... Jump>
struct jumps_reverse {
  using Reverse = std::remove_reference_t<Kept>;
  kept_callable<Kept> inner;
  std::tuple<Jump...> jumps;

  template <class Tape, class Bar, class Params, class DP>
  static consteval bool reverse_with() {
    if constexpr (!requires { typename Tape::inner_tape; }) return false;
    else return reverse_takes<Reverse, typename Tape::inner_tape, Bar, Params, DP>();
  }
  template <class Tape, class Bar, class Params, class DP>
  auto with_params(Params const& p, DP& dp) const {
    auto bound = bind_reverse<typename Tape::inner_tape, Bar>(*inner, p, dp);
    auto all = jumps_with_params<typename Tape::state, Bar>(jumps, p, dp);
    return typename over_jumps<cairn::detail::jumps_reverse, decltype(all), decltype(bound)>::type{
        bound, std::move(all)};
  }

  template <class State, class Tape, class Bar>
    requires(calls_with_index<Reverse, Tape&, Bar&> || calls<Reverse, Tape&, Bar&>)
  void operator()(jump_tape<State, Tape>& tape, Bar& bar, step_index const i) const {
    std::size_t k = tape.made.size();
    for (; k > 0 && tape.made[k - 1].after; --k) undo(tape.made[k - 1], bar, i);
    pull_back_step<calls_with_index<Reverse, Tape&, Bar&>>(*inner, bar, tape.of_step, i);
    for (; k > 0; --k) undo(tape.made[k - 1], bar, i);
  }

 private:
  template <class State, class Bar>
  void undo(jump_of_tape<State> const& made, Bar& bar, step_index const i) const {
    std::size_t k = 0;
    auto const one = [&](auto const& jump) {
      if (k++ == made.jump) jump.reverse(made.before, bar, i);
    };
    std::apply([&](auto const&... jump) { (one(jump), ...); }, jumps);
  }
};
/// `x1 = restart(tape)` of such a tape.
template <class Kept, class... Jump>
struct jumps_restart {
  kept_callable<Kept> inner;
  std::tuple<Jump...> jumps;

  template <class State, class Params>
  static consteval bool record_with() { return true; }
  template <class State, class Params>
  auto with_params(Params const& p) const {
    auto all = jumps_with_params<State>(jumps, p);
    return typename over_jumps<cairn::detail::jumps_restart, decltype(all), std::remove_reference_t<Kept>&>::type{
        *inner, std::move(all)};
  }

  template <class State, class Tape>
  State operator()(jump_tape<State, Tape> const& tape) const {
    State x = copy_of(static_cast<State const&>((*inner)(tape.of_step)));
    auto const one = [&](auto const& jump) {
      if (jump.due_after(tape.step)) jump.run(x, tape.step);
    };
    std::apply([&](auto const&... jump) { (one(jump), ...); }, jumps);
    return x;
  }
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

  /// The same with the parameters of the loop; see `binds_step`.
  template <class State, class Params>
  static consteval step_shape step_with() {
    constexpr auto read = shape_of_step_with<inner_step, State, Params>();
    if constexpr (read.wrong != fault::none) return read;
    else if constexpr (!(Jump::template fits<State, Params>() && ...)) return no_step(fault::part);
    else
      return {read.form == step_form::out_of_place ? read.form : step_form::in_place, true, read.stops, fault::none};
  }
  template <class State, class Params>
  auto with_params(Params const& p) const {
    auto bound = bind_step<State>(*inner, p);
    auto all = jumps_with_params<State>(jumps, p);
    return typename over_jumps<cairn::detail::jumps_step, decltype(all), decltype(bound)>::type{
        bound, std::move(all), lent_object{&memory}};
  }

  template <class State>
    requires(shape_on<State>.form == step_form::in_place || shape_on<State>.form == step_form::by_value)
  auto operator()(State& x, step_index i) const -> std::conditional_t<shape_on<State>.stops, bool, void> {
    before(x, i);
    if constexpr (shape_on<State>.stops) {
      bool const more = move_on(*inner, x, i);
      after(x, i);
      return more;
    } else {
      move_on(*inner, x, i);
      after(x, i);
    }
  }
  template <class State>
    requires(shape_on<State>.form == step_form::out_of_place)
  void operator()(State const& x, State& x1, step_index i) const {
    bool due = false;
    each([&](auto const& jump) { due = due || jump.due_before(x, i); });
    if (!due) move_to(*inner, x, x1, i);
    else {
      auto& jumped = memory.object().get<std::optional<State>>();
      if (jumped) copy_state(x, *jumped);
      else emplace_by(jumped, [&] { return copy_of(x); });
      before(*jumped, i);
      move_to(*inner, std::as_const(*jumped), x1, i);
    }
    after(x1, i);
  }
  /// Called by executors, once before each loop.
  void begin(loop_begins loop) const {
    if (loop.steps >= 0) each([&](auto const& jump) { jump.check_loop(loop.steps); });
    begin_loop(*inner, loop);
  }

 private:
  template <class State>
  void before(State& x, step_index i) const {
    each([&](auto const& jump) { if (jump.due_before(std::as_const(x), i)) jump.run(x, i); });
  }
  template <class State>
  void after(State& x, step_index i) const {
    each([&](auto const& jump) { if (jump.due_after(i)) jump.run(x, i); });
  }
  template <class Fn>
  void each(Fn f) const {
    std::apply([&](auto const&... jump) { (f(jump), ...); }, jumps);
  }
};

/// The adjoint of that step, unless it records.
template <class Step, class Adjoint, class... Jump>
struct jumps_adjoint {
  using inner_step = std::remove_reference_t<Step>;
  using inner_back = std::remove_reference_t<Adjoint>;
  using jumps_type = std::tuple<Jump...>;
  kept_callable<Step> inner;
  kept_callable<Adjoint> back;
  jumps_type jumps;
  mutable lent_object memory;

  template <class State, class Bar, class Params, class DP>
  static consteval adjoint_shape adjoint_with() {
    constexpr auto read = shape_of_adjoint_with<inner_back, State, Bar, Params, DP>();
    if constexpr (read.form == adjoint_form::none) return read;
    else if constexpr (!(Jump::template adjoint_fits<State, Bar, Params, DP>() && ...)) return no_adjoint(fault::part);
    else return {read.form, true, false, false, false, fault::none};
  }
  template <class State, class Bar, class Params, class DP>
  auto with_params(Params const& p, DP& dp) const {
    auto step = bind_step<State>(*inner, p);
    auto bound = bind_adjoint<State, Bar>(*back, p, dp);
    auto all = jumps_with_params<State, Bar>(jumps, p, dp);
    return typename over_jumps<cairn::detail::jumps_adjoint, decltype(all), decltype(step), decltype(bound)>::type{
        step, bound, std::move(all), lent_object{&memory}};
  }

  template <class State, class Bar>
  void check_plans() const { check_plans_inside<State, Bar>(*back); }

  template <class State, class Bar>
  static constexpr adjoint_form form = shape_of_adjoint<inner_back, State, Bar>().form;
  template <class State, class Bar>
    requires(copied_state<State> && form<State, Bar> == adjoint_form::one_step)
  void operator()(State const& x, Bar& bar, step_index i) const { reverse(x, bar, i, i + 1); }
  template <class State, class Bar>
    requires(copied_state<State> && form<State, Bar> == adjoint_form::leaf)
  void operator()(State const& x, Bar& bar, step_index first, step_index last) const { reverse(x, bar, first, last); }
  template <class State, class Bar>
    requires(copied_state<State> && form<State, Bar> == adjoint_form::with_next)
  void operator()(State const& x, State const& x1, Bar& bar, step_index i) const { reverse(x, bar, i, i + 1, x1); }
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
  /// \param next  the state after the last step and its jumps, for adjoints that take x1
  template <class Input, class Bar, class... Next>
  void reverse(Input& x, Bar& bar, step_index first, step_index last, Next const&... next) const {
    using State = std::remove_const_t<Input>;
    auto& trail = memory.object().get<jump_trail<State>>();
    trail.begin(x);
    walk(trail, first, last);
    State const* x1 = nullptr;
    if constexpr (sizeof...(Next) > 0) (x1 = ... = address_of(next));
    for (std::size_t k = trail.size(); k-- > 0;) {
      auto const& mark = trail[k];
      auto& at = trail.back_at(mark);
      if (mark.jump == trail.of_steps) reverse_steps(at, bar, mark.from, mark.to, x1);
      else pick(mark.jump, [&](auto const& jump) { jump.reverse(at, bar, mark.from); });
      x1 = address_of(std::as_const(at));
    }
  }
  /// Notes the jumps and runs of steps from `first` to `last`; runs no step after the last jump.
  template <class State>
  void walk(jump_trail<State>& trail, step_index first, step_index last) const {
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
      trail[trail.size() - 1].to = lesser(end, last);
      if (end > last) return;
      for (; i < end; ++i) trail.run(*inner, i);
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
  template <class Input, class Bar>
  void reverse_steps(Input& x, Bar& bar, step_index const from, step_index const to,
                     [[maybe_unused]] std::remove_const_t<Input> const* x1) const {
    constexpr auto shape = shape_of_adjoint<inner_back, std::remove_const_t<Input>, Bar>();
    if constexpr (shape.form == adjoint_form::leaf) pull_back(*back, bar, x, bar, from, to);
    else if constexpr (shape.form == adjoint_form::with_next) pull_back(*back, bar, x, *x1, bar, from);
    else pull_back_step<shape.indexed>(*back, bar, x, from);
  }
  template <class Fn>
  void each(Fn f) const {
    std::size_t k = 0;
    std::apply([&](auto const&... jump) { (f(jump, k++), ...); }, jumps);
  }
  template <class Fn>
  void pick(std::size_t which, Fn f) const {
    each([&](auto const& jump, std::size_t k) { if (k == which) f(jump); });
  }
};

}  // namespace detail

/// A jump of state i before step i: `x = jump(x[, i])`, in place or by value. An argument of `with_jumps`.
/// \param adjoint  `adjoint(x, bar[, i])`, in place or by value: x is the state before the jump; bar belongs to the
///   state after the jump before the call, and to the state before the jump after the call
/// \throws invalid_call   if i < 0
template <class Jump, class Adjoint>
[[nodiscard]] auto jump_at(step_index i, Jump&& jump, Adjoint&& adjoint) {
  detail::jump_of_step<detail::kept_as<Jump>, detail::kept_as<Adjoint>> made{
      {std::forward<Jump>(jump), std::forward<Adjoint>(adjoint)}, i, false};
  made.check("cairn::jump_at");
  return made;
}
/// A jump after step i, before anything else uses state i + 1; for i = n - 1 a jump of the final state. Its adjoint
/// runs step i once more.
template <class Jump, class Adjoint>
[[nodiscard]] auto jump_after(step_index i, Jump&& jump, Adjoint&& adjoint) {
  detail::jump_of_step<detail::kept_as<Jump>, detail::kept_as<Adjoint>> made{
      {std::forward<Jump>(jump), std::forward<Adjoint>(adjoint)}, i, true};
  made.check("cairn::jump_after");
  return made;
}
/// A jump before every step i at which `condition(x)` or `condition(x, i)` is true for state i. The condition is not
/// evaluated for the final state, which no step follows.
template <class Condition, class Jump, class Adjoint>
[[nodiscard]] auto jump_when(Condition&& condition, Jump&& jump, Adjoint&& adjoint) {
  return detail::jump_on_condition<detail::kept_as<Condition>, detail::kept_as<Jump>, detail::kept_as<Adjoint>>{
      {std::forward<Jump>(jump), std::forward<Adjoint>(adjoint)}, std::forward<Condition>(condition)};
}

/// A loop whose state jumps at some of its steps: a ball bounces, a dose is given, data are assimilated. `step` and
/// `adjoint` are those of the loop with its jumps, for any verb and plan; several jumps at one step are made in the
/// order given. Lvalues are kept by reference, see `hooked`; of an rvalue step both members have a copy.
///
/// The inner step has any form; the step with jumps is out of place like it, or else in place, and may return bool for
/// `checkpointed_while`. So has the inner adjoint: `(x, bar, i)`; `(x, x1, bar, i)`, where x1 is the state after the step
/// and before its `jump_after`; `recorded`, whose tapes get the states before jumps, for states that can be copied; or
/// `(x, bar, first, last)`, which is called for each run of steps between two jumps. If a library holds bar, no adjoint
/// takes one. Checkpoints, hooks and `keep_going` see state i before the jumps of `jump_at(i)` and `jump_when`, and
/// after those of `jump_after(i - 1)`.
///
/// A step without a jump costs nothing extra. The adjoint of a step with jumps runs these jumps once more, on copies of
/// the state whose memory is reused: one copy, and one more for each further jump; `jump_after` also runs its step
/// again. An object that cannot be copied makes the jumps itself, and is restored from as many snapshots when an
/// adjoint needs it. In a leaf the steps before its last jump run once more (with `jump_when` all but the last), and so
/// do the jumps. Plans do not count these copies, snapshots and runs.
///
/// In a verb with `wrt` the inner step and adjoint take p and dp before the index, and a jump, its adjoint and its
/// condition may take them.
///
/// Jumps at fixed steps are differentiated exactly. For a condition on the state the derivative is that of the branch
/// taken: the step at which the condition becomes true is a whole number and has no derivative. To differentiate the
/// time of an event, too (saltation), find that time as a root inside the step, as a part of it.
/// \throws invalid_call   before any step runs, if a jump is at no step of a loop of known length
template <class Step, class Adjoint, class... Jump>
class with_jumps {
  using jumps_type = std::tuple<Jump...>;
  using inner_step = std::remove_reference_t<Step>;
  using inner_back = std::remove_reference_t<Adjoint>;
  using told = detail::told_by<std::remove_const_t<inner_step>, std::remove_const_t<inner_back>>;
  using checked = std::bool_constant<
      (detail::check_jump_early<Jump, typename told::state, typename told::bar>(), ..., true)>;
  using forward = detail::jumps_step<Step, Jump...>;
  using backward = detail::jumps_adjoint<Step, Adjoint, Jump...>;

  /// The adjoint if the inner one records.
  struct taped {
    template <class Given>
    using record = detail::jumps_record<detail::kept_as<decltype((std::declval<Given>().record))>, Jump...>;
    template <class Given>
    using reverse = detail::jumps_reverse<detail::kept_as<decltype((std::declval<Given>().reverse))>, Jump...>;
    template <class Given>
    using restart = detail::jumps_restart<detail::kept_as<decltype((std::declval<Given>().restart))>, Jump...>;
    template <class Arg>
    [[nodiscard]] static auto of(Arg&& back, jumps_type const& jumps) {
      record<Adjoint> first{std::forward<Arg>(back).record, jumps};
      reverse<Adjoint> second{std::forward<Arg>(back).reverse, jumps};
      if constexpr (requires { back.restart; })
        return recorded<record<Adjoint>, reverse<Adjoint>, restart<Adjoint>>{
            std::move(first), std::move(second), {std::forward<Arg>(back).restart, jumps}};
      else return recorded<record<Adjoint>, reverse<Adjoint>>{std::move(first), std::move(second)};
    }
  };
  template <class Arg>
  [[nodiscard]] static auto adjoint_of(inner_step& inner, Arg&& back, jumps_type const& jumps) {
    if constexpr (detail::recorder<inner_back>) return taped::of(std::forward<Arg>(back), jumps);
    else
      return backward{
          detail::kept_callable<Step>{inner}, detail::kept_callable<Adjoint>{std::forward<Arg>(back)}, jumps, {}};
  }
  using adjoint_type = decltype(adjoint_of(std::declval<inner_step&>(), std::declval<Adjoint>(),
                                           std::declval<jumps_type const&>()));

 public:
  /// \param inner  the step between jumps   \param back  its adjoint
  /// \param jumps  of `jump_at`, `jump_after`, `jump_when`
  template <class StepArg, class AdjointArg>
    requires(std::is_same_v<detail::kept_as<StepArg>, Step> && std::is_same_v<detail::kept_as<AdjointArg>, Adjoint>)
  explicit with_jumps(StepArg&& inner, AdjointArg&& back, Jump... jumps)
      : step{inner, jumps_type{jumps...}, {}},
        adjoint(adjoint_of(*step.inner, std::forward<AdjointArg>(back), jumps_type{jumps...})) {}
  forward step;  ///< the step with its jumps
  adjoint_type adjoint;  ///< the adjoint of that step
};
/// Deduces how the callables are kept.
template <class Step, class Adjoint, class... Jump>
with_jumps(Step&&, Adjoint&&, Jump...) -> with_jumps<detail::kept_as<Step>, detail::kept_as<Adjoint>, Jump...>;

}  // namespace cairn
