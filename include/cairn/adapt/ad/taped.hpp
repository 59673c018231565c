// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file taped.hpp  A step written once for any scalar, and its adjoint by a tape of a few steps.
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>
#include <cairn/adapt/ad/detail/leaf_tape.hpp>
#include <cairn/adapt/ad/detail/model_call.hpp>
#include <cairn/adapt/ad/detail/scalars.hpp>
#include <cairn/adapt/ad/detail/weighed_leaf.hpp>
#include <cairn/adapt/ad/rebind_scalar.hpp>
#include <cairn/adapt/ad/tape.hpp>
#include <cairn/core/action.hpp>
#include <cairn/core/detail/state_hash.hpp>
#include <cairn/core/error.hpp>
#include <cairn/core/wide.hpp>
#include <cairn/door/forms.hpp>
#include <cairn/door/objective.hpp>

namespace cairn {
namespace detail {

/// A model at a point, over double: the arguments of each step, and the objective, whose terms are summed as steps run
/// for the first time.
/// \tparam Scalar  replaces double where the model is differentiated
template <class Scalar, class Model, class Params, class Objective>
class primal_loop {
  using parts = params_parts<Params>;
  template <class T> using all = scalars_of<T, Scalar>;

 public:
  using gradient_type = Params;  ///< a gradient with respect to the parameters has their type
  using objective_type = Objective;
  using own_params = typename parts::own;
  using control = typename parts::control;
  static constexpr bool controlled = parts::controlled;
  template <class State> using step_data = step_data_of<Model, State, own_params, control>;
  /// Whether a step takes data, a scalar or nothing in place of its index.
  template <class State>
  static constexpr bool has_data = has_step_data<Model> || !std::is_same_v<step_data<State>, step_index>;

  primal_loop(Model&& model, Params&& params, Objective&& objective)
      : model_{std::move(model)}, params_{std::move(params)}, objective_{std::move(objective)} {}

  [[nodiscard]] Model const& model() const noexcept { return model_; }
  [[nodiscard]] Params& params() noexcept {
    may_change_ = true;
    return params_;
  }
  [[nodiscard]] Params const& params() const noexcept { return params_; }
  [[nodiscard]] Objective const& objective() const noexcept { return objective_; }
  /// The parameters without the controls; `own_of` returns those of any parameters or gradient.
  [[nodiscard]] own_params const& own() const noexcept { return own_of(params_); }
  template <class Plan>
  [[nodiscard]] static auto& own_of(Plan& params) noexcept {
    if constexpr (controlled) return params.params;
    else return params;
  }
  /// \throws invalid_call   if there is no control for step i
  [[nodiscard]] control const& control_at([[maybe_unused]] step_index i) const {
    if constexpr (controlled) {
      if (std::size_t(i) >= params_.controls.size())
        throw invalid_call{"cairn::taped",
                           "there is no control for this step",
                           {{"step", i}, {"controls", params_.controls.size()}},
                           "give as many controls as steps"};
      return params_.controls[std::size_t(i)];
    } else {
      static constexpr no_params none{};
      return none;
    }
  }
  template <class State>
  [[nodiscard]] step_data<State> data_at([[maybe_unused]] step_index i) const {
    if constexpr (has_step_data<Model>) return model_.at(i);
    else if constexpr (std::is_same_v<step_data<State>, no_index>) return {};
    else return static_cast<step_data<State>>(i);
  }
  /// A gradient of zeros; parts that are not differentiated are copies.
  [[nodiscard]] Params zero_gradient() const {
    Params zero = params_;
    auto const clear = [](double& v) { v = 0; };
    all<own_params>::visit(own_of(zero), clear);
    if constexpr (controlled)
      for (auto& each : zero.controls) all<control>::visit(each, clear);
    return zero;
  }

