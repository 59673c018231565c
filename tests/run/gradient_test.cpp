// SPDX-License-Identifier: Apache-2.0
// The same bits, the predicted calls and the predicted peak of states: for every form, schedule, number of slots and
// leaf size.
#include <functional>
#include <cairn/cairn.hpp>
#include "support/catch.hpp"
#include "support/csv.hpp"
#include "support/pendulum.hpp"

using cairn::step_index;
namespace {

step_index integer(csv::row const& row, char const* column) { return step_index(csv::number(row.at(column))); }

struct counts {
  long step_calls = 0, saves = 0, loads = 0;
};
/// Counts what a sweep really does, as an observer.
struct counter {
  counts& into;
  void operator()(cairn::event const& e) const {
    if (e.moment() == cairn::moment::before) return;
    into.saves += e.what().kind == cairn::action_kind::save;
    into.loads += e.what().kind == cairn::action_kind::load;
  }
};

template <class Step, class Adjoint>
constexpr cairn::sweep_form form_of = {
    cairn::detail::shape_of_step<Step, pendulum::state>().form,
    cairn::detail::shape_of_adjoint<Adjoint, pendulum::state, pendulum::numbers>().form};

/// One gradient: bits, calls, saves, loads and the peak of states against `verify` and `estimate`.
template <class Step, class Adjoint>
void check(auto const& plan, Step step, Adjoint adjoint, pendulum::numbers const& expected) {
  constexpr auto form = form_of<Step, Adjoint>;
  auto const start = pendulum::start();
  int const outside = pendulum::state::alive;
  pendulum::state::peak = outside;
  pendulum::step_calls = 0;
  counts seen;
  auto const got = cairn::gradient(step, start, plan, pendulum::seed, adjoint, counter{seen});
  CAPTURE(plan.steps(), plan.slots(), plan.leaf(), int(form.step), int(form.adjoint));
  auto const predicted = cairn::estimate(plan, {.form = form});
  auto const verified = cairn::verify(plan);
  REQUIRE(got == expected);
  CHECK(pendulum::state::alive == outside);
  CHECK(cairn::wide(pendulum::step_calls) == predicted.step_calls);
  CHECK(cairn::wide(seen.saves) == verified.saves);
  CHECK(cairn::wide(seen.loads) == verified.loads);
  CHECK(predicted.saves == verified.saves);
  CHECK(predicted.loads == verified.loads);
  CHECK(pendulum::state::peak - outside <= predicted.peak_states);
  if (plan.steps() > 2 * plan.leaf() && plan.steps() > 30)
    CHECK(pendulum::state::peak - outside == predicted.peak_states);
}

template <class Step>
void check_adjoints(auto const& plan, pendulum::numbers const& expected) {
  if (plan.leaf() == 1) {
    check(plan, Step{}, pendulum::one_step{}, expected);
    check(plan, Step{}, pendulum::one_step_by_value{}, expected);
    check(plan, Step{}, pendulum::with_next{}, expected);
    check(plan, Step{}, pendulum::recorded(), expected);
  }
  check(plan, Step{}, pendulum::leaf{}, expected);
}
/// All forms through one type of plan, which keeps this file quick to compile; other tests take each schedule as
/// itself.
void check_all(cairn::any_schedule const& plan, pendulum::numbers const& expected) {
  check_adjoints<pendulum::in_place>(plan, expected);
  check_adjoints<pendulum::by_value>(plan, expected);
  check_adjoints<pendulum::out_of_place>(plan, expected);
}

}  // namespace

TEST_CASE("a gradient has the bits of storing everything and the predicted counts, for all plans and forms") {
  for (step_index const n : {0, 1, 2, 3, 5, 8, 17, 40, 97}) {
    auto const expected = pendulum::stored{n}.gradient;
    check_all(cairn::store_all(n), expected);
    check_all(cairn::uniform{n}, expected);
    for (step_index const block : {1, 2, 3, 7, 10}) check_all(cairn::uniform{n, {.block = block}}, expected);
    for (step_index const slots : {1, 2, 3, 5, 9, 200}) {
      check_all(cairn::revolve{n, slots}, expected);
      check_all(cairn::revolve{n, slots, {.free_initial = true}}, expected);
      for (step_index const leaf : {2, 3, 7, 10})
        check_all(cairn::leaves{n, leaf, cairn::revolve{(n + leaf - 1) / leaf, slots}}, expected);
    }
  }
}

