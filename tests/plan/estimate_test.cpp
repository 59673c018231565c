// SPDX-License-Identifier: Apache-2.0
#include <limits>
#include <utility>
#include <cairn/plan/loop/certificate.hpp>
#include <cairn/plan/loop/estimate.hpp>
#include "support/catch.hpp"
#include "support/plans.hpp"
#include "support/schedule_text.hpp"

using namespace cairn;
using Catch::Matchers::ContainsSubstring;
using Catch::Matchers::WithinRel;

namespace {

/// A plan that does not know its totals.
template <schedule Plan>
struct untold {
  Plan plan;
  [[nodiscard]] constexpr step_index steps() const { return plan.steps(); }
  [[nodiscard]] constexpr slot_index slots() const { return plan.slots(); }
  [[nodiscard]] constexpr step_index leaf() const { return plan.leaf(); }
  [[nodiscard]] constexpr slot_index tapes() const { return tapes_of(plan); }
  [[nodiscard]] constexpr bool tapes_restart() const { return cairn::tapes_restart(plan); }
  [[nodiscard]] constexpr bool initial_is_free() const { return cairn::initial_is_free(plan); }
  [[nodiscard]] constexpr auto walk() const { return plan.walk(); }
};
template <class Plan> untold(Plan) -> untold<Plan>;

// The states of a plan with as many slots as can be counted are counted without overflow.
static_assert(detail::most_states({.slots = INT64_MAX, .peak_slots = INT64_MAX}, {}) == INT64_MAX);
static_assert(detail::frames_reserved({.slots = INT64_MAX - 1}, {}) == INT64_MAX);

template <class Use>
void each_form(Use use) {
  for (step_form const step : {step_form::in_place, step_form::by_value, step_form::out_of_place})
    for (adjoint_form const adjoint : {adjoint_form::one_step, adjoint_form::with_next, adjoint_form::recorded})
      for (bool const keeps : {false, true}) {
        use({step, adjoint, false, keeps});
        for (object_ends const ends : {object_ends::anywhere, object_ends::at_initial, object_ends::at_final})
          use({step, adjoint, false, keeps, true, ends});
      }
}
/// How many of the forms have another estimate of states or bytes than a walk over all actions.
template <class Plan>
int forms_unlike_a_whole_walk(Plan const& plan) {
  int unlike = 0;
  each_form([&](sweep_form form) {
    workload const work{.state_bytes = 100, .state_inline_bytes = 8, .adjoint_bytes = 10, .form = form};
    auto const counter = detail::count_frames(plan, form, {92, 0, false});
    auto const needs = detail::needs_of(plan, plan.counts(), work);
    auto const sizes = detail::sizes_of(work, plan.leaf());
    wide const tapes = wide(needs.tapes) + (needs.calls_adjoint ? 1 : 0);
    cost const told = estimate(plan, work);
    unlike += !told.peak_is_exact || told.peak_states != counter.peak() ||
              told.peak_bytes != sweep_parts_of(needs, form, sizes, counter.peak(), tapes).total();
  });
  return unlike;
}

}  // namespace

static_assert(estimate(store_all(100)).extra_steps == 0);
static_assert(estimate(revolve{1000, 10}).step_calls == 3637);

TEST_CASE("the words of a cost mean what the design says", "[plan][estimate]") {
  auto const e = estimate(revolve{1000, 10});
  CHECK(e.steps == 1000);
  CHECK(e.slots == 10);
  CHECK(e.advances == 3636);
  CHECK(e.reversals == 1000);
  CHECK(e.step_calls == 3637);
  CHECK(e.extra_steps == 2637);
  CHECK(e.forward_steps == 4636);
  CHECK(e.loads == 999);
  CHECK(e.saves == e.counts.saves);
  CHECK(e.peak_slots == 10);
  CHECK(e.peak_states == 12);
  CHECK_THAT(e.forward_evaluations_per_step, WithinRel(3.637, 1e-12));
}

TEST_CASE("store-all runs no step twice, recorded or not", "[plan][estimate]") {
  for (step_index n = 0; n < 30; ++n) {
    CHECK(estimate(store_all(n)).extra_steps == 0);
    CHECK(estimate(all_tapes(n)).extra_steps == 0);
    CHECK(estimate(all_tapes(n), {.form = {step_form::in_place, adjoint_form::recorded}}).extra_steps == 0);
    CHECK(estimate(store_all(n), {.form = {step_form::in_place, adjoint_form::recorded}}).extra_steps ==
          wide(n > 0 ? n - 1 : 0));
  }
  CHECK(estimate(store_all(0)).forward_evaluations_per_step == 0);
}