  /// Begins a loop: resets the sums of the terms.
  void begin() noexcept {
    running_ = ending_ = 0;
    stepped_ = 0;
    ++loops_;
    hash_ = hash_of_own();
    may_change_ = false;
  }
  /// \throws invalid_call   if the parameters are not those with which the loop began, such as that of a kept run; from
  /// then on always, because states may have been made with others
  void check_params() {
    if (loops_ == 0 || hash_of_own() == hash_) return;
    hash_ = 0;
    throw invalid_call{"cairn::taped",
                       "the parameters have changed since the loop began",
                       {},
                       "keep params() as it is until the last sweep of the loop has ended, or run the loop again; a "
                       "loop that does not call `step` itself calls begin() first"};
  }
  template <class State>
  void step(State& x, step_index i) {
    static_assert(fault_of_model<Model, State, own_params, control, step_data<State>>() == fault::none,
                  "cairn: the model must take x, which it changes, by non-const reference, return nothing, and take its "
                  "index as `cairn::step_index i` or `T const& i`");
    auto const add = [this](auto const& term) { running_ += double(term); };
    bool const first_time = i == stepped_;
    if (!first_time && may_change_) check_params();
    if (first_time && i == 0) objective_.running(std::as_const(x), own(), 0, add);
    move_on(x, i);
    if (!first_time) return;
    stepped_ = i + 1;
    objective_.running(std::as_const(x), own(), i + 1, add);
  }
  /// The same without terms.
  template <class State>
  void move_on(State& x, step_index i) const {
    call_model(model_, x, own(), control_at(i), data_at<State>(i));
  }
  /// Adds the terms of the final state.
  template <class State>
  void end(State const& x) {
    ending_ = 0;
    auto const add = [this](auto const& term) { ending_ += double(term); };
    if (stepped_ == 0) objective_.running(x, own(), 0, add);
    objective_.ending(x, own(), stepped_, add);
  }
  [[nodiscard]] double value() const noexcept { return running_ + ending_; }
  /// Steps of the loop that have run for the first time.
  [[nodiscard]] step_index steps() const noexcept { return stepped_; }
  /// Another process has run the steps before `next`, whose terms have this sum.
  void go_on(double sum, step_index next) noexcept { running_ = sum, stepped_ = next; }
  [[nodiscard]] double sum() const noexcept { return running_; }  ///< for `go_on`
  /// Another process has found this at the end.
  void ended(double ending) noexcept { ending_ = ending; }
  [[nodiscard]] double ending() const noexcept { return ending_; }  ///< for `ended`
  /// Loops begun so far: parameters are constant during one.
  [[nodiscard]] std::uint64_t loops() const noexcept { return loops_; }

 private:
  [[nodiscard]] std::uint64_t hash_of_own() const noexcept {
    state_hash hash;
    auto const add = [&hash](double const& v) { hash(&v, sizeof v); };
    all<own_params>::visit(own(), add);
    return hash.value();
  }
  Model model_;
  Params params_;
  [[no_unique_address]] Objective objective_;
  double running_ = 0, ending_ = 0;
  step_index stepped_ = 0;
  std::uint64_t loops_ = 0, hash_ = 0;  // of the parameters; 0: they have changed
  bool may_change_ = true;              // somebody was shown them
};

}  // namespace detail

/// An adjoint of the state together with the gradient with respect to the parameters: the bar of a sweep over `taped`.
template <class State, class Params>
struct state_and_params {
  State state;    ///< the adjoint of the state
  Params params;  ///< the gradient with respect to the parameters so far; undifferentiated parts are copies
};
namespace detail {
template <class T> inline constexpr bool has_both = false;
template <class State, class Params> inline constexpr bool has_both<state_and_params<State, Params>> = true;
}  // namespace detail

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
  static constexpr bool steps = [] {
    if constexpr (detail::has_both<State>) return false;  // asked of an adjoint, which has overloads
    else
      return differentiable_by<State, scalar> &&
             detail::is_model<Model, State, typename primal::own_params, typename primal::control,
                              typename primal::template step_data<State>>();
  }();

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