TEST_CASE("store_all runs no step twice, unless the adjoint records") {
  auto const plan = cairn::store_all(50);
  pendulum::step_calls = 0;
  (void)cairn::gradient(pendulum::in_place{}, pendulum::start(), plan, pendulum::seed, pendulum::one_step{});
  CHECK(pendulum::step_calls == 50);
  CHECK(cairn::estimate(plan).extra_steps == 0);
  pendulum::step_calls = 0;
  (void)cairn::gradient(pendulum::in_place{}, pendulum::start(), plan, pendulum::seed, pendulum::recorded());
  CHECK(pendulum::step_calls == 99);
}

TEST_CASE("every Revolve oracle row up to 200 steps is executed with its advances and stores, for four adjoint forms") {
  auto const rows = csv::oracle("revolve_small.csv");
  int checked = 0;
  for (auto const& row : rows) {
    step_index const n = integer(row, "n"), slots = integer(row, "s");
    if (n > 200) continue;
    ++checked;
    auto const expected = pendulum::stored{n}.gradient;
    cairn::any_schedule const plan = cairn::revolve{n, slots};
    auto const advances = integer(row, "min_advances");
    auto const run = [&](auto adjoint) {
      counts seen;
      pendulum::step_calls = 0;
      CHECK(cairn::gradient(pendulum::in_place{}, pendulum::start(), plan, pendulum::seed, adjoint, counter{seen}) ==
            expected);
      if (n > 1) CHECK(seen.saves == integer(row, "min_stores"));
      return pendulum::step_calls;
    };
    CAPTURE(n, slots);
    CHECK(run(pendulum::one_step{}) == advances + 1);
    CHECK(run(pendulum::with_next{}) == advances + 1);
    CHECK(run(pendulum::leaf{}) == advances + 1);
    CHECK(run(pendulum::recorded()) == advances + n);
  }
  CHECK(checked > 100);
}

TEST_CASE("every uniform oracle row up to 200 steps is executed with its advances") {
  int checked = 0;
  for (auto const& row : csv::oracle("uniform_block.csv")) {
    step_index const n = integer(row, "n");
    if (n > 200) continue;
    ++checked;
    pendulum::step_calls = 0;
    cairn::any_schedule const plan = cairn::uniform{n, {.block = integer(row, "block")}};
    counts seen;
    (void)cairn::gradient(pendulum::in_place{}, pendulum::start(), plan, pendulum::seed, pendulum::one_step{},
                          counter{seen});
    CHECK(pendulum::step_calls == integer(row, "advances_turns_excluded_last_block_kept") + 1);
  }
  CHECK(checked > 10);
}

TEST_CASE("a plan with leaves and an adjoint of one step is refused before any step runs") {
  pendulum::step_calls = 0;
  CHECK_THROWS_AS(cairn::gradient(pendulum::in_place{}, pendulum::start(), cairn::leaves{8, 2, cairn::revolve{4, 2}},
                                  pendulum::seed, pendulum::one_step{}),
                  cairn::invalid_plan);
  CHECK_THROWS_AS(cairn::gradient(pendulum::in_place{}, pendulum::start(), -1, pendulum::seed, pendulum::one_step{}),
                  cairn::invalid_plan);
  CHECK(pendulum::step_calls == 0);
}

TEST_CASE("callables are used where they stand and seeds are taken as given") {
  struct adjoint_that_sums {
    double parameter = 0;
    void operator()(double x, double& bar, step_index) { parameter += x * bar, bar *= 0.5; }
  } adjoint;
  auto const step = [](double& x, step_index) { x *= 0.5; };
  double const seed = 1.0;
  CHECK(cairn::gradient(step, 8.0, 3, seed, adjoint) == 0.125);
  CHECK(adjoint.parameter == 8.0 * 0.25 + 4.0 * 0.5 + 2.0);
  std::vector<double> const kept{1.0};
  std::vector<double> given = kept;
  CHECK(cairn::gradient(step, 8.0, 2, given, [](double, std::vector<double>& bar, step_index) { bar[0] *= 0.5; })[0] ==
        0.25);
  CHECK(given == kept);
}