TEST_CASE("a plan with totals of its own costs what a walk of it costs", "[plan][estimate]") {
  for (step_index const n : {0, 1, 2, 7, 64})
    each_as_any(n, [](std::string const& name, auto const& plan) {
      INFO(name);
      auto const told = estimate(plan, {.state_bytes = 10});
      auto const walked = estimate(untold{plan}, {.state_bytes = 10});
      CHECK(walked.counted == counted::by_walk);
      CHECK(told.counts == walked.counts);
      CHECK(told.step_calls == walked.step_calls);
      CHECK(told.forward_steps == walked.forward_steps);
      CHECK(told.peak_states == walked.peak_states);
      CHECK(told.stored_bytes == walked.stored_bytes);
    });
}

TEST_CASE("a walk that ends early finds the peak of one to the end", "[plan][estimate][long]") {
  for (bool const free : {false, true}) {
    for (step_index n = 0; n <= 60; ++n)
      for (slot_index slots = free ? 0 : 1; slots <= 12; ++slots)
        if (int const unlike = forms_unlike_a_whole_walk(revolve{n, slots, {.free_initial = free}}); unlike > 0) {
          CAPTURE(n, slots, free);
          CHECK(unlike == 0);
        }
    for (auto const& [n, slots] : {std::pair{1000, 10}, {1000, 999}, {2500, 3}, {4097, 60}, {3000, 12}}) {
      CAPTURE(n, slots, free);
      CHECK(forms_unlike_a_whole_walk(revolve{n, slots, {.free_initial = free}}) == 0);
    }
  }
  for (step_index n = 0; n <= 20; ++n) {
    CHECK(forms_unlike_a_whole_walk(any_schedule{revolve{n, 4}}) == 0);
    CHECK(forms_unlike_a_whole_walk(store_all(n)) == 0);
    CHECK(forms_unlike_a_whole_walk(two_level{n, 5, 2}) == 0);
    CHECK(forms_unlike_a_whole_walk(online{3}.stopping_at(n)) == 0);
  }
}

TEST_CASE("the bound of states for loops too long to walk is never below a walk", "[plan][estimate][long]") {
  auto const check = [](auto const& plan) {
    each_form([&](sweep_form form) {
      auto const peak = detail::count_frames(plan, form, {92, 0, false}).peak();
      auto const bound = most_states(detail::needs_of(plan, plan.counts(), {.form = form}), form);
      CAPTURE(plan.steps(), plan.slots(), int(form.step), int(form.adjoint), form.keeps_run);
      if (bound < peak || (plan.steps() > 1 && bound > peak + 3)) CHECK(bound == peak);
    });
  };
  for (step_index n = 0; n <= 50; ++n)
    for (slot_index slots = 1; slots <= 5; ++slots) {
      for (bool const free : {false, true}) check(revolve{n, slots, {.free_initial = free}});
      for (step_index period = 1; period <= 7; ++period) check(two_level{n, period, slots});
    }
}

TEST_CASE("closed forms serve loops too long to walk", "[plan][estimate]") {
  auto const longest = std::numeric_limits<step_index>::max();
  auto const two = estimate(revolve{1'000'000'000'000'000'000, 2});
  CHECK(two.counted == counted::in_closed_form);
  CHECK(two.advances > wide{1} << 89);
  CHECK(estimate(uniform{longest}).extra_steps < wide(longest));
  CHECK(estimate(any_schedule{revolve{longest, 7}}).counted == counted::in_closed_form);
  CHECK(estimate(leaves{longest, 10, revolve{longest / 10 + 1, 7}}).reversals == wide(longest));
}

TEST_CASE("a long plan that does not know its totals is refused by name", "[plan][estimate]") {
  auto const walked = [](step_index n) { return estimate(untold{revolve{n, 7}}); };
  step_index too_many = 10'000'001, enough = 10'000;  // not constants: g++ would walk such plans while it compiles
  CHECK_THROWS_AS(walked(too_many), invalid_plan);
  CHECK_THROWS_WITH(walked(too_many),
                    ContainsSubstring("cairn::estimate") && ContainsSubstring("counts()"));
  CHECK_THROWS_AS(estimate(any_schedule{untold{uniform{20'000'000}}}), invalid_plan);
  CHECK(walked(enough).counted == counted::by_walk);
}

TEST_CASE("a walk that finds a flaw is no estimate", "[plan][estimate]") {
  CHECK_THROWS_AS(estimate(action_list{3, 1, {}}), invalid_schedule);
  CHECK_THROWS_AS(estimate(any_schedule{action_list{3, 1, {}}}), invalid_schedule);
}

