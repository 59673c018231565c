// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file taped.hpp  A step written once for any scalar, and its adjoint by a tape of a few steps.
#include <type_traits>
#include <utility>
#include <cairn/adapt/ad/detail/leaf_tape.hpp>
#include <cairn/adapt/ad/detail/model_call.hpp>
#include <cairn/adapt/ad/detail/primal_loop.hpp>
#include <cairn/adapt/ad/detail/scalars.hpp>
#include <cairn/adapt/ad/detail/weighed_leaf.hpp>
#include <cairn/adapt/ad/rebind_scalar.hpp>
#include <cairn/adapt/ad/tape.hpp>
#include <cairn/core/action.hpp>
#include <cairn/core/wide.hpp>
#include <cairn/door/forms.hpp>
#include <cairn/door/objective.hpp>

namespace cairn {

/// An adjoint of the state together with the gradient with respect to the parameters: the bar of a sweep over `taped`.
template <class State, class Params>
struct state_and_params {
  State state;    ///< the adjoint of the state
  Params params;  ///< the gradient with respect to the parameters so far; undifferentiated parts are copies
};

/// A step written once, as a template over its scalar, with its adjoint by a tool for automatic differentiation: `step`
/// is the model over double; `adjoint` records the steps of a leaf on the tool's tape and reverses them. Both are for
/// `gradient`, `checkpointed_loop`, `checkpointed_while` and `adaptive`, with any plan without kept tapes, any store
/// and observer. The object must outlive the verb's result, and serves one loop at a time: where another one begins, a
/// kept run is at its end.
///
/// The model is `template <class T> void operator()(state<T>& x, params<T> const& p, step_index i) const`. The seed is
/// one of three: an adjoint of the final state, for the gradient with respect to the initial state only;
/// `bar(that adjoint)`, for the gradient with respect to the parameters, too; or `seed()`, for the gradient of the
/// objective.
///
/// A model can say how its steps depend on the index. A model whose steps are all the same leaves the index out,
/// `model(x, params)`. A model that computes with the index takes it as a number, `T const& i`. A model whose steps
/// differ by a few numbers may have a member `at(i)` that returns them, `data<double>`; the model is then called with
/// `data<T>` in the index's place. In each of these forms, if the tool is a `replaying_tape` (ADOL-C, CppAD) and the
/// state consists of scalars only, one recording serves all leaves of a loop that have terms at the same places, as
/// long as no term takes its index and comparisons have the same results as in the recording. A model may also choose
/// by plain values, such as the cell of a table, which no tool sees. So the terms of each replay and the state behind it
/// are compared with what plain steps give; where they differ, the leaf is recorded. The 1st, 2nd, 4th, 8th ... replay
/// is compared with a recording of the same leaf. For a model that takes a `step_index` each leaf is recorded.
///
/// Gradients are bit for bit the same for every plan, store and number of slots; also for every length of leaves if the
/// tool's arithmetic has the bits of double (ADOL-C multiplies by 1 / c if the model divides by a constant c). Memory:
/// states, tape and seeds are kept from leaf to leaf, so that a warm sweep allocates only what the tool allocates.
/// \tparam Tool  an `ad_tape`, or a reference to one   \tparam Model  called as const   \tparam Params  a value,
///   `with_controls`, or `no_params`   \tparam Objective  an `objective`
template <class Tool, class Model, class Params = no_params, class Objective = no_objective>
class taped {
  using tool_type = std::remove_reference_t<Tool>;
  static constexpr bool has_tape = ad_tape<tool_type>;
  static_assert(has_tape,
                "cairn: the tool must be a tape that can be recorded and reversed, such as cairn::adolc_tape{}; see "
                "cairn::ad_tape");
  using scalar = typename tool_type::scalar;
  using primal = detail::primal_loop<scalar, Model, Params, Objective>;

 public:
  using tool_of_model = Tool;  ///< as for `by_tool`
  /// Whether the model can step these states and the tool can differentiate them.
  template <class State>
  static constexpr bool steps = differentiable_by<State, scalar> &&
                                detail::is_model<Model, State, typename primal::own_params, typename primal::control,
                                                 typename primal::template step_data<State>>();

