// SPDX-License-Identifier: Apache-2.0
// A run that is kept: final state, checkpoints, states by number, walking backwards, repeated reverse sweeps and what
// they cost.
#include <cairn/cairn.hpp>
#include "support/catch.hpp"
#include "support/pendulum.hpp"

using cairn::step_index;
namespace {

template <class Step>
void check_run(cairn::any_schedule const& plan) {
  pendulum::stored const all{plan.steps()};
  step_index const n = plan.steps();
  int const outside = pendulum::state::alive;
  {
    pendulum::step_calls = 0;
    auto run = cairn::checkpointed_loop(Step{}, pendulum::start(), plan);
    CAPTURE(n, plan.slots(), plan.leaf());
    CHECK(run.final_state().v == all.states.back());
    CHECK(run.reverse(pendulum::seed, pendulum::leaf{}) == all.gradient);
    CHECK(cairn::wide(pendulum::step_calls) == cairn::verify(plan).advances + cairn::verify(plan).turned);
    CHECK(run.step_calls() == cairn::wide(pendulum::step_calls));
    auto twice = run.final_state().v;
    for (double& value : twice) value *= 2;
    auto const second = run.reverse(twice, pendulum::leaf{});
    for (std::size_t k = 0; k < 2; ++k) CHECK(second[k] == 2 * all.gradient[k]);
    if (plan.leaf() == 1) {
      CHECK(run.reverse(pendulum::seed, pendulum::with_next{}) == all.gradient);
      CHECK(run.reverse(pendulum::seed, pendulum::recorded()) == all.gradient);
      step_index expected = n;
      for (auto [i, x] : run.backward()) {
        CHECK(i == expected--);
        CHECK(x.v == all.states[std::size_t(i)]);
        if (i % 7 == 0) CHECK(run.at(i / 2).v == all.states[std::size_t(i / 2)]);
      }
      CHECK(expected == -1);
    }
    for (step_index i = 0; i <= n; i += 3) CHECK(run.at(i).v == all.states[std::size_t(i)]);
    auto moved = std::move(run);
    CHECK(moved.reverse(pendulum::seed, pendulum::leaf{}) == all.gradient);
  }
  CHECK(pendulum::state::alive == outside);
}

/// Steps that a second reverse runs beyond what its plan says.
long extra_steps_of_second_reverse(cairn::any_schedule const& plan) {
  auto run = cairn::checkpointed_loop(pendulum::in_place{}, pendulum::start(), plan);
  pendulum::step_calls = 0;
  (void)run.reverse(pendulum::seed, pendulum::one_step{});
  long const first = pendulum::step_calls;
  pendulum::step_calls = 0;
  (void)run.reverse(pendulum::seed, pendulum::one_step{});
  return pendulum::step_calls - first;
}

}  // namespace

TEST_CASE("a run gives final state, gradients and any state, once and again, for every plan") {
  for (step_index const n : {0, 1, 2, 3, 7, 40}) {
    for (cairn::any_schedule const& plan :
         {cairn::any_schedule{cairn::store_all(n)}, cairn::any_schedule{cairn::uniform{n}},
          cairn::any_schedule{cairn::uniform{n, {.block = 3}}}, cairn::any_schedule{cairn::revolve{n, 1}},
          cairn::any_schedule{cairn::revolve{n, 4}}, cairn::any_schedule{cairn::revolve{n, 3, {.free_initial = true}}},
          cairn::any_schedule{cairn::leaves{n, 3, cairn::revolve{(n + 2) / 3, 2}}}}) {
      check_run<pendulum::in_place>(plan);
      check_run<pendulum::by_value>(plan);
      check_run<pendulum::out_of_place>(plan);
    }
  }
}

TEST_CASE("a second reverse costs the steps whose states were given up, and no more") {
  CHECK(extra_steps_of_second_reverse(cairn::store_all(1000)) == 0);
  CHECK(extra_steps_of_second_reverse(cairn::uniform{1000, {.block = 10}}) <= 9);
  CHECK(extra_steps_of_second_reverse(cairn::uniform{1000}) <= 42);
  CHECK(extra_steps_of_second_reverse(cairn::revolve{1000, 10}) <= 999);
}