TEST_CASE("bytes are those of the formula that executors share", "[plan][estimate]") {
  revolve const plan{1000, 10};
  workload const work{.state_bytes = 1000,
                      .state_inline_bytes = 24,
                      .adjoint_bytes = 500,
                      .tape_bytes = 70,
                      .form = {step_form::by_value, adjoint_form::one_step, true, true}};
  auto const e = estimate(plan, work);
  detail::sweep_needs const needs{10, 10, 0, 1, false, plan.table_bytes()};
  CHECK(e.peak_bytes == sweep_bytes(needs, work.form, {1000, 24, 1000, 500, 70}, e.peak_states));
  CHECK(e.stored_bytes == 10'000);
  CHECK(estimate(plan, {.state_bytes = 1000, .initial_bytes = 8}).peak_bytes + 992 ==
        estimate(plan, {.state_bytes = 1000}).peak_bytes);
  CHECK(estimate(plan).stored_bytes == 0);
  CHECK(estimate(all_tapes(5), {.tape_bytes = 100}).peak_bytes - estimate(all_tapes(5), {.tape_bytes = 0}).peak_bytes ==
        500);
}

TEST_CASE("what nobody states is unknown, and not 0", "[plan][estimate]") {
  revolve const plan{100, 10};
  CHECK(estimate(plan, {.state_bytes = 1000}).peak_bytes ==
        estimate(plan, {.state_bytes = 1000, .adjoint_bytes = 1000}).peak_bytes);
  leaves const longer{100, 10, revolve{10, 3}};
  auto const each = [](auto const& tried, adjoint_form form, bool known) {
    workload work{.steps = 100, .state_bytes = 1000, .form = {.adjoint = form}};
    auto const untold = estimate(tried, work);
    work.tape_bytes = 0;
    auto const told = estimate(tried, work);
    CHECK(told.peak_bytes < 1'000'000);
    CHECK(untold.step_calls == told.step_calls);
    for (wide const bytes : {untold.peak_bytes, untold.memory_bytes})
      CHECK(bytes == (known ? told.peak_bytes : unknown_bytes));
    CHECK(certify(untold, work).least_step_calls <= told.step_calls);
  };
  for (auto const form : {adjoint_form::none, adjoint_form::one_step, adjoint_form::with_next}) each(plan, form, true);
  each(plan, adjoint_form::leaf, true);  // of one step
  each(plan, adjoint_form::recorded, false);
  each(longer, adjoint_form::leaf, false);
  each(mixed{100, 10, {.tape_units = 1}}, adjoint_form::one_step, false);
  each(bptt{100, 10}, adjoint_form::one_step, false);
  CHECK(estimate(leaves{100, 10, revolve{10, 3}}, {.state_bytes = 1, .tape_step_bytes = 7, .form = {.adjoint = adjoint_form::leaf}})
            .peak_bytes < 1'000);
  CHECK(estimate(all_tapes(0), {.state_bytes = 1000}).peak_bytes < 5'000);  // nothing is reversed
}

TEST_CASE("bytes do not wrap at the largest numbers", "[plan][estimate]") {
  auto const longest = std::numeric_limits<step_index>::max();
  wide const most = (wide{1} << 62) - 1;
  auto const e = estimate(store_all(longest - 20), {.state_bytes = most, .adjoint_bytes = most, .tape_bytes = most});
  CHECK(e.stored_bytes == wide(longest - 21) * most);
  CHECK(e.peak_bytes > e.stored_bytes);
  CHECK(e.peak_bytes - e.stored_bytes < wide{1} << 80);
  CHECK_THROWS_AS(estimate(store_all(longest)), overflow_error);
  CHECK_THROWS_AS(estimate(uniform{9}, {.state_bytes = most + 1}), overflow_error);
  CHECK_THROWS_AS(estimate(uniform{9}, {.initial_bytes = most + 1}), overflow_error);
  CHECK_THROWS_AS(estimate(uniform{9}, {.adjoint_bytes = most + 1}), overflow_error);
  CHECK_THROWS_AS(estimate(uniform{9}, {.tape_bytes = ~wide{0} - 1}), overflow_error);
}

TEST_CASE("seconds are calls and reversals at the times given", "[plan][estimate]") {
  auto const e = estimate(revolve{1000, 10}, {.step_seconds = 0.5, .adjoint_seconds = 2});
  CHECK_THAT(e.seconds, WithinRel(3637 * 0.5 + 2000, 1e-12));
  CHECK(estimate(revolve{1000, 10}).seconds == 0);
}

TEST_CASE("a workload that cannot be is refused", "[plan][estimate]") {
  CHECK_THROWS_AS(estimate(uniform{9}, {.steps = 10}), invalid_plan);
  CHECK(estimate(uniform{9}, {.steps = 9}).steps == 9);
  CHECK_THROWS_AS(estimate(uniform{9}, {.state_bytes = 8, .state_inline_bytes = 9}), invalid_plan);
  CHECK_THROWS_AS(estimate(uniform{9}, {.step_seconds = -1}), invalid_plan);
  CHECK_THROWS_AS(estimate(uniform{9}, {.adjoint_seconds = std::numeric_limits<double>::quiet_NaN()}), invalid_plan);
}
