// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file taped.hpp  A step written once for any scalar, and its adjoint by a tape of a few steps.
#include <algorithm>
#include <bit>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>
#include <vector>
#include <cairn/adapt/ad/detail/model_call.hpp>
#include <cairn/adapt/ad/detail/scalars.hpp>
#include <cairn/adapt/ad/objective.hpp>
#include <cairn/adapt/ad/params.hpp>
#include <cairn/adapt/ad/rebind_scalar.hpp>
#include <cairn/adapt/ad/tape.hpp>
#include <cairn/core/error.hpp>
#include <cairn/core/forms.hpp>
#include <cairn/core/state_traits.hpp>
#include <cairn/run/detail/cached_object.hpp>

namespace cairn {

/// An adjoint of the state together with the gradient by the parameters: the bar of a sweep over `taped`.
template <class State, class Params>
struct state_and_params {
  State state;    ///< the adjoint of the state
  Params params;  ///< the gradient by the parameters so far; parts that are not differentiated are copies
};

namespace detail {

/// Ends a recording that an exception interrupts.
template <class Tool>
class open_recording {
 public:
  explicit open_recording(Tool& tool) noexcept : tool_{&tool} {}
  open_recording(open_recording const&) = delete;
  open_recording& operator=(open_recording const&) = delete;
  ~open_recording() {
    if (tool_ != nullptr) tool_->abandon();
  }
  void ended() noexcept { tool_ = nullptr; }

 private:
  Tool* tool_;
};

}  // namespace detail

/// A step written once, as a template over its scalar, with its adjoint by a tool for automatic differentiation: `step`
/// is the model over double; `adjoint` records the steps of a leaf on the tool's tape and reverses them. Both are for
/// `gradient`, `checkpointed_loop`, `checkpointed_while` and `adaptive`, with any plan without kept tapes, any store
/// and observer. The object must outlive the verb's result, and serves one sweep at a time.
///
/// The model is `template <class T> void operator()(state<T>& x, params<T> const& p, step_index i) const`. The seed is
/// one of three: an adjoint of the final state, for the gradient by the initial state alone; `bar(that adjoint)`, for
/// the gradient by the parameters, too; or `seed()`, for the gradient of the objective.
///
/// A model says what its steps have of their numbers. One whose steps are all the same leaves the index out,
/// `model(x, params)`; one that computes with the index takes it as a number, `T const& i`; and one whose steps differ
/// by a few numbers may have a member `at(i)` that gives these, `data<double>`, and is then called with `data<T>` in
/// the index's place. Where the tool is a `replaying_tape` (ADOL-C, CppAD) and the state nothing but scalars, one
/// recording then serves all leaves of a loop that have terms at the same places, none of which is told its index, as
/// long as comparisons come out as they did. The 1st, 2nd, 4th, 8th ... replay is held against a recording of the same
/// leaf.
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
  using parts = detail::params_parts<Params>;
  using own_params = typename parts::own;
  using control = typename parts::control;
  template <class State> using step_data = detail::step_data_of<Model, State, own_params, control>;
  template <class T> using all = detail::scalars_of<T, scalar>;
  template <class T> using active = rebound_scalar<T, scalar>;

 public:
  /// Whether the model can step these states and the tool can differentiate them.
  template <class State>
  static constexpr bool steps = differentiable_by<State, scalar> &&
                                detail::is_model<Model, State, own_params, control, step_data<State>>();

  /// \param tool  an rvalue is moved in; an lvalue must outlive the object   \param model  the step, for any scalar
  /// \param params  the point at which the model is evaluated and differentiated   \param objective  terms, by default
  ///   none
  explicit taped(Tool&& tool, Model model, Params params = {}, Objective objective = {})
      : tool_{std::forward<Tool>(tool)},
        model_{std::move(model)},
        params_{std::move(params)},
        objective_{std::move(objective)} {}
  taped(taped const&) = delete;
  taped& operator=(taped const&) = delete;

