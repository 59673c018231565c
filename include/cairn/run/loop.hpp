// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file loop.hpp  A loop that has run forward and can be reversed, once or repeatedly.
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>
#include <vector>
#include <cairn/core/detail/compiler.hpp>
#include <cairn/core/detail/in_use.hpp>
#include <cairn/door/detail/adjoint_checks.hpp>
#include <cairn/run/form/detail/plans_inside.hpp>
#include <cairn/run/form/detail/refused_run.hpp>
#include <cairn/run/gradient.hpp>
#include <cairn/run/sweep/checkpoint_view.hpp>
#include <cairn/run/sweep/detail/advanced_copy.hpp>
#include <cairn/run/sweep/detail/end_hash.hpp>
#include <cairn/run/sweep/detail/maybe.hpp>

namespace cairn {
namespace detail {

/// The forward half of a loop that a plan covers completely.
template <class Limit>
struct forward_by_plan {
  Limit limit;  ///< of a budget
  static constexpr char const* operation = "cairn::checkpointed_loop";
  static constexpr bool knows_length = true;
  template <class State, class Sweep, class Step, class Observer>
  void run(Sweep& sweep, Step& step, Observer& observer) const {
    turn_only<Step> user{step};
    sweep.run_plan(step, user, observer);
  }
  /// The same from a state that another process has left.
  template <class State, class Sweep, class X0, class Plan, class Step, class Observer>
  void go_on(Sweep& sweep, X0& x0, Plan const& plan, sweep_form form, Step& step, Observer& observer) const {
    sweep.begin_again(x0, plan, {plan.steps(), 0, false}, form);
    sweep.bring_live(step);
    turn_only<Step> user{step};
    sweep.template run_plan<true>(step, user, observer);
  }
};

}  // namespace detail

/// A loop that has run forward. Exceptions of user code pass through, and the object remains usable: the next call
/// recomputes what is missing. The first `reverse` or walk backwards calls the step no more often than the plan says;
/// later ones first recompute the states that were dropped. Whatever step and adjoint read besides the state, such as
/// controls, must be the same in the forward run and in every reverse: if it changes in between, the result is the
/// derivative of neither loop.
/// \tparam Wrt  the `wrt` that the loop was given, or none
template <class Step, class State, schedule Plan, class Workspace, class Observer, class Wrt = detail::no_wrt>
class checkpointed_run {
  using work_type = std::remove_reference_t<Workspace>;
  static constexpr bool checked = work_type::checked, on_disk = detail::outlives_process<typename work_type::store_type>;

 public:
  /// Runs the loop; use `checkpointed_loop` or `checkpointed_while`.
  template <class Forward, class StepArg, class X0, class Options, class... WorkArg>
  checkpointed_run(Forward forward, StepArg&& step, X0&& x0, Plan const& plan, Options options, Observer observer,
                   Wrt const& by, WorkArg&&... work)
      : by_{by},
        step_{std::in_place, std::forward<StepArg>(step)},
        observer_{std::in_place, std::forward<Observer>(observer)},
        work_{std::in_place, std::forward<WorkArg>(work)...} {
    if (tapes_of(plan) > 0)
      throw invalid_plan{Forward::operation,
                         "the plan keeps tapes, which needs the adjoint from the start",
                         {{"tapes", tapes_of(plan)}},
                         "use cairn::gradient"};
    detail::sweep run{*work_, Forward::operation, options};
    if constexpr (requires { forward.limit; }) run.keep_within(forward.limit);
    static constexpr sweep_form kept{.step = form, .keeps_run = true};
    detail::params_in::hash(*work_) = by_.hash();
    bool was_there = false;
    if constexpr (on_disk) was_there = goes_on(run, forward, x0, plan, kept);
    if (!was_there) {
      run.begin(*step_, std::forward<X0>(x0), plan, kept, Forward::knows_length);
      forward.template run<State>(run, *step_, *observer_);
    }
    user_ = work_->users_.value;
    if constexpr (on_disk) at_turn(run);
    run.remember_turn(plan);
    by_.check(Forward::operation);
    detail::end_report(*observer_, steps(), work_->slots_, step_calls());
  }

