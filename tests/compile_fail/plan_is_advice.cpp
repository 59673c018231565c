// error: `plan.schedule` or `advice.best.schedule`
// SPDX-License-Identifier: Apache-2.0
#include <cairn/cairn.hpp>
#include <cairn/planning.hpp>

auto const step = [](double& x) { x *= 0.5; };
using plan = decltype(cairn::plan_within("1MB", {.steps = 10, .state_bytes = 8}));
static_assert(cairn::detail::has_schedule<plan> && !cairn::schedule<plan>);
int main() {
  auto const plan = cairn::advise("1MB", {.steps = 10, .state_bytes = 8});
#ifdef CAIRN_FIXED
  auto run = cairn::checkpointed_loop(step, 1.0, plan.best.schedule);
#else
  auto run = cairn::checkpointed_loop(step, 1.0, plan);
#endif
  return run.at(3) + run.final_state() > 0 ? 0 : 1;
}