  /// The model over double, in place.
  struct stepper {
    taped* owner;  ///< the object with the model
    /// `step(x, i)`.
    template <class State>
      requires(taped::steps<State>)
    void operator()(State& x, step_index i) const { owner->run(x, i); }
    /// Called by executors, once before each loop.
    void begin(detail::loop_begins) const noexcept { owner->begin(); }
  };
  /// The adjoint of the steps [first, last); the bar is a State, or a `state_and_params<State, Params>`.
  struct leaf_reverser {
    taped* owner;  ///< the object with the tape
    /// `adjoint(x, bar, first, last)`, without the gradient by the parameters.
    template <class State>
      requires(taped::steps<State>)
    void operator()(State const& x, State& bar, step_index first, step_index last) const {
      owner->reverse(x, bar, nullptr, first, last, false);
    }
    /// `adjoint(x, bar, first, last)`, with the gradient by the parameters.
    template <class State>
      requires(taped::steps<State>)
    void operator()(State const& x, state_and_params<State, Params>& bar, step_index first, step_index last) const {
      owner->reverse(x, bar.state, &bar.params, first, last, false);
    }
  };
  /// The adjoint of one step, for `nested` and `adaptive`.
  struct step_reverser {
    taped* owner;  ///< the object with the tape
    /// `adjoint(x, bar, i)`, without the gradient by the parameters.
    template <class State>
      requires(taped::steps<State>)
    void operator()(State const& x, State& bar, step_index i) const {
      owner->reverse(x, bar, nullptr, i, i + 1, false);
    }
    /// `adjoint(x, bar, i)`, with the gradient by the parameters.
    template <class State>
      requires(taped::steps<State>)
    void operator()(State const& x, state_and_params<State, Params>& bar, step_index i) const {
      owner->reverse(x, bar.state, &bar.params, i, i + 1, false);
    }
  };
  /// The seed of an objective.
  struct objective_seed {
    taped* owner;  ///< the object with the objective
    /// The adjoint of the terms of the final state.
    template <class State>
      requires(taped::steps<State>)
    state_and_params<State, Params> operator()(State const& x) const { return owner->end(x); }
  };

  stepper step{this};                                         ///< `step(x, i)`
  detail::tagged<adjoint_form::leaf, leaf_reverser> adjoint{{this}};  ///< `adjoint(x, bar, first, last)`
  step_reverser step_adjoint{this};                           ///< `step_adjoint(x, bar, i)`

  /// The seed of a sweep for the objective, a function of the final state.
  [[nodiscard]] objective_seed seed() noexcept { return {this}; }
  /// The seed of a sweep that also computes the gradient by the parameters. \param state  the adjoint of the final
  /// state
  template <class State>
  [[nodiscard]] state_and_params<State, Params> bar(State state) const { return {std::move(state), zero_params()}; }

  /// The objective of the last loop: the step adds the terms of states on the way, the seed the terms of the final
  /// state.
  [[nodiscard]] double value() const noexcept { return running_ + ending_; }
  /// To be called before a loop whose step is not `step` itself but calls it; `gradient` and the other verbs do this
  /// for `step`.
  void begin() noexcept {
    running_ = ending_ = 0;
    stepped_ = 0;
    ++loops_;
  }

  /// The point at which the model is evaluated; change it only between sweeps.
  [[nodiscard]] Params& params() noexcept { return params_; }
  /// The point at which the model is evaluated.
  [[nodiscard]] Params const& params() const noexcept { return params_; }
  [[nodiscard]] Model const& model() const noexcept { return model_; }              ///< the step for any scalar
  [[nodiscard]] Objective const& objective() const noexcept { return objective_; }  ///< the terms
  [[nodiscard]] tool_type& tool() noexcept { return tool_; }                        ///< the tape

  /// The most bytes that one leaf has taken: the tool's tape as the tool counts it, and state, parameters and seeds
  /// over the tool's scalar.
  [[nodiscard]] wide tape_bytes() const noexcept { return most_bytes_; }
  /// Resets `tape_bytes()`, so that the next leaves are measured alone.
  void forget_tape_bytes() noexcept { most_bytes_ = 0; }
  /// Frees the memory of tape and states; the next leaf allocates it again.
  void clear() {
    room_.clear();
    tool_.clear();
  }

 private:
  /// What a recording that may be replayed was made from.
  struct recorded_leaf {
    step_index steps = 0;  // 0: there is no recording
    std::size_t values = 0;
    bool gradient = false;
    std::uint64_t loop = 0, recording = 0;
    friend bool operator==(recorded_leaf const&, recorded_leaf const&) = default;
  };
  /// What is kept from leaf to leaf.
  template <class State>
  struct room {
    active<State> x{};
    active<own_params> p{};
    std::vector<active<control>> u;
    std::vector<active<step_data<State>>> data;
    std::vector<double> values, seeds, replayed;
    std::vector<std::size_t> terms, recorded_terms;
    recorded_leaf recorded;
    std::uint64_t replays = 0;
  };
  static constexpr bool controlled = parts::controlled;
  template <class State>
  static constexpr bool has_data = detail::has_step_data<Model> || !std::is_same_v<step_data<State>, step_index>;
  /// The recording of a leaf is valid for other leaves with as many steps: nothing in it depends on the index or on
  /// passive parts.
  template <class State>
  static constexpr bool can_replay = replaying_tape<tool_type> && has_data<State> && all<State>::all_active() &&
                                     all<control>::only_scalars() && all<step_data<State>>::all_active();