  checkpointed_run(checkpointed_run&&) = default;  ///< takes over another run
  /// Takes over another run; the old one is forgotten. For steps and observers whose own moves do not throw, lambdas
  /// among them.
  checkpointed_run& operator=(checkpointed_run&& other)
    requires(std::is_move_assignable_v<detail::reseated<Step>> && std::is_move_assignable_v<detail::reseated<Observer>>)
  {
    in_sweep_ = std::move(other.in_sweep_);
    bool const kept = other.user_ == other.work_->users_.value;
    by_ = other.by_;
    step_ = std::move(other.step_);
    observer_ = std::move(other.observer_);
    work_ = std::move(other.work_);
    here_ = std::move(other.here_);
    user_ = kept ? work_->users_.value : std::uint64_t(-1);
    ++pass_;  // walks over this run end
    fresh_ = other.fresh_, stained_ = other.stained_;
    return *this;
  }

  [[nodiscard]] step_index steps() const noexcept { return work_->steps_; }  ///< loop length n
  /// The state after the last step; valid as long as the run. For an object this is the object itself, until a reverse
  /// sweep begins; after that only if the options say `at_final`. \throws invalid_call   if the object has moved on
  [[nodiscard]] State const& final_state() const {
    check_mine("cairn::final_state");
    auto const& states = work_->states_;
    if constexpr (saved_state<State>)
      if (!states.is_at_final())
        throw invalid_call{"cairn::final_state",
                           "a backward sweep has moved the object away from the final state",
                           {},
                           "look at it before, or ask for cairn::object_ends::at_final"};
    return states.final_state();
  }
  /// The checkpoints as a map from position to state (for objects, to snapshot), without the initial state. Shows the
  /// present checkpoints: a reverse sweep uses them up.
  [[nodiscard]] checkpoint_view<detail::stored_as<State>> checkpoints() const {
    constexpr bool in_frames = detail::keeps_frames<typename work_type::store_type>;
    static_assert(in_frames, "cairn: checkpoints() needs a store that keeps frames");
    checkpoint_view<detail::stored_as<State>> view;
    if constexpr (in_frames) collect(view.all_);
    return view;
  }
  /// Calls of the step (or of `record`) so far.
  [[nodiscard]] wide step_calls() const noexcept { return work_->step_calls(); }
  /// Phase, action and step of the last exception in user code, if there was one.
  [[nodiscard]] sweep_failure const& failure() const noexcept { return work_->failure(); }

  /// The adjoint of the initial state for a seed value, or for `seed(final_state)`; forms and exceptions as for
  /// `gradient`. Steps that a later call runs to recompute dropped states are not actions of the plan: observers see
  /// them only in step_calls(). For an object, a later call also runs the steps of the turn again, usually one. With
  /// `wrt{p, dp}` the gradient with respect to p is in dp, or in `into`. \throws invalid_plan   before any step runs
  template <class Seed, class Adjoint>
  auto reverse(Seed&& seed, Adjoint&& adjoint) {
    using Bar = detail::bar_type_with<Seed, State, Wrt>;
    if constexpr (!detail::check_adjoint<std::remove_reference_t<Adjoint>, State, Bar, Wrt>())
      return detail::refuse<typename detail::refused_bar<Seed, State>::type>();
    else if constexpr (!detail::is_wrt<Wrt>) {
      if constexpr (on_disk) mine("cairn::reverse").store().reverses_by(adjoint, static_cast<no_params*>(nullptr));
      return reversed<Bar>(std::forward<Seed>(seed), adjoint);
    }
    else return reversed_by<Bar>(std::forward<Seed>(seed), adjoint, by_.gradient());
  }
  /// The same with another place for the gradient with respect to the parameters.
  template <class Seed, class Adjoint, class DP>
  auto reverse(Seed&& seed, Adjoint&& adjoint, DP& into) {
    constexpr bool given = detail::is_wrt<Wrt>;
    static_assert(given,
                  "cairn: this loop has no parameters; give cairn::wrt{p, dp} to cairn::checkpointed_loop, too");
    if constexpr (!given) return detail::refuse<typename detail::refused_bar<Seed, State>::type>();
    else {
      using by = detail::other_gradient<Wrt, DP>;
      using Bar = detail::bar_type_with<Seed, State, by>;
      if constexpr (!detail::check_wrt<by>()) return detail::refuse<typename detail::refused_bar<Seed, State>::type>();
      else if constexpr (!detail::check_adjoint<std::remove_reference_t<Adjoint>, State, Bar, by>())
        return detail::refuse<typename detail::refused_bar<Seed, State>::type>();
      else return reversed_by<Bar>(std::forward<Seed>(seed), adjoint, into);
    }
  }

