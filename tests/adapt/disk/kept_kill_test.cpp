// SPDX-License-Identifier: Apache-2.0
// Runs on disk that are kept, of unknown length, or whose steps choose, killed anywhere: what goes on has the bits of an
// undisturbed run.
#include <cairn/run/adaptive.hpp>
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
      auto run = cairn::checkpointed_while(loop.step(), x, goes_on{}, plan, by, last...);
      found.bar = run.reverse(numbers(5, 1.0), loop.with_record(pulls_back{}));
    } else
      found.bar = cairn::gradient(loop.step(), x, plan, numbers(5, 1.0), loop.with_record(pulls_back{}), by, last...);
    for (choice const& one : loop.records()) found.value += one.h;
    return found;
  }
};
cairn::hrevolve const tiers{length, two_tiers};
cairn::online const five{5};
/// \param runs  that are killed, in equal shares of all kinds
void all_at_random(std::uint64_t seed, long runs) {
  std::mt19937_64 draw{seed};
  long const each = runs / 13 + 1;
  kill_at_random<by_gradient<numbers>>(tiers, draw, each);
  kill_at_random<by_gradient<noted>>(cairn::multistage{length, 2, 4}, draw, each);
  kill_at_random<by_gradient<solver>>(cairn::two_level{length, 10, 3}, draw, each);
  kill_at_random<by_gradient<numbers>>(cairn::revolve{length, 3}, draw, each);
  kill_at_random<by_run<numbers>>(tiers, draw, each);
  kill_at_random<by_run<noted>>(five, draw, each);
  kill_at_random<by_run<solver>>(five, draw, each);
  kill_at_random<by_run<solver>>(tiers, draw, each);
  kill_at_random<by_two_reverses>(tiers, draw, each);
  kill_at_random<by_objective>(five, draw, each);
  kill_at_random<by_objective>(tiers, draw, each);
  kill_at_random<by_choices>(five, draw, each);
  kill_at_random<by_choices>(tiers, draw, each);
}

}  // namespace

TEST_CASE("a kept run that is killed anywhere goes on with the bits of an undisturbed one, for each kind of state") {
  kill_everywhere<by_run<numbers>>(tiers, 5);
  kill_everywhere<by_run<numbers>>(cairn::multistage{length, 2, 4}, 17);
  kill_everywhere<by_run<numbers>>(cairn::revolve{length, 3}, 17);
  kill_everywhere<by_run<noted>>(tiers, 17);
  kill_everywhere<by_run<solver>>(tiers, 13);
}
TEST_CASE("so does a loop of unknown length") {
  kill_everywhere<by_run<numbers>>(five, 5);
  kill_everywhere<by_run<noted>>(five, 17);
  kill_everywhere<by_run<solver>>(five, 13);
}
TEST_CASE("so does a run that is reversed twice") {
  kill_everywhere<by_two_reverses>(tiers, 11);
  kill_everywhere<by_two_reverses>(five, 11);
}
TEST_CASE("so does an objective over a loop of unknown length, and as a function") {
  kill_everywhere<by_objective>(five, 5);
  kill_everywhere<by_objective>(five, 7, 1'000);
  kill_everywhere<by_objective>(tiers, 17);
}
TEST_CASE("so does a loop whose steps choose, and its choices are those of the undisturbed one") {
  kill_everywhere<by_choices>(five, 5);
  kill_everywhere<by_choices>(tiers, 7);
}
TEST_CASE("300 runs, killed at random") { all_at_random(1, 300); }
TEST_CASE("10,000 runs, killed at random", "[.soak]") { all_at_random(2, 10'000); }
