// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file kept_verbs.hpp  Verbs that keep a run, of known and unknown length, with an objective, and with steps that choose.
#include <cairn/adapt/threads.hpp>
#include <cairn/run/with/adaptive.hpp>
#include "adapt/disk/kill_everywhere.hpp"

namespace {

step_index const length = 30;
struct goes_on {
  template <class State>
  bool operator()(State const&, step_index i) const { return i < length; }
};
template <class Plan, class State, class... Last>
auto begun(Plan const& plan, State& x, Last&... last) {
  if constexpr (cairn::open_schedule<Plan>)
    return cairn::checkpointed_while(step<State>{}, x, goes_on{}, plan, last...);
  else return cairn::checkpointed_loop(step<State>{}, x, plan, last...);
}
template <class State>
struct by_run {
  template <class Plan, class... Last>
  static answer of(Plan const& plan, Last const&... last) {
    answer found{{}, {7, 7}};
    auto x = start<State>();
    wrt by{p, found.dp};
    auto run = begun(plan, x, by, last...);
    found.bar = run.reverse(numbers(5, 1.0), adjoint<State>{});
    return found;
  }
};
template <>
struct by_run<solver> {
  template <class Plan, class... Last>
  static answer of(Plan const& plan, Last const&... last) {
    answer found{{}, {7, 7}};
    solver x;
    wrt by{p, found.dp};
    auto run = begun(plan, x, by, last...);
    auto const seed = [](solver& s) { return s.v; };
    found.bar = run.reverse(seed, adjoint<solver>{});
    return found;
  }
};
/// The adjoint of two objectives, one after the other.
struct by_two_reverses {
  template <class Plan, class... Last>
  static answer of(Plan const& plan, Last const&... last) {
    answer found{{}, {7, 7}};
    auto x = start<numbers>();
    wrt by{p, found.dp};
    auto run = begun(plan, x, by, last...);
    found.bar = run.reverse(numbers(5, 1.0), adjoint<numbers>{});
    for (double const more : run.reverse([](numbers const& last_state) { return last_state; }, adjoint<numbers>{}))
      found.bar.push_back(more);
    return found;
  }
};
struct by_objective {
  template <class Plan, class... Last>
  static answer of(Plan const& plan, Last const&... last) {
    auto const f = cairn::at_every(4, misfit, misfit_back) + cairn::at_end(misfit, misfit_back);
    cairn::model const m{step<numbers>{}, adjoint<numbers>{}};
    auto const as_answer = [](auto const& found) { return answer{found.state, found.params, found.value}; };
    if constexpr (cairn::open_schedule<Plan>)
      return as_answer(cairn::differentiate(m, start<numbers>(), p, cairn::run_while{goes_on{}, plan}, f, last...));
    else {
      cairn::value_and_gradient g{m, plan, f};
      auto const x0 = start<numbers>();
      return as_answer(g(x0, p, last...));
    }
  }
};
/// A step size that is halved until the change is small.
struct choice {
  double h = 0;
  int halvings = 0;
};
struct chooses {
  choice operator()(numbers& x, numbers const& q, step_index) const {
    killed::tick();
    choice made{0.2, 0};
    while (made.h * q[0] * std::abs(std::cos(x[0])) > 0.03) made.h /= 2, ++made.halvings;
    for (double& v : x) v += made.h * q[0] * std::cos(v);
    return made;
  }
};
struct repeats {
  void operator()(numbers& x, numbers const& q, choice const& made) const {
    killed::tick();
    for (double& v : x) v += made.h * q[0] * std::cos(v);
  }
};
struct pulls_back {
  void operator()(numbers const& x, numbers& bar, numbers const& q, numbers& dq, choice const& made) const {
    killed::tick();
    for (std::size_t k = 0; k < x.size(); ++k) {
      dq[0] += bar[k] * made.h * std::cos(x[k]);
      bar[k] *= 1 - made.h * q[0] * std::sin(x[k]);
    }
  }
};
struct by_choices {
  template <class Plan, class... Last>
  static answer of(Plan const& plan, Last const&... last) {
    answer found{{}, {7, 7}};
    cairn::adaptive loop{chooses{}, repeats{}};
    auto x = start<numbers>();
    wrt by{p, found.dp};
    if constexpr (cairn::open_schedule<Plan>) {
      auto run = cairn::checkpointed_while(cairn::concurrent(loop.step()), x, goes_on{}, plan, by, last...);
      found.bar = run.reverse(numbers(5, 1.0), loop.with_record(pulls_back{}));
    } else
      found.bar = cairn::gradient(cairn::concurrent(loop.step()), x, plan, numbers(5, 1.0),
                                  loop.with_record(pulls_back{}), by, last...);
    for (choice const& one : loop.records()) found.value += one.h;
    return found;
  }
};
cairn::hrevolve const tiers{length, two_tiers};
cairn::online const five{5};

}  // namespace
