// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file active_leaf.hpp  The numbers of a leaf over a tool's scalar, and its steps run on them.
#include <cstddef>
#include <utility>
#include <vector>
#include <cairn/adapt/ad/detail/model_call.hpp>
#include <cairn/adapt/ad/detail/scalars.hpp>
#include <cairn/adapt/ad/rebind_scalar.hpp>
#include <cairn/core/action.hpp>

namespace cairn::detail {

/// The steps [first, last) of a leaf. With `ending` there are no steps, and the leaf is the terms of the final state,
/// state `last`.
struct leaf_steps {
  step_index first, last;
  bool ending = false;
};

/// The active numbers of a leaf: state, parameters, and the controls and data of its steps. Kept from leaf to leaf, so
/// that a leaf of the same shape allocates nothing here.
/// \tparam Primal  a `primal_loop`
template <class Scalar, class Primal, class State>
class active_leaf {
  using own_params = typename Primal::own_params;
  using control = typename Primal::control;
  using step_data = typename Primal::template step_data<State>;
  static constexpr bool controlled = Primal::controlled;
  static constexpr bool has_data = Primal::template has_data<State>;
  template <class T> using all = scalars_of<T, Scalar>;
  template <class T> using active = rebound_scalar<T, Scalar>;

 public:
  /// How many independent variables a leaf has: of the state only, and including parameters and controls.
  struct input_counts {
    std::size_t of_state = 0, of_all = 0;
  };

  /// Gives the numbers of a leaf their shape, and lists their values and their layout: of the state x, the parameters,
  /// the controls and the data.
  input_counts shape(Primal const& primal, State const& x, leaf_steps const& steps, std::vector<double>& values,
                     std::vector<std::size_t>& layout) {
    values.clear();
    layout.clear();
    auto const note_size = [&layout](std::size_t size) { layout.push_back(size); };
    input_counts counts;
    all<State>::list(x, values);
    counts.of_state = values.size();
    all<own_params>::list(primal.own(), values);
    all<State>::shape(x, state_);
    all<own_params>::shape(primal.own(), params_);
    all<State>::each_size(x, note_size);
    all<own_params>::each_size(primal.own(), note_size);
    if constexpr (controlled) {
      grow(controls_, steps);
      for (step_index i = steps.first; i < steps.last; ++i) {
        all<control>::shape(primal.control_at(i), of(controls_, steps, i));
        all<control>::list(primal.control_at(i), values);
        all<control>::each_size(primal.control_at(i), note_size);
      }
    }
    counts.of_all = values.size();
    if constexpr (has_data) {
      grow(data_, steps);
      for (step_index i = steps.first; i < steps.last; ++i) {
        step_data const data = primal.template data_at<State>(i);
        all<step_data>::shape(data, of(data_, steps, i));
        all<step_data>::list(data, values);
        all<step_data>::each_size(data, note_size);
      }
    }
    return counts;
  }

  [[nodiscard]] active<State>& state() noexcept { return state_; }
  [[nodiscard]] active<own_params>& params() noexcept { return params_; }
  /// Calls f(scalar) for each number of the parameters and the controls.
  template <class Fn>
  void visit_params([[maybe_unused]] leaf_steps const& steps, Fn f) {
    all<own_params>::visit(params_, f);
    if constexpr (controlled)
      for (step_index i = steps.first; i < steps.last; ++i) all<control>::visit(of(controls_, steps, i), f);
  }
  /// Calls f(scalar) for each number of the data of the steps.
  template <class Fn>
  void visit_data([[maybe_unused]] leaf_steps const& steps, [[maybe_unused]] Fn f) {
    if constexpr (has_data)
      for (step_index i = steps.first; i < steps.last; ++i) all<step_data>::visit(of(data_, steps, i), f);
  }

  /// Runs model and objective, and calls emit(term) for each term of the objective.
  template <class Emit>
  void run(Primal const& primal, leaf_steps const& steps, Emit const& emit) {
    auto const& [first, last, ending] = steps;
    auto const& objective = primal.objective();
    if (first == 0 && (ending || first < last))
      objective.running(std::as_const(state_), std::as_const(params_), 0, emit);
    for (step_index i = first; i < last; ++i) {
      auto const move_on = [&](auto const& u) {
        if constexpr (has_data)
          call_model(primal.model(), state_, std::as_const(params_), u, std::as_const(of(data_, steps, i)));
        else call_model(primal.model(), state_, std::as_const(params_), u, i);
      };
      if constexpr (controlled) move_on(std::as_const(of(controls_, steps, i)));
      else move_on(no_params{});
      objective.running(std::as_const(state_), std::as_const(params_), i + 1, emit);
    }
    if (ending) objective.ending(std::as_const(state_), std::as_const(params_), last, emit);
  }

 private:
  template <class T>
  static void grow(std::vector<T>& each, leaf_steps const& steps) {
    if (each.size() < std::size_t(steps.last - steps.first)) each.resize(std::size_t(steps.last - steps.first));
  }
  template <class T>
  [[nodiscard]] static T& of(std::vector<T>& each, leaf_steps const& steps, step_index i) noexcept {
    return each[std::size_t(i - steps.first)];
  }

  active<State> state_{};
  active<own_params> params_{};
  std::vector<active<control>> controls_;
  std::vector<active<step_data>> data_;
};

}  // namespace cairn::detail