  /// Refused: the seed is missing.
  template <class Adjoint>
  auto reverse(Adjoint&&) {
    (void)detail::check_seeded<Adjoint>();
    return detail::refuse<typename detail::refused_bar<Adjoint, State>::type>();
  }

  /// State i, recomputed from the nearest state that is still held; takes no frame of the run. For an object, a
  /// snapshot of state i; another snapshot is taken and restored, so that the object does not change.
  /// \throws invalid_call   unless 0 <= i <= steps()
  [[nodiscard]] detail::stored_as<State> at(step_index i) { return state_at(i); }

  /// A state and its number; the reference is valid until the next ++.
  struct visited {
    step_index index;  ///< i
    State const& state;  ///< state i
  };
  /// The end of every walk backwards.
  struct end_of_walk {};
  /// An input iterator over the states, from the last to the first.
  class walk_back {
   public:
    using value_type = visited;  ///< the type that `*` returns
    using difference_type = std::ptrdiff_t;  ///< difference of iterators
    [[nodiscard]] visited operator*() const {  ///< the state at the iterator's position, and its number
      return {i_, run_->state_of_walk(pass_, i_)};
    }
    /// \throws invalid_call   if the run was reversed, or walked again, since this walk began, or the walk has thrown
    walk_back& operator++() {
      if (--i_ >= 0) run_->to_next_reverse(pass_);
      return *this;
    }
    void operator++(int) { ++*this; }  ///< as `++walk`
    [[nodiscard]] bool operator==(end_of_walk) const noexcept { return i_ < 0; }  ///< past state 0

   private:
    friend checkpointed_run;
    explicit walk_back(checkpointed_run& run) : run_{&run}, i_{run.steps()}, pass_{run.pass_} {}
    checkpointed_run* run_;
    step_index i_;
    std::uint64_t pass_;
  };
  /// The result of `backward()`; `begin()` starts a walk.   \tparam Owns  whether it holds the run, a temporary
  template <bool Owns>
  class backward_range {
   public:
    /// Starts a walk; a second walk first recomputes the states that were dropped.
    [[nodiscard]] walk_back begin() {
      if constexpr (Owns) return run_.start_backward();
      else return run_->start_backward();
    }
    [[nodiscard]] end_of_walk end() const noexcept { return {}; }  ///< past state 0

   private:
    friend checkpointed_run;
    using held = std::conditional_t<Owns, checkpointed_run, checkpointed_run*>;
    explicit backward_range(held run) : run_{std::move(run)} {}
    held run_;
  };
  /// x_n, x_(n-1), ... x_0 with their numbers, as an input range; each loop over it is one sweep. \throws invalid_plan
  /// for a plan with leaves
  [[nodiscard]] backward_range<false> backward() & {
    check_backward();
    return backward_range<false>{this};
  }
  /// The same range for a temporary run, which moves into the range: `for (auto [i, x] :
  /// checkpointed_loop(...).backward())`.
  [[nodiscard]] backward_range<true> backward() && {
    check_backward();
    return backward_range<true>{std::move(*this)};
  }