  /// \param tool  an rvalue is moved in; an lvalue must outlive the object   \param model  the step, for any scalar
  /// \param params  the point at which the model is evaluated and differentiated   \param objective  terms, by default
  ///   none; a function of the final state, as for `differentiate`, is the same as `at_end` of it
  explicit taped(Tool&& tool, Model model, Params params = {}, Objective objective = {})
      : primal_{std::move(model), std::move(params), std::move(objective)}, tape_{std::forward<Tool>(tool)} {}
  /// With a function of the final state: `at_end{f}`.
  template <class Fn>
    requires(!objective<Fn> && std::is_same_v<Objective, detail::objective_type<Fn>>)
  explicit taped(Tool&& tool, Model model, Params params, Fn f)
      : taped{std::forward<Tool>(tool), std::move(model), std::move(params), detail::as_objective(std::move(f))} {}
  taped(taped const&) = delete;
  taped& operator=(taped const&) = delete;

  /// The model over double, in place.
  struct stepper {
    taped* owner;  ///< the object with the model
    /// `step(x, i)`.
    template <class State>
      requires(taped::steps<State>)
    void operator()(State& x, step_index i) const { owner->primal_.step(x, i); }
    /// Called by executors, once before each loop.
    void begin(detail::loop_begins) const noexcept { owner->begin(); }
    using own_params = Params;              ///< says that it has parameters and an objective of its own
    /// Calls look with the model.
    template <class Look>
    void each_function(Look const& look) const { look(owner->model()); }
    /// Begins a loop that may be kept on disk. Calls keep(params, objective, terms): what it is known by beside its
    /// functions, and the sum of its terms, which stands beside its states.
    template <class Keep>
    auto kept_by(Keep keep) const {
      owner->begin();
      return keep(std::as_const(*owner).params(), owner->objective(), owner->primal_);
    }
  };
  /// The adjoint of the steps [first, last); the bar is a State, or a `state_and_params<State, Params>`.
  struct leaf_reverser {
    taped* owner;  ///< the object with the tape
    /// `adjoint(x, bar, first, last)`, without the gradient with respect to the parameters.
    template <class State>
      requires(taped::steps<State>)
    void operator()(State const& x, State& bar, step_index first, step_index last) const {
      owner->reverse(x, bar, nullptr, first, last);
    }
    /// `adjoint(x, bar, first, last)`, with the gradient with respect to the parameters.
    template <class State>
      requires(taped::steps<State>)
    void operator()(State const& x, state_and_params<State, Params>& bar, step_index first, step_index last) const {
      owner->reverse(x, bar.state, &bar.params, first, last);
    }
    /// Whether the memory of a tape's longest recording stays, even when it is cleared.
    static constexpr bool leaf_stays = requires { requires bool(tool_type::keeps_memory); };
    /// What a leaf of a loop of so many steps holds, weighed at a state: for planners.
    template <class State>
      requires(taped::steps<State>)
    [[nodiscard]] wide leaf_bytes(State const& x, step_index leaf, step_index steps) const {
      return owner->weigh(x, leaf, steps, [](auto const& run) { run(); });
    }
    /// The same if it was weighed last, otherwise `unknown_bytes`: for reports.
    [[nodiscard]] wide leaf_known(step_index steps) const noexcept {
      return owner->weighed_.known(steps);
    }
    [[nodiscard]] wide leaf_held() const noexcept { return owner->tape_bytes(); }  ///< as `tape_bytes()`
    /// Does nothing.
    template <class Look>
    void each_function(Look const&) const noexcept {}
  };
  /// The adjoint of one step, for `nested` and `adaptive`.
  struct step_reverser {
    taped* owner;  ///< the object with the tape
    /// `adjoint(x, bar, i)`, without the gradient with respect to the parameters.
    template <class State>
      requires(taped::steps<State>)
    void operator()(State const& x, State& bar, step_index i) const {
      owner->reverse(x, bar, nullptr, i, i + 1);
    }
    /// `adjoint(x, bar, i)`, with the gradient with respect to the parameters.
    template <class State>
      requires(taped::steps<State>)
    void operator()(State const& x, state_and_params<State, Params>& bar, step_index i) const {
      owner->reverse(x, bar.state, &bar.params, i, i + 1);
    }
    /// Does nothing.
    template <class Look>
    void each_function(Look const&) const noexcept {}
  };
  /// The seed of an objective.
  struct objective_seed {
    taped* owner;  ///< the object with the objective
    /// The adjoint of the terms of the final state.
    template <class State>
      requires(taped::steps<State>)
    state_and_params<State, Params> operator()(State const& x) const { return owner->end(x); }
    /// Calls look with the objective.
    template <class Look>
    void each_function(Look const& look) const { look(owner->objective()); }
  };

  stepper step{this};                                         ///< `step(x, i)`
  detail::tagged<adjoint_form::leaf, leaf_reverser> adjoint{{this}};  ///< `adjoint(x, bar, first, last)`
  step_reverser step_adjoint{this};                           ///< `step_adjoint(x, bar, i)`

