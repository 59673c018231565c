// SPDX-License-Identifier: Apache-2.0
// A budget in the place of a plan: kept to the byte of the heap, and more bytes are never more step calls.
#include <array>
#include <cmath>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>
#include <cairn/cairn.hpp>
#include "support/catch.hpp"
#include "support/heap.hpp"

using cairn::step_index;
using Catch::Matchers::ContainsSubstring;

namespace {

using vec = std::vector<double>;
long long calls = 0;

auto const in_place = [](vec& x, vec const& p) {
  ++calls;
  for (double& v : x) v = std::sin(p[0] * v);
};
auto const by_value = [](vec const& x, vec const& p) {
  vec y = x;
  in_place(y, p);
  return y;
};
auto const out_of_place = [](vec const& x, vec& y, vec const& p) {
  y = x;
  in_place(y, p);
};
auto const back = [](vec const& x, vec& bar, vec const& p, vec& dp) {
  for (std::size_t k = 0; k < x.size(); ++k) {
    double const c = bar[k] * std::cos(p[0] * x[k]);
    dp[0] += c * x[k];
    bar[k] = c * p[0];
  }
};
auto const with_next = [](vec const& x, vec const&, vec& bar, vec const& p, vec& dp, step_index) {
  back(x, bar, p, dp);
};
auto const objective =
    cairn::at_every(1, [](vec const& x) { return x[0]; }, [](vec const&, vec& bar) { bar[0] += 1; });

template <class Model>
void check(Model m, std::size_t size, step_index n) {
  vec const x0(size, 0.5), p{0.9, 0};
  auto const right = cairn::differentiate(m, x0, p, cairn::store_all(n), objective);
  std::int64_t least = 0;
  try {
    (void)cairn::differentiate(m, x0, p, cairn::budget_of{n, 1}, objective);
  } catch (cairn::infeasible_budget const& e) {
    for (std::size_t k = 0; k < e.value_count(); ++k)
      if (std::string{e.value(k).name} == "least") least = std::int64_t(e.value(k).magnitude);
  }
  REQUIRE(least > 0);
  CHECK_THROWS_AS(cairn::differentiate(m, x0, p, cairn::budget_of{n, least - 1}, objective), cairn::infeasible_budget);
  long long before = -1;
  for (int k = 0; k <= 12; ++k) {
    auto const bytes = std::int64_t(double(least) * std::pow(10.0, k / 12.0));
    calls = 0;
    heap::mark const heap;
    auto const found = cairn::differentiate(m, x0, p, cairn::budget_of{n, bytes}, objective);
    auto const held = std::int64_t(heap.rise() + cairn::bytes_of(x0) + cairn::bytes_of(p));
    if (held > bytes) FAIL(held << " bytes held within " << bytes << ", states of " << size << ", " << n << " steps");
    if (before >= 0 && calls > before) FAIL("more step calls with " << bytes << " bytes");
    before = calls;
    CHECK(found.state == right.state);
    CHECK(found.params == right.params);
  }
}

}  // namespace

TEST_CASE("a budget is never exceeded on the heap, and more bytes are never more step calls") {
  for (std::size_t const size : {1u, 100u, 3000u})
    for (step_index const n : {1, 10, 60}) {
      check(cairn::model{in_place, back}, size, n);
      check(cairn::model{by_value, back}, size, n);
      check(cairn::model{out_of_place, with_next}, size, n);
      check(cairn::model{in_place, with_next}, size, n);
    }
}

TEST_CASE("so are budgets of states up to 8 MiB", "[long]") {
  for (std::size_t const size : {1u << 17, 1u << 20}) check(cairn::model{in_place, with_next}, size, 4);
}

TEST_CASE("a budget works in every verb of a loop, with the bytes of a replay check") {
  auto const step = [](double& x) { x = std::sin(x); };
  auto const adjoint = [](double x, double& bar) { bar *= std::cos(x); };
  step_index const n = 300;
  double const right = cairn::gradient(step, 2.1, cairn::store_all(n), 1.0, adjoint);
  for (auto const verify : {cairn::replay_check::off, cairn::replay_check::checkpoints, cairn::replay_check::every_step}) {
    heap::mark const one;
    double const g = cairn::gradient(step, 2.1, cairn::budget_of{n, "4kB"}, 1.0, adjoint, cairn::sweep_options{verify});
    CHECK(one.rise() + sizeof(double) <= 4000);
    CHECK(g == right);
  }
  heap::mark const two;
  auto run = cairn::checkpointed_loop(step, 2.1, cairn::budget_of{n, "4kB"});
  double const g = run.reverse(1.0, adjoint);
  CHECK(two.rise() + sizeof(double) <= 4000);
  CHECK(g == right);
}

