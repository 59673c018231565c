// SPDX-License-Identifier: Apache-2.0
// A kept run by two_level: the periods' starts stand as long as the run, so that each further reverse costs the way
// back and no more.
#include <vector>
#include <cairn/cairn.hpp>
#include <cairn/schedule/two_level.hpp>
#include "support/catch.hpp"
#include "support/pendulum.hpp"

using namespace cairn;

namespace {

/// Just the advances of the reversal.
wide way_back(two_level const& plan) { return plan.counts().advances - wide(plan.steps()); }

/// Counts calls of the step by each form.
template <class Step>
void reverse_again_and_again(two_level const& plan) {
  pendulum::stored const all{plan.steps()};
  INFO(plan.steps() << " steps, periods of " << plan.period() << ", extra slots " << plan.extra_slots());
  pendulum::step_calls = 0;
  auto run = checkpointed_loop(Step{}, pendulum::start(), plan);
  CHECK(wide(pendulum::step_calls) == wide(plan.steps()));  // the last step, too
  CHECK(run.final_state().v == all.states.back());
  for (int time = 1; time <= 4; ++time) {
    pendulum::step_calls = 0;
    CHECK(run.reverse(pendulum::seed, pendulum::one_step{}) == all.gradient);
    CHECK(wide(pendulum::step_calls) == way_back(plan));
  }
  pendulum::step_calls = 0;
  step_index expected = plan.steps();
  for (auto [i, x] : run.backward()) {
    if (i != expected || x.v != all.states[std::size_t(i)]) FAIL("state " << i);
    --expected;
  }
  CHECK(wide(pendulum::step_calls) == way_back(plan));
}

}  // namespace

TEST_CASE("every further reverse of a two_level run in memory takes the steps of the reversal and none more") {
  for (step_index const n : {1, 2, 3, 10, 40, 101})
    for (step_index const p : {1, 3, 10, 50, 200})
      for (slot_index const x : {0, 1, 3, 20}) {
        reverse_again_and_again<pendulum::in_place>({n, p, x, {.periods_on = tier::memory}});
        reverse_again_and_again<pendulum::by_value>({n, p, x, {.periods_on = tier::memory}});
        reverse_again_and_again<pendulum::out_of_place>({n, p, x, {.periods_on = tier::memory}});
      }
}

TEST_CASE("a two_level sweep gives the gradient of store-all with the steps that it predicts") {
  for (step_index const n : {0, 1, 2, 7, 60}) {
    pendulum::stored const all{n};
    for (step_index const p : {1, 4, 100})
      for (slot_index const x : {0, 2}) {
        two_level const plan{n, p, x, {.periods_on = tier::memory}};
        INFO(n << " steps, periods of " << p << ", extra slots " << x);
        pendulum::step_calls = 0;
        CHECK(gradient(pendulum::in_place{}, pendulum::start(), plan, pendulum::seed, pendulum::one_step{}) ==
              all.gradient);
        CHECK(wide(pendulum::step_calls) == plan.counts().advances);
        CHECK(gradient(pendulum::by_value{}, pendulum::start(), plan, pendulum::seed, pendulum::with_next{}) ==
              all.gradient);
        CHECK(gradient(pendulum::out_of_place{}, pendulum::start(), any_schedule{plan}, pendulum::seed,
                       pendulum::recorded()) == all.gradient);
      }
  }
}

TEST_CASE("the checkpoints of a two_level run are the starts of its periods") {
  auto const run = checkpointed_loop(pendulum::in_place{}, pendulum::start(), two_level{23, 5, 2, {.periods_on = tier::memory}});
  std::vector<step_index> seen;
  for (auto const& [i, x] : run.checkpoints()) seen.push_back(i);
  CHECK(seen == std::vector<step_index>{5, 10, 15, 20});  // the initial state is not one
}
