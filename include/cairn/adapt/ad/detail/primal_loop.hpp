// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file primal_loop.hpp  The loop that is differentiated, over double: model, parameters, and value of the objective.
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>
#include <cairn/adapt/ad/detail/model_call.hpp>
#include <cairn/adapt/ad/detail/scalars.hpp>
#include <cairn/core/action.hpp>
#include <cairn/core/detail/state_hash.hpp>
#include <cairn/core/error.hpp>

namespace cairn::detail {

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

}  // namespace cairn::detail