TEST_CASE("a hook sees every state with the adjoint that belongs to it") {
  step_index const n = 50;
  pendulum::stored const all{n};
  step_index next = n;
  auto const hook = [&](pendulum::state const& x, pendulum::numbers&, step_index i) {
    CHECK(i == --next);
    CHECK(x.v == all.states[std::size_t(i)]);
  };
  CHECK(cairn::gradient(pendulum::in_place{}, pendulum::start(), cairn::revolve{n, 4}, pendulum::seed,
                        cairn::hooked(pendulum::one_step{}, hook)) == all.gradient);
  CHECK(next == 0);
}

namespace {

/// A user's schedule that counts in a type of its own.
template <class Count>
struct counted_by_hand {
  cairn::revolve inside{23, 3};
  [[nodiscard]] Count steps() const { return Count(inside.steps()); }
  [[nodiscard]] Count slots() const { return Count(inside.slots()); }
  [[nodiscard]] Count leaf() const { return 1; }
  [[nodiscard]] auto walk() const { return inside.walk(); }
};

}  // namespace

TEMPLATE_TEST_CASE("a schedule may count in another integer type than the library", "", int, long long, unsigned) {
  counted_by_hand<TestType> const plan;
  auto const expected = pendulum::stored{23}.gradient;
  pendulum::in_place step;
  pendulum::one_step adjoint;
  CHECK(cairn::gradient(step, pendulum::start(), plan, pendulum::seed, adjoint) == expected);
  CHECK(cairn::checkpointed_loop(step, pendulum::start(), plan).reverse(pendulum::seed, adjoint) == expected);
  CHECK(cairn::gradient(step, pendulum::start(), cairn::any_schedule{plan}, pendulum::seed, adjoint) == expected);
  CHECK(cairn::estimate(plan).step_calls == cairn::estimate(plan.inside).step_calls);
  cairn::nested const loop{plan, step, adjoint};
  CHECK(cairn::gradient(loop.step, pendulum::start(), 1, pendulum::seed, loop.adjoint) == expected);
}

TEST_CASE("step and adjoint may be references to functions that keep something") {
  int steps = 0, adjoints = 0;
  auto step = [k = 0, &steps](double& x, cairn::step_index i) mutable { x *= 1 + 0.01 * double(i); steps = ++k; };
  auto adjoint = [k = 0, &adjoints](double, double& bar, cairn::step_index i) mutable {
    bar *= 1 + 0.01 * double(i);
    adjoints = ++k;
  };
  double const expected = cairn::gradient(step, 1.0, cairn::store_all(17), 1.0, adjoint);
  CHECK(cairn::gradient(std::ref(step), 1.0, cairn::store_all(17), 1.0, std::ref(adjoint)) == expected);
  CHECK(steps == 34);  // the objects themselves were called
  CHECK(adjoints == 34);
}

TEST_CASE("a nested loop may be const, with any functions") {
  cairn::nested const loop{cairn::revolve{5, 2},
                           [k = 0](double& x) mutable {
                             ++k;
                             x *= 0.5;
                           },
                           [k = 0](double, double& bar) mutable {
                             ++k;
                             bar *= 0.5;
                           }};
  CHECK(cairn::gradient(loop.step, 1.0, 3, 1.0, loop.adjoint) == 1.0 / 32'768);
}

TEST_CASE("loops nest to the same bits, with indexed and index-free inner functions") {
  auto const expected = pendulum::stored{91}.gradient;
  cairn::nested inner{cairn::revolve{7, 2}, pendulum::in_place{}, pendulum::one_step{}};
  CHECK(cairn::gradient(inner.step, pendulum::start(), cairn::revolve{13, 3}, pendulum::seed, inner.adjoint) ==
        expected);
  cairn::nested outer{cairn::uniform{13}, inner.step, inner.adjoint};
  CHECK(cairn::gradient(outer.step, pendulum::start(), 1, pendulum::seed, outer.adjoint) == expected);

  auto const halve = [](double& x) { x *= 0.5; };
  auto const halve_back = [](double const&, double& bar) { bar *= 0.5; };
  cairn::nested plain{cairn::revolve{3, 1}, halve, halve_back};
  CHECK(cairn::gradient(plain.step, 1.0, 4, 1.0, plain.adjoint) == cairn::gradient(halve, 1.0, 12, 1.0, halve_back));
}