  /// The seed of a sweep for the objective, a function of the final state.
  [[nodiscard]] objective_seed seed() noexcept { return {this}; }
  /// The seed of a sweep that also computes the gradient with respect to the parameters.
  /// \param state  the adjoint of the final state
  template <class State>
  [[nodiscard]] state_and_params<State, Params> bar(State state) const {
    return {std::move(state), primal_.zero_gradient()};
  }

  /// The objective of the last loop: the step adds the terms of intermediate states, the seed those of the final state.
  [[nodiscard]] double value() const noexcept { return primal_.value(); }
  /// To be called before a loop whose step is not `step` itself but calls it; `gradient` and the other verbs do this
  /// for `step`.
  void begin() noexcept { primal_.begin(); }

  /// The point at which the model is evaluated; change it only between loops: a run that is kept is not reversed by
  /// other parameters than it began with.
  [[nodiscard]] Params& params() noexcept { return primal_.params(); }
  /// The point at which the model is evaluated.
  [[nodiscard]] Params const& params() const noexcept { return primal_.params(); }
  /// The step for any scalar.
  [[nodiscard]] Model const& model() const noexcept { return primal_.model(); }
  /// The terms.
  [[nodiscard]] Objective const& objective() const noexcept { return primal_.objective(); }
  [[nodiscard]] tool_type& tool() noexcept { return tape_.tool(); }  ///< the tape

  /// The most bytes that one leaf has taken: the tool's tape as the tool counts it, and state, parameters and seeds
  /// over the tool's scalar.
  [[nodiscard]] wide tape_bytes() const noexcept { return tape_.most_bytes(); }
  /// Resets `tape_bytes()`, so that it covers only the next leaves.
  void forget_tape_bytes() noexcept { tape_.forget_bytes(); }
  /// Frees the memory of tape and states; the next leaf allocates it again.
  void clear() { tape_.clear(); }
  /// What a leaf of `length` steps holds, wherever it is in a loop of so many and whatever terms it has there; of 0:
  /// one of the first. It is recorded at x0 three times, starting with an empty tape.
  /// \param timed  called with a function that records and reverses it
  template <class State, class Timed>
  [[nodiscard]] wide weigh(State const& x0, step_index length, step_index of_loop, Timed const& timed) {
    clear();
    auto const heaviest = detail::heaviest_leaves(objective(), length, of_loop);
    return weighed_.weigh(
        tool(), length, heaviest.size(), [this] { forget_tape_bytes(); },
        [&](std::size_t k) {
          auto after = bar(x0);  // as large as the state there
          for (step_index i = heaviest[k].first; i < heaviest[k].last; ++i) primal_.move_on(after.state, i);
          auto const run = [&] {
            auto all = after;
            tape_.reverse(primal_, x0, all.state, &all.params, heaviest[k]);
          };
          if (k == 0) timed(run);
          else run();
          if (replaying_tape<tool_type> && heaviest.size() > 1) run();  // a replay takes more
        },
        [this] { return tape_bytes(); });
  }

 private:
  template <class State>
  void reverse(State const& x, State& bar, Params* gradient, step_index first, step_index last) {
    primal_.check_params();
    tape_.reverse(primal_, x, bar, gradient, {first, last});
  }
  /// The terms of the final state, and their adjoint.
  template <class State>
  [[nodiscard]] state_and_params<State, Params> end(State const& x) {
    primal_.check_params();
    primal_.end(x);
    state_and_params<State, Params> bar{x, primal_.zero_gradient()};
    auto const clear = [](double& v) { v = 0; };
    detail::scalars_of<State, scalar>::visit(bar.state, clear);
    if constexpr (!std::is_same_v<Objective, no_objective>)
      tape_.reverse(primal_, x, bar.state, &bar.params, {primal_.steps(), primal_.steps(), true});
    return bar;
  }

  primal primal_;
  detail::leaf_tape<Tool, primal> tape_;
  detail::weighed_leaf weighed_;
};
/// An lvalue tool is kept by reference.
template <class Tool, class Model, class Params>
taped(Tool&&, Model, Params) -> taped<Tool, Model, Params>;
/// Without parameters.
template <class Tool, class Model>
taped(Tool&&, Model) -> taped<Tool, Model>;
/// With an objective, or a function of the final state.
template <class Tool, class Model, class Params, class Objective>
taped(Tool&&, Model, Params, Objective) -> taped<Tool, Model, Params, detail::objective_type<Objective>>;

}  // namespace cairn