  /// `auto [final_state, checkpoints] = checkpointed_loop(...)`.
  template <std::size_t Place>
  [[nodiscard]] decltype(auto) get() const {
    if constexpr (Place == 0) return final_state();
    else return checkpoints();
  }

 private:
  static constexpr step_form form = detail::shape_of_step<Step, State>().form;

  template <class Bar, class Seed, class Adjoint>
  Bar reversed(Seed&& seed, Adjoint& adjoint) {
    static constexpr auto shape = detail::shape_of_adjoint<Adjoint, State, Bar>();
    (void)detail::check_leaves<Adjoint, shape.form, State, Observer>();
    detail::check_adjoint_fits("cairn::reverse", work_->leaf_, 0, shape.form);
    detail::check_plans_inside<State, Bar>(adjoint);
    detail::met_step const met{detail::function_in(adjoint), detail::function_in(detail::given_in<Step>::step(*step_))};
    detail::in_use const here{in_sweep_, "cairn::reverse"};
    detail::sweep run{mine("cairn::reverse"), "cairn::reverse"};
    if constexpr (on_disk) work_->store().runs(*step_);
    to_the_turn(run);
    detail::reversal<State, Step, Adjoint, Bar, false, true> user{*step_, adjoint, run.tapes(), 0};
    run.template seed_within<Bar>(user, std::forward<Seed>(seed));
    step_index open = -1;
    if constexpr (on_disk) open = work_->store().take_up(steps(), *user.bar);
    if constexpr (shape.form == adjoint_form::with_next) {
      run.states().allow_next();
      if (open < 0) run.states().final_becomes_next();
    }
    if constexpr (checked && detail::takes_end_hash<Adjoint>)
      if (open < 0) run.watched().final_is_end(steps());
    if constexpr (saved_state<State>) run.states().forget_final();
    if constexpr (on_disk) {
      if (open < 0) bring_back_turn(run);
      else {
        if (open > 0 && !work_->store().knows_seam()) compare_states(run);
        run.skip_to(open, *step_);
      }
    }
    run.run_plan(*step_, user, *observer_);
    if constexpr (on_disk) work_->store().ended(step_calls());
    run.ended();
    detail::end_report(*observer_, steps(), work_->slots_, step_calls(), user);
    return std::move(*user.bar);
  }
  /// The same with parameters.
  template <class Bar, class Seed, class Adjoint, class DP>
  Bar reversed_by(Seed&& seed, Adjoint& adjoint, DP& dp) {
    auto const& p = by_.params();
    by_.check("cairn::reverse");
    if constexpr (on_disk) mine("cairn::reverse").store().reverses_by(adjoint, &dp);
    detail::set_zero(p, dp);
    auto back = detail::bind_adjoint<State, Bar>(adjoint, p, dp);
    try {
      return by_.during("cairn::reverse", [&] {
        return reversed<Bar>(detail::bind_seed<State>(std::forward<Seed>(seed), p, dp), back);
      });
    } catch (invalid_call const&) {
      stained_ = true;
      throw;
    }
  }

  /// Goes on where another process was, if that was somewhere.
  template <class Sweep, class Forward, class X0>
  [[nodiscard]] bool goes_on(Sweep& run, Forward const& forward, X0& x0, Plan const& plan, sweep_form const& kept) {
    auto& store = work_->store();
    store.runs(*step_);
    if (step_index const steps = store.turned_at(); steps >= 0 && run.begin_turned(x0, plan, steps, kept)) return true;
    if (!store.goes_on()) return false;
    try {
      if constexpr (copied_state<State>) store.check_stretch(std::as_const(x0));
      else store.check_stretch(detail::taken_snapshot(std::as_const(x0)));
      forward.template go_on<State>(run, x0, plan, kept, *step_, *observer_);
      return true;
    } catch (nondeterminism_error const&) {  // nobody has seen the final state
      if constexpr (saved_state<State>) run.states().go_back();
      if (!store.begins_anew()) throw;
      return false;
    }
  }
  /// Makes the state before the turn from the states of another process, if it is still missing.
  template <class Sweep>
  void bring_back_turn(Sweep& run) {
    if (!work_->before_turn_is_missing_) return;
    compare_states(run);
    run.bring_back_turn(*step_);
  }
  /// Compares what this process makes of a state of another one.
  template <class Sweep>
  void compare_states(Sweep& run) {
    auto const& states = run.states();
    work_->store().check_stretch(states.pool().state(states.initial()));
  }
  template <class Sweep>
  void at_turn(Sweep& run) {
    auto& store = work_->store();
    store.initial_is_in(run.states().initial());
    if (work_->before_turn_is_missing_) return;
    if constexpr (copied_state<State>) store.keep_final(steps(), std::as_const(run.states()).final_state());
    else run.states().look_at_object([&](auto const& x) { store.keep_final(steps(), x); });
  }