  template <class P>
  [[nodiscard]] static auto& own(P& params) noexcept {
    if constexpr (controlled) return params.params;
    else return params;
  }
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
    if constexpr (detail::has_step_data<Model>) return model_.at(i);
    else if constexpr (std::is_same_v<step_data<State>, detail::no_index>) return {};
    else return static_cast<step_data<State>>(i);
  }
  [[nodiscard]] Params zero_params() const {
    Params zero = params_;
    auto const clear = [](double& v) { v = 0; };
    all<own_params>::visit(own(zero), clear);
    if constexpr (controlled)
      for (auto& each : zero.controls) all<control>::visit(each, clear);
    return zero;
  }

  template <class State>
  void run(State& x, step_index i) {
    auto const add = [this](auto const& term) { running_ += double(term); };
    bool const first_time = i == stepped_;
    if (first_time && i == 0) objective_.running(std::as_const(x), own(std::as_const(params_)), 0, add);
    detail::call_model(model_, x, own(std::as_const(params_)), control_at(i), data_at<State>(i));
    if (!first_time) return;
    stepped_ = i + 1;
    objective_.running(std::as_const(x), own(std::as_const(params_)), i + 1, add);
  }
  template <class State>
  [[nodiscard]] state_and_params<State, Params> end(State const& x) {
    ending_ = 0;
    auto const add = [this](auto const& term) { ending_ += double(term); };
    if (stepped_ == 0) objective_.running(x, own(std::as_const(params_)), 0, add);
    objective_.ending(x, own(std::as_const(params_)), stepped_, add);
    state_and_params<State, Params> bar{x, zero_params()};
    auto const clear = [](double& v) { v = 0; };
    all<State>::visit(bar.state, clear);
    if constexpr (!std::is_same_v<Objective, no_objective>)
      reverse(x, bar.state, &bar.params, stepped_, stepped_, true);
    return bar;
  }

  /// \param gradient  by the parameters, or null   \param ending  for the terms of the final state; no step is recorded
  template <class State>
  void reverse(State const& x, State& bar, Params* gradient, step_index first, step_index last, bool ending) {
    auto& r = room_.template get<room<State>>();
    auto const [of_state, of_all] = note_inputs(r, x, first, last);
    std::size_t const of_inputs = gradient != nullptr ? of_all : of_state;
    note_data(r, first, last);
    recorded_leaf wanted{last - first, r.values.size(), gradient != nullptr, loops_, 0};
    if constexpr (replaying_tape<tool_type>) wanted.recording = tool_.recordings();
    bool lasting = can_replay<State> && gradient != nullptr && !ending;
    r.replayed.clear();
    if constexpr (can_replay<State>) {
      std::size_t const terms = lasting ? note_terms(r.terms, first, last) : 0;
      lasting = lasting && (terms == 0 || !Objective::template indexed<active<State>, active<own_params>>);
      if (lasting && r.recorded == wanted && r.terms == r.recorded_terms && all<State>::count(bar) == of_state &&
          tool_.replay(r.values.data())) {
        r.seeds.assign(terms, 1.0);
        auto const seed = [&r](double const& v) { r.seeds.push_back(v); };
        all<State>::visit(std::as_const(bar), seed);
        all<own_params>::visit(std::as_const(own(*gradient)), seed);
        if (!std::has_single_bit(++r.replays)) return answer(r, x, bar, gradient, of_state, first, last);
        r.replayed.resize(of_inputs);  // and is recorded, too
        tool_.reverse(r.seeds.data(), r.replayed.data());
      }
    }
    r.recorded = {};
    record(r, bar, gradient, first, last, ending, lasting, of_inputs);
    if constexpr (replaying_tape<tool_type>) wanted.recording = tool_.recordings();
    if (lasting && all<State>::count(r.x) == of_state) {
      r.recorded = wanted;
      r.recorded_terms = r.terms;
    }
    answer(r, x, bar, gradient, of_state, first, last);
  }
  /// Notes the numbers of the state, the parameters and the controls of a leaf, and gives active ones their shape.
  /// Returns how many are of the state, and how many there are.
  template <class State>
  std::pair<std::size_t, std::size_t> note_inputs(room<State>& r, State const& x, step_index first, step_index last) {
    r.values.clear();
    auto const note = [&r](double const& v) { r.values.push_back(v); };
    all<State>::visit(x, note);
    std::size_t const of_state = r.values.size();
    all<own_params>::visit(own(std::as_const(params_)), note);
    all<State>::shape(x, r.x);
    all<own_params>::shape(own(std::as_const(params_)), r.p);
    if constexpr (controlled) {
      if (r.u.size() < std::size_t(last - first)) r.u.resize(std::size_t(last - first));
      for (step_index i = first; i < last; ++i) {
        all<control>::shape(control_at(i), r.u[std::size_t(i - first)]);
        all<control>::visit(control_at(i), note);
      }
    }
    return {of_state, r.values.size()};
  }
  /// The same for the data of the steps.
  template <class State>
  void note_data([[maybe_unused]] room<State>& r, step_index first, step_index last) {
    if constexpr (has_data<State>) {
      auto const note = [&r](double const& v) { r.values.push_back(v); };
      if (r.data.size() < std::size_t(last - first)) r.data.resize(std::size_t(last - first));
      for (step_index i = first; i < last; ++i) {
        step_data<State> const data = data_at<State>(i);
        all<step_data<State>>::shape(data, r.data[std::size_t(i - first)]);
        all<step_data<State>>::visit(data, note);
      }
    }
  }
  /// Records a leaf, and notes the seeds of its results.
  /// \param lasting  whether the recording may be replayed for other leaves
  template <class State>
  void record(room<State>& r, State const& bar, Params* gradient, step_index first, step_index last, bool ending,
              [[maybe_unused]] bool lasting, std::size_t of_inputs) {
    detail::open_recording<tool_type> open{tool_};
    tool_.begin(of_inputs);
    std::size_t k = 0;
    auto const enter = [&](scalar& v) { tool_.independent(v, r.values[k++]); };
    auto const fix = [&](scalar& v) { v = scalar(r.values[k++]); };
    all<State>::visit(r.x, enter);
    each_param(r, first, last, [&](scalar& v) { gradient != nullptr ? enter(v) : fix(v); });
    if constexpr (has_data<State>) {
      auto const varies = [&](scalar& v) {
        if constexpr (replaying_tape<tool_type>) {
          if (lasting) return tool_.varies(v, r.values[k++]);
        }
        fix(v);
      };
      for (step_index i = first; i < last; ++i) all<step_data<State>>::visit(r.data[std::size_t(i - first)], varies);
    }
    tool_.record();
    r.seeds.clear();
    run_recorded(r, first, last, ending);
    auto const seed = [&r](double const& v) { r.seeds.push_back(v); };
    auto const leave = [this](scalar& v) { tool_.dependent(v); };
    if (!ending) {
      check_bar(all<State>::count(bar), all<State>::count(r.x));
      all<State>::visit(std::as_const(bar), seed);
      all<State>::visit(r.x, leave);
    }
    if (gradient != nullptr) {
      all<own_params>::visit(std::as_const(own(*gradient)), seed);
      all<own_params>::visit(r.p, leave);
    }
    tool_.end();
    open.ended();
  }
  /// Runs the model and the objective on active numbers; each term is a result.
  template <class State>
  void run_recorded(room<State>& r, step_index first, step_index last, bool ending) {
    auto const emit = [&](auto&& term) {
      scalar v(std::forward<decltype(term)>(term));
      tool_.dependent(v);
      r.seeds.push_back(1);
    };
    if (first == 0 && (ending || first < last)) objective_.running(std::as_const(r.x), std::as_const(r.p), 0, emit);
    for (step_index i = first; i < last; ++i) {
      auto const move_on = [&](auto const& u) {
        if constexpr (has_data<State>)
          detail::call_model(model_, r.x, std::as_const(r.p), u, std::as_const(r.data[std::size_t(i - first)]));
        else detail::call_model(model_, r.x, std::as_const(r.p), u, i);
      };
      if constexpr (controlled) move_on(std::as_const(r.u[std::size_t(i - first)]));
      else move_on(no_params{});
      objective_.running(std::as_const(r.x), std::as_const(r.p), i + 1, emit);
    }
    if (ending) objective_.ending(std::as_const(r.x), std::as_const(r.p), last, emit);
  }
  /// Reverses the recording, and writes the adjoint of the state and the gradients.
  template <class State>
  void answer(room<State>& r, State const& x, State& bar, Params* gradient, std::size_t of_state, step_index first,
              step_index last) {
    tool_.reverse(r.seeds.data(), r.values.data());
    check_replayed(r.replayed, r.values, first);
    most_bytes_ = (std::max)(most_bytes_, wide(tool_.bytes()) + bytes_of_room(r));
    if (all<State>::count(bar) != of_state) copy_state(x, bar);
    std::size_t k = 0;
    auto const take = [&](double& v) { v = r.values[k++]; };
    all<State>::visit(bar, take);
    if (gradient == nullptr) return;
    all<own_params>::visit(own(*gradient), take);
    if constexpr (controlled)
      for (step_index i = first; i < last; ++i) all<control>::visit(gradient->controls[std::size_t(i)], take);
  }
  /// How many terms of each function the states of a leaf have, in their order, and how many there are: a recording
  /// holds for leaves with the same terms at the same places.
  [[nodiscard]] std::size_t note_terms(std::vector<std::size_t>& into, step_index first, step_index last) const {
    std::size_t sum = 0;
    into.clear();
    auto const note = [&](std::size_t count) {
      into.push_back(count);
      sum += count;
    };
    if (first == 0) objective_.each_count(0, note);
    if (sum == 0) into.clear();  // as for a leaf that begins elsewhere
    for (step_index i = first; i < last; ++i) objective_.each_count(i + 1, note);
    return sum;
  }
  template <class Room, class F>
  void each_param(Room& r, [[maybe_unused]] step_index first, [[maybe_unused]] step_index last, F f) {
    all<own_params>::visit(r.p, f);
    if constexpr (controlled)
      for (step_index i = first; i < last; ++i) all<control>::visit(r.u[std::size_t(i - first)], f);
  }
  /// The 1st, 2nd, 4th, 8th ... replay is held against a recording: a model that lives on more than it was given would
  /// have a wrong gradient without a word. The compiler may round the tool's two ways otherwise.
  static void check_replayed(std::vector<double> const& replayed, std::vector<double> const& recorded,
                             step_index first) {
    double largest = 0, gap = 0;
    for (std::size_t k = 0; k < replayed.size(); ++k) {
      if (!std::isfinite(replayed[k]) || !std::isfinite(recorded[k])) continue;
      largest = (std::max)(largest, std::abs(recorded[k]));
      gap = (std::max)(gap, std::abs(replayed[k] - recorded[k]));
    }
    if (gap > 1e-7 * largest)
      throw invalid_call{"cairn::taped",
                         "a recording of some steps does not hold for others: the model reads more than it is given",
                         {{"first step", first}},
                         "let its at(i) name all numbers that differ from step to step, or let the model take the "
                         "index as a cairn::step_index"};
  }
  static void check_bar(std::size_t given, std::size_t behind) {
    if (given != behind)
      throw invalid_call{"cairn::taped",
                         "the adjoint has another number of scalars than the state that it belongs to",
                         {{"adjoint", given}, {"state", behind}},
                         "make the seed as large as the final state"};
  }
  template <class Room>
  [[nodiscard]] static wide bytes_of_room(Room const& r) {
    return wide(r.values.size()) * sizeof(scalar) + wide(r.values.capacity() + r.seeds.capacity()) * sizeof(double);
  }

  Tool tool_;
  Model model_;
  Params params_;
  [[no_unique_address]] Objective objective_;
  detail::cached_object room_;
  double running_ = 0, ending_ = 0;
  step_index stepped_ = 0;   // steps of the loop that have run for the first time
  std::uint64_t loops_ = 0;  // loops begun so far: parameters are constant during one
  wide most_bytes_ = 0;
};
/// An lvalue tool is kept by reference.
template <class Tool, class Model, class Params>
taped(Tool&&, Model, Params) -> taped<Tool, Model, Params>;
/// Without parameters.
template <class Tool, class Model>
taped(Tool&&, Model) -> taped<Tool, Model>;
/// With an objective.
template <class Tool, class Model, class Params, class Objective>
taped(Tool&&, Model, Params, Objective) -> taped<Tool, Model, Params, Objective>;

}  // namespace cairn
