// A probe measures real steps: on a clock that only the steps move, its times are exact.
#include <array>
#include <chrono>
#include <optional>
#include <vector>
#include <cairn/cairn.hpp>
#include <cairn/run/probe.hpp>
#include "support/catch.hpp"

using namespace cairn;

namespace {

/// Milliseconds that steps and adjoints add themselves.
struct fake_clock {
  using duration = std::chrono::duration<long, std::milli>;
  static inline duration time{0};
  static duration now() { return time; }
  static void pass(long milliseconds) { time += duration{milliseconds}; }
};

using field = std::vector<double>;
field const start(100, 1.0);
constexpr std::size_t field_bytes = sizeof(field) + 100 * sizeof(double);

void forward(field& x) {
  fake_clock::pass(7);
  for (double& e : x) e *= 0.5;
}
void back(field& bar) {
  fake_clock::pass(11);
  for (double& e : bar) e *= 0.5;
}
auto const in_place_step = [](field& x, step_index) { forward(x); };
auto const seed = [](field const& x) { return x; };
auto const adjoint = [](field const&, field& bar, step_index) { back(bar); };

void check(workload const& work, step_form step, adjoint_form form) {
  CHECK(work.steps == 1000);
  CHECK(work.state_bytes == field_bytes);
  CHECK(work.state_inline_bytes == sizeof(field));
  CHECK(work.initial_bytes == wide{field_bytes});
  CHECK(work.adjoint_bytes == field_bytes);
  CHECK(work.adjoint_seconds == Approx(0.011));
  CHECK(work.form.step == step);
  CHECK(work.form.adjoint == form);
  if (form != adjoint_form::recorded) CHECK(work.step_seconds == Approx(0.007));
}

}  // namespace

TEST_CASE("a probe measures sizes and times and tells the forms", "[run][probe]") {
  check(probe<fake_clock>(in_place_step, start, 1000, seed, adjoint), step_form::in_place, adjoint_form::one_step);
  auto const by_value_step = [](field const& x) { field x1 = x; forward(x1); return x1; };
  check(probe<fake_clock>(by_value_step, start, 1000, start, adjoint), step_form::by_value, adjoint_form::one_step);
  auto const out_of_place_step = [](field const& x, field& x1, step_index) { x1 = x; forward(x1); };
  auto const with_next_adjoint = [](field const&, field const&, field& bar, step_index) { back(bar); };
  check(probe<fake_clock>(out_of_place_step, start, 1000, seed, with_next_adjoint), step_form::out_of_place, adjoint_form::with_next);
  auto const leaf_adjoint = [](field const&, field& bar, step_index, step_index) { back(bar); };
  check(probe<fake_clock>(in_place_step, start, 1000, seed, leaf_adjoint), step_form::in_place, adjoint_form::leaf);
  auto const one_by_value = [](field const&, field const& bar, step_index) { field sum = bar; back(sum); return sum; };
  auto const work = probe<fake_clock>(in_place_step, start, 1000, seed, one_by_value);
  check(work, step_form::in_place, adjoint_form::one_step);
  CHECK(work.form.adjoint_by_value);
}

TEST_CASE("a probe measures tapes and calls of record", "[run][probe]") {
  auto const record = [](field& x, step_index) { field kept = x; forward(x); fake_clock::pass(20); return kept; };
  auto const reverse = [](field const&, field& bar) { back(bar); };
  auto const work = probe<fake_clock>(in_place_step, start, 1000, seed, recorded{record, reverse});
  check(work, step_form::in_place, adjoint_form::recorded);
  REQUIRE(work.record_seconds);
  CHECK(*work.record_seconds == Approx(0.027));
  CHECK(work.tape_bytes == field_bytes + sizeof(std::optional<field>) - sizeof(field));
  CHECK(work.tape_inline_bytes == sizeof(std::optional<field>));
  CHECK_FALSE(work.tapes_restart);
  CHECK(probe<fake_clock>(in_place_step, start, 1000, seed, recorded{record, reverse, [](field const& kept) { return kept; }}).tapes_restart);
}

TEST_CASE("a probe runs the first few steps only, and none of an empty loop", "[run][probe]") {
  step_index last = -1;
  auto const step = [&](field& x, step_index i) { last = i > last ? i : last, forward(x); };
  (void)probe<fake_clock>(step, start, 1000, seed, adjoint, 5);
  CHECK(last < 5);
  last = -1;
  auto const work = probe<fake_clock>(step, start, 0, seed, adjoint);
  CHECK(last == -1);
  CHECK(work.step_seconds == 0);
  CHECK(start == field(100, 1.0));
  CHECK_THROWS_AS(probe<fake_clock>(step, start, -1, seed, adjoint), invalid_plan);
  CHECK_THROWS_AS(probe<fake_clock>(step, start, 5, seed, adjoint, 0), invalid_plan);
}

TEST_CASE("times are medians, so one slow call does not matter", "[run][probe]") {
  auto const step = [](double& x, step_index i) { fake_clock::pass(i == 3 ? 5000 : 2), x *= 0.5; };
  auto const work = probe<fake_clock>(step, 1.0, 10, 1.0, [](double, double& bar, step_index) { fake_clock::pass(1), bar *= 0.5; });
  CHECK(work.step_seconds == Approx(0.002));
  CHECK(work.state_bytes == sizeof(double));
}

TEST_CASE("a real clock serves a probe", "[run][probe]") {
  auto const work = probe<std::chrono::steady_clock>(in_place_step, start, 10, seed, adjoint);
  CHECK(work.step_seconds >= 0);
  CHECK(work.step_seconds < 10);
}
