// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file check_model.hpp  Checks a model and an objective: the adjoint of the step, the gradient with respect to state
/// and parameters, and the derivatives of terms. For tests; not part of <cairn/cairn.hpp>.
#include <cstddef>
#include <limits>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>
#include <cairn/run/check/check_adjoint.hpp>
#include <cairn/run/check/check_gradient.hpp>
#include <cairn/run/check/detail/number_runs.hpp>
#include <cairn/run/differentiate.hpp>

namespace cairn {

/// What `check` found.
struct model_report {
  adjoint_report step;    ///< the adjoint of the step, as `check_adjoint` reports it
  adjoint_report state;   ///< the gradient of the objective with respect to x0, as `check_gradient` reports it
  adjoint_report params;  ///< the same with respect to p; empty without parameters
  /// The number of the first state at which the derivative of a term sets bar or dp instead of adding to it; -1 if none.
  step_index sets_at = -1;
  /// Nothing is wrong.
  [[nodiscard]] bool passed() const noexcept {
    return step.passed() && state.passed() && params.passed() && sets_at < 0;
  }
  /// The first fault, or that there is none, in one line.
  [[nodiscard]] std::string text() const {
    if (!step.passed()) return "the adjoint of a step is wrong: " + step.text();
    if (sets_at >= 0)
      return "the derivative of a term sets bar or dp at state " + std::to_string(sets_at) +
             "; it must add to what is there";
    if (!state.passed()) return "the gradient with respect to the initial state is wrong: " + state.text();
    if (!params.passed()) return "the gradient with respect to the parameters is wrong: " + params.text();
    return "the adjoint of the step and the gradient of the objective are right";
  }
};

namespace detail {

/// A weighted sum of all numbers of a state, for a model without an objective.
struct weighted_sum {
  [[nodiscard]] static double weight(std::size_t k) noexcept { return 1 + double(k % 7) / 8; }
  template <class Input, class... Params>
  [[nodiscard]] double value(Input const& x, Params const&...) const {
    double sum = 0;
    std::size_t number = 0;
    visit_numbers(x, [&](auto* at, std::size_t count) {
      for (std::size_t k = 0; k < count; ++k) sum += weight(number++) * double(at[k]);
    });
    return sum;
  }
  template <class Input, class Bar, class... Params>
  void add_gradient(Input const&, Bar& bar, Params&&...) const {
    std::size_t number = 0;
    visit_numbers(bar, [&](auto* at, std::size_t count) {
      for (std::size_t k = 0; k < count; ++k) at[k] += std::remove_reference_t<decltype(*at)>(weight(number++));
    });
  }
};

/// All floating-point numbers of x, as double.
template <class T>
[[nodiscard]] std::vector<double> numbers_in(T const& x) {
  std::vector<double> all;
  visit_numbers(x, [&](auto* at, std::size_t count) {
    for (std::size_t k = 0; k < count; ++k) all.push_back(double(at[k]));
  });
  return all;
}
/// Sets them to 1 + shift, 2 + shift ...
template <class T>
void number_all(T& x, double shift) {
  std::size_t number = 0;
  visit_numbers(x, [&](auto* at, std::size_t count) {
    for (std::size_t k = 0; k < count; ++k)
      at[k] = std::remove_reference_t<decltype(*at)>(double(++number % 16) + shift);
  });
}
/// Whether two calls that begin with other numbers add the same.
[[nodiscard]] inline bool adds_the_same(std::vector<double> const& first, std::vector<double> const& second,
                                        double shift) {
  for (std::size_t k = 0; k < first.size(); ++k) {
    double const size = magnitude(first[k]) + magnitude(second[k]) + shift;
    if (!(magnitude(second[k] - first[k] - shift) <= 1e-5 * size)) return false;
  }
  return true;
}

/// The states of the loop, from the last to the first.
template <class ModelType, class State, class Params, class Visit>
void walk_model(ModelType& m, State const& x0, Params const& p, step_index n, Visit visit) {
  decltype(auto) step = step_in(m);
  auto const go = [&](auto run) {
    auto loop = checkpointed_loop(std::move(run), x0, store_all(n));
    for (auto [i, x] : loop.backward()) visit(i, x);
  };
  if constexpr (no_p<Params>) go(step);
  else go(bind_step<State>(step, p));
}

/// Finds, in a gradient that is wrong, the number that is farthest from a central difference: two evaluations each.
/// \param at  where the gradient is taken, of at most 1,000 numbers
template <class Value, class Whole>
void find_worst(adjoint_report& report, Whole const& value_at, Value const& at, Value const& gradient) {
  constexpr std::size_t most = 1'000;
  auto const given = numbers_in(gradient);
  if (report.passed() || given.size() > most) return;
  Value moved = copy_of(at);
  double worst = 0;
  std::size_t number = 0;
  visit_numbers(moved, [&](auto* one, std::size_t count) {
    using real = std::remove_reference_t<decltype(*one)>;
    for (std::size_t k = 0; k < count; ++k, ++number) {
      real const here = one[k];
      double const by = (sizeof(real) < sizeof(double) ? 5e-3 : 6e-6) * (1 + magnitude(double(here)));
      one[k] = real(double(here) + by);
      double const above = value_at(moved), width = double(one[k]) - double(here);
      one[k] = real(double(here) - by);
      double const below = value_at(moved), slope = (above - below) / (width + double(here) - double(one[k]));
      one[k] = here;
      if (!(magnitude(slope - given[number]) > worst)) continue;
      worst = magnitude(slope - given[number]);
      report.number = std::int64_t(number);
      report.number_by_adjoint = given[number], report.number_by_differences = slope;
    }
  });
  if (report.number < 0) return;
  report.member = member_with(at, report.number);
  report.put_in_words("cairn::check_gradient");
}

}  // namespace detail

/// Checks a model along the loop from x0, n steps: whether its adjoint is that of its step, whether the derivatives of
/// the objective's terms are right and add to bar and dp, and whether the gradient with respect to x0 and p is right.
/// \param m, x0, p  as for `differentiate`   \param f  the objective; by default a weighted sum of the numbers of the
///   last state
/// A gradient that is wrong names its worst number, its member, and what it should be, if it has at most 1,000 numbers.
/// Cost: as `check_adjoint` and two `check_gradient` over a loop of n steps; all states are stored. Of a wrong gradient
/// two more loops for each number.
/// \throws what they throw
/// \ingroup start
template <class ModelType, class X0, class Params, class Fn>
requires(!detail::has_its_tool<ModelType> && !std::is_same_v<Fn, check_options>) [[nodiscard]] model_report
    check(ModelType&& m, X0 const& x0, Params const& p, step_index n, Fn f, check_options const& options = {}) {
  using Model = std::remove_reference_t<ModelType>;
  using Objective = detail::objective_type<Fn>;
  model_report report;
  if constexpr (detail::check_differentiated<Model, X0 const&, Params, step_index, Objective>()) {
    using Bar = detail::bar_in<Model, X0>;
    auto const objective = detail::as_objective(std::move(f));
    detail::check_reached(n, objective);
    decltype(auto) step = detail::step_in(m);
    decltype(auto) adjoint = detail::adjoint_in(m);
    Bar const zero = [&] {
      if constexpr (detail::makes_bar<Model, X0>) return m.bar(x0);
      else {
        Bar bar = detail::copy_of(x0);
        detail::clear_numbers(bar);
        return bar;
      }
    }();
    auto const whole = [&](X0 const& x, Params const& q) {
      if constexpr (detail::no_p<Params>) return differentiate(m, x, step_index{n}, objective).value;
      else return differentiate(m, x, q, step_index{n}, objective).value;
    };
    Params scratch = detail::copy_of(p);
    if constexpr (detail::no_p<Params>) report.step = check_adjoint(step, adjoint, x0, n, zero, options);
    else {
      auto bound = detail::bind_step<X0>(step, p);
      auto back = detail::bind_adjoint<X0, Bar>(adjoint, p, scratch);
      report.step = check_adjoint(bound, back, x0, n, zero, options);
    }
    detail::walk_model(m, x0, p, n, [&](step_index i, X0 const& x) {
      constexpr double shift = 64;
      Bar bars[2] = {zero, zero};
      Params sums[2] = {detail::copy_of(p), detail::copy_of(p)};
      for (int k = 0; k < 2; ++k) {
        detail::number_all(bars[k], k * shift);
        if constexpr (!detail::no_p<Params>) detail::number_all(sums[k], k * shift);
        objective.running_gradient(x, bars[k], p, sums[k], i);
        if (i == n) objective.ending_gradient(x, bars[k], p, sums[k], i);
      }
      bool adds = detail::adds_the_same(detail::numbers_in(bars[0]), detail::numbers_in(bars[1]), shift);
      if constexpr (!detail::no_p<Params>)
        adds = adds && detail::adds_the_same(detail::numbers_in(sums[0]), detail::numbers_in(sums[1]), shift);
      if (!adds) report.sets_at = i;
    });
    auto const all = [&] {
      if constexpr (detail::no_p<Params>) return differentiate(m, x0, step_index{n}, objective);
      else return differentiate(m, x0, p, step_index{n}, objective);
    }();
    auto const by_state = [&](X0 const& x) { return whole(x, p); };
    report.state = check_gradient(by_state, x0, all.state, options.random_seed);
    if constexpr (std::is_same_v<Bar, X0>) detail::find_worst(report.state, by_state, x0, all.state);
    if constexpr (!detail::no_p<Params>) {
      auto const by_params = [&](Params const& q) { return whole(x0, q); };
      report.params = check_gradient(by_params, p, all.params, options.random_seed);
      detail::find_worst(report.params, by_params, p, all.params);
    }
  }
  return report;
}
/// The same without an objective.
template <class ModelType, class X0, class Params>
[[nodiscard]] model_report check(ModelType&& m, X0 const& x0, Params const& p, step_index n) {
  return check(std::forward<ModelType>(m), x0, p, n, at_end{detail::weighted_sum{}});
}
/// The same of a model without parameters.
template <class ModelType, class X0, objective Fn>
  requires(!detail::has_its_tool<ModelType>)
[[nodiscard]] model_report check(ModelType&& m, X0 const& x0, step_index n, Fn f, check_options const& options = {}) {
  return check(std::forward<ModelType>(m), x0, no_params{}, n, std::move(f), options);
}
/// The same without either.
template <class ModelType, class X0>
[[nodiscard]] model_report check(ModelType&& m, X0 const& x0, step_index n) {
  return check(std::forward<ModelType>(m), x0, no_params{}, n, at_end{detail::weighted_sum{}});
}

/// How two models differ, of which one may have its adjoint from a tool.
struct model_comparison {
  double value = 0;   ///< relative difference of the values of the objective
  double state = 0;   ///< largest difference of the gradients in x0, relative to the largest number of the first
  double params = 0;  ///< the same in p
  /// All differences are at most `tolerance`.
  [[nodiscard]] bool passed(double tolerance = 1e-9) const noexcept {
    return value <= tolerance && state <= tolerance && params <= tolerance;
  }
};

namespace detail {
/// The largest difference of two lists of numbers, over the largest number of the first; infinite for another count.
[[nodiscard]] inline double difference(std::vector<double> const& first, std::vector<double> const& second) {
  if (first.size() != second.size()) return std::numeric_limits<double>::infinity();
  double off = 0, most = 0;
  auto const note = [](double& into, double v) {
    if (into == into && !(magnitude(v) <= into)) into = magnitude(v);  // NaN, too, which then stays
  };
  for (std::size_t k = 0; k < first.size(); ++k) note(off, first[k] - second[k]), note(most, first[k]);
  return off == 0 ? 0 : off / most;
}
}  // namespace detail

/// Compares the value and the gradients of an objective by two models of the same loop, n steps from x0:
/// `check(by_hand, by_tool(adolc_tape{}, step), x0, p, n, objective)`. Floating-point numbers of other types are compared
/// in the order of `visit_numbers`.
template <class ModelType, class Other, class X0, class Params, class Fn>
[[nodiscard]] model_comparison check(ModelType&& m, Other&& other, X0 const& x0, Params const& p, step_index n, Fn f) {
  auto const first = differentiate(std::forward<ModelType>(m), x0, p, step_index{n}, f);
  auto const second = differentiate(std::forward<Other>(other), x0, p, step_index{n}, f);
  model_comparison found;
  found.value = detail::difference({first.value}, {second.value});
  found.state = detail::difference(detail::numbers_in(first.state), detail::numbers_in(second.state));
  if constexpr (!detail::no_p<Params>)
    found.params = detail::difference(detail::numbers_in(first.params), detail::numbers_in(second.params));
  return found;
}

}  // namespace cairn
