// SPDX-License-Identifier: Apache-2.0
// A sweep holds as many states at once as its estimate says, no more and no fewer: for every schedule, kept or not, and
// loops of unknown length.
#include <algorithm>
#include <string>
#include <cairn/cairn.hpp>
#include "support/catch.hpp"
#include "support/plans.hpp"

using namespace cairn;

namespace {

/// Counts the objects that stand.
struct counted_state {
  static inline long alive = 0, peak = 0;
  double x = 0;
  counted_state() { born(); }
  explicit counted_state(double value) : x{value} { born(); }
  counted_state(counted_state const& other) : x{other.x} { born(); }
  counted_state& operator=(counted_state const&) = default;
  ~counted_state() { --alive; }
  static void born() { peak = std::max(peak, ++alive); }
};

auto const in_place_step = [](counted_state& x, step_index) { x.x *= 1.01; };
auto const by_value_step = [](counted_state const& x, step_index) { return counted_state(x.x * 1.01); };
auto const out_of_place_step = [](counted_state const& x, counted_state& x1, step_index) { x1.x = x.x * 1.01; };
auto const one_step_adjoint = [](counted_state const&, double& bar, step_index) { bar *= 1.01; };
auto const next_adjoint = [](counted_state const&, counted_state const&, double& bar, step_index) { bar *= 1.01; };
auto const recording_adjoint =
    recorded{[](counted_state& x, step_index) {
               x.x *= 1.01;
               return x.x;
             },
             [](double const&, double& bar) { bar *= 1.01; }, [](double const& tape) { return counted_state{tape}; }};

/// The most states that stood during f, beside those that stood before.
template <class F>
long most_during(F f) {
  long const before = counted_state::peak = counted_state::alive;
  f();
  return counted_state::peak - before;
}

template <class Step, class Adjoint>
sweep_form form_of(bool keeps_run) {
  return {.step = detail::shape_of_step<Step, counted_state>().form,
          .adjoint = detail::shape_of_adjoint<Adjoint, counted_state, double>().form,
          .keeps_run = keeps_run};
}

template <class Step, class Adjoint>
void check_plan(any_schedule const& plan, Step step, Adjoint adjoint) {
  counted_state const x0{1.0};
  auto const predicted = [&](bool keeps_run) {
    return estimate(plan, {.form = form_of<Step, Adjoint>(keeps_run)}).peak_states;
  };
  CHECK(most_during([&] { (void)gradient(step, x0, plan, 1.0, adjoint); }) == predicted(false));
  if (plan.tapes() > 0) return;
  CHECK(most_during([&] {
          auto run = checkpointed_loop(step, x0, plan);
          (void)run.reverse(1.0, adjoint);
        }) == predicted(true));
}

template <class Step, class Adjoint>
void check_online(step_index n, slot_index slots, bool eager, Step step, Adjoint adjoint) {
  online const plan{slots, {.eager = eager}};
  auto const form = form_of<Step, Adjoint>(true);
  CAPTURE(n, slots, eager, int(form.step), int(form.adjoint));
  counted_state const x0{1.0};
  auto const seen = most_during([&] {
    auto run = checkpointed_while(step, x0, [&](counted_state const&, step_index i) { return i < n; }, plan);
    (void)run.reverse(1.0, adjoint);
  });
  CHECK(seen == estimate(plan.stopping_at(n, form.step != step_form::in_place), {.form = form}).peak_states);
}

/// Calls use(step, adjoint) for the forms that decide how many states there are.
template <class Use>
void each_form(Use use) {
  auto const with_step = [&](auto step) {
    use(step, one_step_adjoint);
    use(step, next_adjoint);
    use(step, recording_adjoint);
  };
  with_step(in_place_step);
  with_step(by_value_step);
  with_step(out_of_place_step);
}

}  // namespace

TEST_CASE("a sweep holds exactly as many states at once as its estimate says", "[run][peak]") {
  for (step_index const n : {0, 1, 2, 3, 4, 5, 7, 10, 18, 31})
    each_in_memory(n, [&](std::string const& name, auto const& made) {
      if (made.leaf() > 1) return;
      any_schedule const plan{made};
      each_form([&](auto step, auto adjoint) {
        auto const form = form_of<decltype(step), decltype(adjoint)>(false);
        if (plan.tapes() > 0 && form.adjoint != adjoint_form::recorded) return;
        INFO(name << ", step form " << int(form.step) << ", adjoint form " << int(form.adjoint));
        check_plan(plan, step, adjoint);
      });
    });
}

TEST_CASE("a loop of unknown length holds exactly as many states at once as the estimate of where it stopped says",
          "[run][peak]") {
  for (step_index n = 0; n <= 40; ++n)
    for (slot_index slots = 1; slots <= 6; ++slots)
      for (bool const eager : {false, true})
        each_form([&](auto step, auto adjoint) { check_online(n, slots, eager, step, adjoint); });
}