  void collect(std::vector<std::pair<step_index, detail::stored_as<State> const*>>& found) const {
    check_mine("cairn::checkpoints");
    auto const& states = work_->states_;
    for (auto const& kept : states.held())
      if (frame_id const k = states.frame_of(kept); kept.checkpoint && k != no_frame && states.pool().at(k) == kept.at)
        found.emplace_back(kept.at, detail::address_of(states.pool().state(k)));
    for (std::size_t k = 1; k < found.size(); ++k)
      for (std::size_t j = k; j > 0 && found[j].first < found[j - 1].first; --j) std::swap(found[j], found[j - 1]);
  }
  [[nodiscard]] detail::stored_as<State> state_at(step_index i) {
    if (i < 0 || i > steps())
      throw invalid_call{
          "cairn::at", "there is no such state", {{"i", i}, {"steps", steps()}}, "states are numbered 0 to steps()"};
    detail::in_use const here{in_sweep_, "cairn::at"};
    detail::sweep run{mine("cairn::at"), "cairn::at"};
    by_.check("cairn::at");
    if (std::exchange(stained_, false)) to_the_turn(run);
    auto const& pool = run.states().pool();
    frame_id const nearest = run.states().before(i);
    step_index const from = pool.at(nearest);
    step_index failed = from;
    auto const make = [&]() -> detail::stored_as<State> {
      if constexpr (saved_state<State>)
        return run.states().made_state(nearest, [&](State& x) {
          run_compared(
              run, from, i, [&](step_index at, step_index next) { detail::run_in_place(*step_, x, at, next, failed); },
              [](auto const& made) { return detail::hash_of_state(made); }, std::as_const(x));
        });
      else {
        detail::advanced_copy<State> x{pool.state(nearest), form};
        run_compared(
            run, from, i, [&](step_index at, step_index next) { x.run(*step_, at, next, failed); },
            [](auto const& made) { return detail::hash_of(made.state()); }, std::as_const(x));
        return std::move(x.state());
      }
    };
    run.status().ran += wide(i - from);
    return detail::annotate_failure(run.status(), phase::recompute, failed, make);
  }

  /// Advances a state from one step to another by run(at, next), and compares hash(x) with the hashes that the sweep
  /// has of the states in between.
  template <class Sweep, class Run, class Hash, class Input>
  static void run_compared(Sweep& sweep, step_index from, step_index to, Run run,
                           Hash hash, Input const& x) {
    if constexpr (!checked) {
      run(from, to);
    } else {
      auto& ledger = sweep.ledger();
      step_index const stride = ledger.mode() == replay_check::every_step ? 1 : to - from;
      for (step_index i = from; i < to;) {
        run(i, i + stride);
        i += stride;
        if (ledger.on() && !ledger.matches(from, i, hash(x))) ledger.fail(i);
      }
    }
  }
  /// The workspace, unless another sweep has begun there.
  [[nodiscard]] work_type& mine(char const* operation) {
    check_mine(operation);
    return *work_;
  }
  void check_backward() const {
    if (work_->leaf_ > 1)
      throw invalid_plan{"cairn::backward",
                         "the plan reverses several steps at once",
                         {{"leaf", work_->leaf_}},
                         "use a plan with leaf 1"};
  }
  void check_mine(char const* operation) const {
    if (!here_)
      throw invalid_call{
          operation, "this run has been moved to another object", {}, "use the object that it was moved to"};
    if (work_->users_.value != user_ || work_->states_.lost_its_store())
      throw invalid_call{operation,
                         "another sweep has begun in the workspace or in the store of this run",
                         {},
                         "give a run that is kept a workspace and a store of its own"};
  }
  [[nodiscard]] work_type& walked(std::uint64_t pass) {
    if (pass != pass_)
      throw invalid_call{"cairn::backward",
                         "the run was reversed or walked again since this walk began, or the walk has thrown",
                         {},
                         "end one walk before the next, or use two runs"};
    return mine("cairn::backward");
  }