TEST_CASE("the seed document's shape works: a final state and checkpoints by position") {
  auto const step = [](std::vector<double> const& x) {
    auto x1 = x;
    for (double& value : x1) value = std::tanh(value * 1.1 + 0.1);
    return x1;
  };
  auto [final_state, checkpoints] = cairn::checkpointed_loop(step, std::vector<double>(8), 1000);
  CHECK(checkpoints.size() == 31);
  std::vector<double> x(8);
  std::size_t found = 0;
  for (int i = 0; i < 1000; ++i) {
    if (checkpoints.contains(i)) {
      CHECK(checkpoints.at(i) == x);
      ++found;
    }
    x = step(x);
  }
  CHECK(found == 31);
  CHECK(final_state == x);
  CHECK_FALSE(checkpoints.contains(0));
  CHECK_THROWS_AS(checkpoints.at(5), cairn::invalid_call);
  step_index last = 0;
  auto const expected = cairn::compute_checkpoint_positions(1000, 31);
  std::size_t k = 0;
  for (auto [position, state] : checkpoints) {
    CHECK(position > last);
    CHECK(position == expected[k++]);
    CHECK(state.size() == 8);
    last = position;
  }
}

TEST_CASE("every kind of plan says what its checkpoints are") {
  auto const count = [](auto const& plan) {
    return cairn::checkpointed_loop(pendulum::in_place{}, pendulum::start(), plan).checkpoints().size();
  };
  CHECK(count(cairn::uniform{100, {.block = 10}}) == 9);
  CHECK(count(cairn::uniform{100, {.checkpoints = 4}}) == 4);
  CHECK(count(cairn::revolve{100, 5}) == 4);
  CHECK(count(cairn::any_schedule{cairn::uniform{100, {.checkpoints = 4}}}) == 4);
}

TEST_CASE("at and backward say what they cannot do") {
  auto run =
      cairn::checkpointed_loop(pendulum::in_place{}, pendulum::start(), cairn::leaves{8, 2, cairn::revolve{4, 2}});
  CHECK_THROWS_AS(run.at(-1), cairn::invalid_call);
  CHECK_THROWS_AS(run.at(9), cairn::invalid_call);
  CHECK_THROWS_AS(run.backward(), cairn::invalid_plan);
  CHECK_THROWS_AS(run.reverse(pendulum::seed, pendulum::one_step{}), cairn::invalid_plan);
}

TEST_CASE("a walk backwards may be left early and started again") {
  auto run = cairn::checkpointed_loop(pendulum::in_place{}, pendulum::start(), cairn::revolve{50, 3});
  pendulum::stored const all{50};
  for (auto [i, x] : run.backward())
    if (i < 20) break;
  CHECK(run.reverse(pendulum::seed, pendulum::one_step{}) == all.gradient);
  step_index seen = 0;
  for (auto [i, x] : run.backward()) seen += x.v == all.states[std::size_t(i)];
  CHECK(seen == 51);
}

TEST_CASE("a workspace serves sweeps of one type of plan one after another, of any size") {
  auto work = cairn::workspace_for<pendulum::state>(cairn::revolve{1, 1});
  for (step_index const n : {40, 3, 97, 0, 97, 1}) {
    CHECK(cairn::gradient(pendulum::out_of_place{}, pendulum::start(), cairn::revolve{n, 1 + n / 7}, pendulum::seed,
                          pendulum::one_step{}, work) == pendulum::stored{n}.gradient);
    auto run = cairn::checkpointed_loop(pendulum::in_place{}, pendulum::start(), cairn::revolve{n, 2}, work);
    CHECK(run.reverse(pendulum::seed, pendulum::with_next{}) == pendulum::stored{n}.gradient);
  }
}