TEST_CASE("a budget for the longest loop is planned at once") {
  cairn::budget_of const most{INT64_MAX, "1GB"};
  cairn::revolve const plan = most.plan_for({}, {.state = 1000, .state_inline = 24, .initial = 1000, .adjoint = 1000});
  CHECK(plan.steps() == INT64_MAX);
  CHECK(plan.slots() > 900'000);
}

TEST_CASE("a budget of just the bytes of a plan is for that plan, and one of a byte less for a slot less") {
  for (step_index const n : {2, 3, 9, 40})
    for (cairn::slot_index slots = 1; slots < n; ++slots) {
      INFO(n << " steps, " << slots << " slots");
      cairn::sweep_sizes const sizes{
          .state = 1000, .state_inline = 24, .initial = 1000, .adjoint = 1000, .params = 30, .gradient = 40};
      auto const bytes = std::int64_t(cairn::budget_of{n, 0}.bytes_of_plan(slots, {}, sizes));
      CHECK(cairn::budget_of{n, bytes}.plan_for({}, sizes).slots() == slots);
      cairn::budget_of const less{n, bytes - 1};
      if (slots == 1) CHECK_THROWS_AS(less.plan_for({}, sizes), cairn::infeasible_budget);
      else CHECK(less.plan_for({}, sizes).slots() == slots - 1);
    }
}

TEST_CASE("a budget counts for a plan what an estimate of it says, in every form of a sweep") {
  cairn::sweep_sizes const sizes{.state = 1000, .state_inline = 24, .initial = 900, .adjoint = 500};
  int compared = 0;
  auto const compare = [&](cairn::sweep_form const& form, cairn::replay_check verify, step_index n,
                           cairn::slot_index slots) {
    auto const said = cairn::estimate(cairn::revolve{n, slots}, {.state_bytes = sizes.state,
                                                                 .state_inline_bytes = sizes.state_inline,
                                                                 .initial_bytes = sizes.initial,
                                                                 .adjoint_bytes = sizes.adjoint,
                                                                 .form = form,
                                                                 .verify = verify});
    cairn::wide const more = cairn::budget_of{n, 0}.bytes_of_plan(slots, form, sizes, verify) - said.peak_bytes;
    // Of a short loop the estimate knows which states are never there together.
    cairn::wide const state = sizes.state - sizes.state_inline;
    if (more % state != 0 || more > (n > 2 ? 0 : 3) * state)
      FAIL(n << " steps, " << slots << " slots, kept " << form.keeps_run << ", snapshots " << form.snapshots);
    ++compared;
  };
  for (bool const keeps_run : {false, true})
    for (bool const snapshots : {false, true})
      for (auto const step : {cairn::step_form::in_place, cairn::step_form::by_value})
        for (auto const adjoint : {cairn::adjoint_form::one_step, cairn::adjoint_form::with_next})
          for (auto const ends : {cairn::object_ends::anywhere, cairn::object_ends::at_initial})
            for (auto const verify : {cairn::replay_check::off, cairn::replay_check::checkpoints}) {
              cairn::sweep_form const form{step, adjoint, true, keeps_run, snapshots, ends};
              for (step_index const n : {1, 2, 30}) compare(form, verify, n, 1);
              for (cairn::slot_index const slots : {2, 3, 4}) compare(form, verify, 30, slots);
            }
  CHECK(compared == 64 * 6);
}

namespace {

/// Is saved, and never copied.
struct saved {
  vec numbers;
  explicit saved(std::size_t size) : numbers(size, 0.5) {}
  saved(saved const&) = delete;
  [[nodiscard]] vec save() const { return numbers; }
  void restore(vec const& kept) { numbers = kept; }
};

}  // namespace

TEST_CASE("a budget for an object holds the snapshot that a replay check takes, too") {
  auto const step = [](saved& x) {
    for (double& v : x.numbers) v = std::sin(v);
  };
  auto const adjoint = [](saved const& x, double& bar) { bar *= std::cos(x.numbers[0]); };
  step_index const n = 30;
  double right = 1;
  std::vector<double> states{0.5};
  while (states.size() < 30) states.push_back(std::sin(states.back()));
  for (std::size_t k = 30; k-- > 0;) right *= std::cos(states[k]);
  using cairn::replay_check;
  for (auto const verify : {replay_check::off, replay_check::checkpoints, replay_check::every_step})
    for (std::int64_t const bytes : {40'000, 50'000, 100'000, 300'000}) {
      INFO(bytes << " bytes");
      saved x{1000};
      heap::mark const heap;
      double const g = cairn::gradient(step, x, cairn::budget_of{n, bytes}, 1.0, adjoint, cairn::sweep_options{verify});
      CHECK(std::int64_t(heap.rise()) + std::int64_t(sizeof(double)) <= bytes);
      CHECK(g == right);
    }
}

TEST_CASE("a budget keeps every state if all fit") {
  for (step_index const n : {0, 1, 2, 40}) {
    cairn::sweep_report report;
    calls = 0;
    vec const x0(3, 0.5), p{0.9};
    (void)cairn::differentiate(cairn::model{in_place, back}, x0, p, cairn::budget_of{n, "1MB"}, objective, report);
    CHECK(bool(cairn::wide(calls) == cairn::estimate(cairn::store_all(n)).step_calls));
  }
}

TEST_CASE("a budget that nothing fits names the least that does, before any step runs") {
  calls = 0;
  vec const x0(100, 0.5), p{0.9};
  CHECK_THROWS_WITH(
      cairn::differentiate(cairn::model{in_place, back}, x0, p, cairn::budget_of{50, "1kB"}, objective),
      ContainsSubstring("budget = 1000") && ContainsSubstring("least = ") && ContainsSubstring("steps = 50"));
  CHECK(calls == 0);
  // Numbers of an error are those of the question, also beyond 63 bits.
  CHECK_THROWS_WITH((cairn::budget_of{50, "10EB"}.plan_for({}, {.state = cairn::wide{1} << 70})),
                    ContainsSubstring("budget = 10000000000000000000") &&
                        ContainsSubstring("least = 3541774862152233910384"));
  CHECK_THROWS_AS(cairn::differentiate(cairn::model{in_place, back}, x0, p, cairn::budget_of{-1, "1MB"}, objective),
                  cairn::invalid_plan);
}