  /// Restores slots and live to the turn, unless they are there.
  template <class Sweep>
  void to_the_turn(Sweep& run) {
    ++pass_;
    if (!std::exchange(fresh_, false)) run.rewind(*step_, detail::turn_only<Step>{*step_});
  }
  [[nodiscard]] walk_back start_backward() {
    detail::in_use const here{in_sweep_, "cairn::backward"};
    detail::sweep run{mine("cairn::backward"), "cairn::backward"};
    by_.check("cairn::backward");
    to_the_turn(run);
    return walk_back{*this};
  }
  [[nodiscard]] State const& state_of_walk(std::uint64_t pass, step_index i) {
    auto& states = walked(pass).states_;
    return i == steps() ? states.final_state() : states.live();
  }
  void to_next_reverse(std::uint64_t pass) {
    detail::in_use const here{in_sweep_, "cairn::backward"};
    detail::sweep run{walked(pass), "cairn::backward"};
    pass_ = pass + 1;  // a walk that throws has ended
    detail::turn_only<Step> user{*step_};
    if constexpr (on_disk) {
      work_->store().runs(*step_);
      bring_back_turn(run);
    }
    wide const ran = run.status().ran;
    stained_ = true;
    by_.blamed("cairn::backward", [&] { run.run_plan(*step_, user, *observer_); });
    if (run.status().ran != ran) by_.check("cairn::backward");
    stained_ = false;
    run.goes_on();
    pass_ = pass;
  }

  detail::busy_mark in_sweep_;  // first: a move that is refused has moved nothing
  [[no_unique_address]] detail::kept_wrt<Wrt> by_;
  detail::reseated<Step> step_;
  detail::reseated<Observer> observer_;
  detail::reseated<Workspace> work_;
  detail::moving_mark here_{true};
  std::uint64_t user_ = 0, pass_ = 0;
  bool fresh_ = true;
  bool stained_ = false;  // p may have changed while a walk or a reversal made states, which has thrown
};

namespace detail {

/// Makes the run, in a workspace of its own, in the caller's, or over the caller's store.
/// \param parts  what the caller gave, for a run on disk
template <class StepF, class State, class Plan, class Asked, class Forward, class Parts, class Step, class X0>
[[nodiscard]] auto run_in_workspace(Asked const& asked, Forward forward, Parts const& parts,
                                    Step&& step, X0&& x0, Plan const& plan) {
  using Watching = typename Asked::kept_observer;
  using Work = passed_as<decltype(asked.work)>;
  using Options = decltype(asked.options);
  using Wrt = decltype(asked.by);
  if constexpr (keeps_runs<Work>) {
    using keeping = typename std::remove_cvref_t<Work>::keeps_runs;
    auto store = [&] {
      if constexpr (requires { asked.work.parts; })
        return keeping::template kept<State, StepF>(asked.work.keeper, asked.work.parts, step, x0, plan);
      else {
        auto known = parts;  // what was given may have been moved into the step
        known.step = __builtin_addressof(given_in<std::remove_cvref_t<Step>>::step(step));
        return keeping::template kept<State, StepF>(asked.work, known, step, x0, plan);
      }
    }();
    using work_type = workspace<State, Plan, decltype(store), options_on_disk<State, Options>>;
    return checkpointed_run<StepF, State, Plan, work_type, Watching, Wrt>{
        forward, std::forward<Step>(step), std::forward<X0>(x0), plan, asked.options, asked.kept_watching(),
        asked.by, std::move(store)};
  } else {
    using work_type = used_workspace<State, Plan, Options, Work>;
    using Run = checkpointed_run<StepF, State, Plan, work_type, Watching, Wrt>;
    if constexpr (std::is_same_v<std::remove_cvref_t<Work>, own_workspace>)
      return Run{forward,       std::forward<Step>(step), std::forward<X0>(x0), plan,
                 asked.options, asked.kept_watching(),    asked.by};
    else
      return Run{forward,       std::forward<Step>(step), std::forward<X0>(x0), plan,
                 asked.options, asked.kept_watching(),    asked.by,             std::forward<Work>(asked.work)};
  }
}

/// What the caller of a verb that keeps its run gave.
template <class Step, class Wrt, class KeepGoing = no_terms>
[[nodiscard]] auto parts_of_run(Step& step, Wrt const& by, KeepGoing* keep_going = nullptr) {
  using params = std::conditional_t<is_wrt<Wrt>, typename params_types<std::remove_const_t<Wrt>>::p, no_params>;
  using parts = given_parts<Step, not_given_yet, not_given_yet, params, no_params, no_terms, no_terms, KeepGoing>;
  parts all{__builtin_addressof(step), nullptr, nullptr};
  if constexpr (is_wrt<Wrt>) all.p = &by.p;
  all.keep_going = keep_going;
  return all;
}

/// Stands for the adjoint of a loop that is kept, which is given later. A step may know what a leaf holds.
template <class Step, class Params>
struct adjoint_later {
  Step& step;
  Params const& p;
  template <class State>
  [[nodiscard]] wide leaf_bytes(State& x, step_index leaf, step_index steps) const
    requires requires { function_in(step).leaf_bytes(x, p, leaf, steps); }
  {
    return function_in(step).leaf_bytes(x, p, leaf, steps);
  }
  [[nodiscard]] wide leaf_known(step_index leaf) const { return detail::leaf_known(step, leaf); }
};
template <class Step, class Params> adjoint_later(Step&, Params const&) -> adjoint_later<Step, Params>;  // for clang 14
/// A loop that is kept does not know its adjoint when it runs.
template <class PlanGiven>
consteval bool check_not_measured() {
  constexpr bool counts = !measured_budget<PlanGiven>;
  static_assert(
      counts,
      "cairn: cairn::measured needs the adjoint, which a loop that is kept gets later; give cairn::budget_of, "
      "or use cairn::gradient");
  return counts;
}

}  // namespace detail

/// Runs `x = step(x, i)`, i = 0..n-1, keeps the checkpoints of `plan`, and returns a run that can be reversed or walked
/// backwards.
///
/// \param step  as for `gradient`; the run keeps a copy   \param x0  the initial state; an rvalue is moved from
/// \param plan  a schedule; the number of steps n >= 0: then `uniform{n}`, floor(sqrt n) checkpoints; or
///   `budget_of{n, "64MB"}`
/// \param last  in any order, each kind at most once: a `workspace` or a store to be reused, which must outlive the run,
///   except a workspace passed as an rvalue, which moves into the run; an observer as for `gradient`, an lvalue must
///   outlive the run; `sweep_options`, also used in the reverse sweep; `wrt{p, dp}`: the step takes p, and the adjoints
///   that `reverse` is given p and dp; a `sweep_report`, which must outlive the run; a `collective`
///   as for `gradient`
/// Memory: `estimate` with `keeps_run`; initial and final state are kept as long as the run.
/// \ingroup start
template <class Step, class X0, class PlanGiven, class... Last>
[[nodiscard]] auto checkpointed_loop(Step&& step, X0&& x0, PlanGiven const& plan, Last&&... last) {
  using State = std::remove_cvref_t<X0>;
  using StepF = std::decay_t<Step>;
  using Plan = detail::plan_type<PlanGiven>;
  using Wrt = detail::wrt_in<State, Plan, Last...>;
  using Asked = detail::step_refused<Step, Wrt>;
  if constexpr (detail::together<Last...>) {
    if constexpr (!detail::check_kept<Last...>() ||
                  !detail::check_together<!detail::any_budget<PlanGiven>, true, Last...>())
      return detail::refuse_run<Asked, X0>();
    else {
      auto const run = [&]<class Ranks>(Ranks const& ranks, auto&&... given) {
        return Ranks::together::keep(ranks, checkpointed_loop(std::forward<Step>(step), std::forward<X0>(x0), plan,
                                                              std::forward<decltype(given)>(given)...));
      };
      return detail::by_ranks("cairn::checkpointed_loop", plan, run, std::forward<Last>(last)...);
    }
  } else if constexpr (!detail::check_forward<StepF, State, PlanGiven, false, Wrt>())
    return detail::refuse_run<Asked, X0>();
  else if constexpr (!detail::check_begun<X0, Wrt, Plan, Last...>()) return detail::refuse_run<Asked, X0>();
  else if constexpr (!detail::check_no_count<std::is_integral_v<std::remove_cvref_t<detail::first_of_last<Last...>>>>())
    return detail::refuse_run<Asked, X0>();
  else if constexpr (!detail::check_last<true, StepF, State, Plan, Last...>()) return detail::refuse_run<Asked, X0>();
  else if constexpr (!detail::check_counted<State, State, State, adjoint_form::one_step, PlanGiven, Wrt>())
    return detail::refuse_run<Asked, X0>();
  else if constexpr (!detail::check_not_measured<PlanGiven>()) return detail::refuse_run<Asked, X0>();
  else {
    auto const asked = detail::sort_last<State, Plan>(std::forward<Last>(last)...);
    auto const& by = asked.by;
    // The adjoint comes later: it may take x1, and make a new bar from the old.
    constexpr sweep_form form{.step = detail::shapes_with<Wrt>::template step<StepF, State>().form,
                              .adjoint = adjoint_form::with_next, .adjoint_by_value = true, .keeps_run = true};
    detail::adjoint_later const later{step, detail::params_of(by).p};
    auto const values = detail::values_for<State>(step, std::as_const(x0), x0, later, by, asked.options, form);
    Plan const& found = values.plan_from(plan, asked);
    auto const limit = detail::limit_of(plan, values, detail::predict<PlanGiven>(asked, found, values, {}));
    detail::forward_by_plan<std::remove_const_t<decltype(limit)>> const forward{limit};
    auto const parts = detail::parts_of_run(step, by);
    if constexpr (!detail::is_wrt<Wrt>)
      return detail::run_in_workspace<StepF, State, Plan>(asked, forward, parts, std::forward<Step>(step),
                                                          std::forward<X0>(x0), found);
    else {
      auto bound = detail::bind_step<State>(StepF(std::forward<Step>(step)), by.p);
      return detail::run_in_workspace<decltype(bound), State, Plan>(asked, forward, parts, std::move(bound),
                                                                    std::forward<X0>(x0), found);
    }
  }
}

}  // namespace cairn

/// For structured bindings: the final state and the checkpoints.
template <class Step, class State, class Plan, class Workspace, class Observer, class Wrt>
struct std::tuple_size<cairn::checkpointed_run<Step, State, Plan, Workspace, Observer, Wrt>>
    : std::integral_constant<std::size_t, 2> {};
/// The final state.
template <class Step, class State, class Plan, class Workspace, class Observer, class Wrt>
struct std::tuple_element<0, cairn::checkpointed_run<Step, State, Plan, Workspace, Observer, Wrt>> {
  using type = State const&;
};
/// The checkpoints.
template <class Step, class State, class Plan, class Workspace, class Observer, class Wrt>
struct std::tuple_element<1, cairn::checkpointed_run<Step, State, Plan, Workspace, Observer, Wrt>> {
  using type = cairn::checkpoint_view<cairn::detail::stored_as<State>>;
};
