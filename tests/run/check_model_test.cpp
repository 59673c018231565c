// SPDX-License-Identifier: Apache-2.0
// One check of a model: it finds a fault in each of its parts, and passes what is right.
#include <cmath>
#include <string>
#include <vector>
#include <cairn/cairn.hpp>
#include <cairn/run/check/check_model.hpp>
#include "support/catch.hpp"

using cairn::step_index;
using Catch::Matchers::ContainsSubstring;

namespace {

using vec = std::vector<double>;
auto const step = [](vec& x, vec const& p, step_index i) {
  double const u = x[0];
  x[0] = std::sin(p[0] * u) + p[1] * x[1] + 0.01 * double(i);
  x[1] += 0.1 * u * x[1];
};
auto const back = [](vec const& x, vec& bar, vec const& p, vec& dp, step_index) {
  double const c = bar[0] * std::cos(p[0] * x[0]), t = bar[1];
  dp[0] += c * x[0];
  dp[1] += bar[0] * x[1];
  bar[1] = bar[0] * p[1] + t * (1 + 0.1 * x[0]);
  bar[0] = c * p[0] + 0.1 * t * x[1];
};
auto const f = [](vec const& x, vec const& p, step_index i) { return p[0] * x[0] * x[1] * double(i); };
auto const df = [](vec const& x, vec& bar, vec const& p, vec& dp, step_index i) {
  bar[0] += p[0] * x[1] * double(i);
  bar[1] += p[0] * x[0] * double(i);
  dp[0] += x[0] * x[1] * double(i);
};
vec const x0{0.3, 0.7}, p0{0.9, 0.4};

}  // namespace

TEST_CASE("a right model passes, with an objective and without, with parameters and without") {
  CHECK(cairn::check(cairn::model{step, back}, x0, p0, 20, cairn::at_every(3, f, df)).passed());
  CHECK(cairn::check(cairn::model{step, back}, x0, p0, 20).passed());
  auto const one = [](double& x) { x = std::sin(x); };
  auto const one_back = [](double x, double& bar) { bar *= std::cos(x); };
  CHECK(cairn::check(cairn::model{one, one_back}, 0.5, 20).passed());
  auto const square = cairn::at_every(5, [](double x) { return x * x / 2; }, [](double x, double& bar) { bar += x; });
  CHECK(cairn::check(cairn::model{one, one_back}, 0.5, 20, square).passed());
}

TEST_CASE("a wrong adjoint of the step is found") {
  auto const wrong = [](vec const& x, vec& bar, vec const& p, vec& dp, step_index i) {
    back(x, bar, p, dp, i);
    bar[0] *= 1.01;
  };
  auto const report = cairn::check(cairn::model{step, wrong}, x0, p0, 20);
  CHECK_FALSE(report.passed());
  CHECK_THAT(report.text(), ContainsSubstring("the adjoint of a step is wrong"));
}

TEST_CASE("a wrong gradient with respect to parameters is found") {
  auto const wrong = [](vec const& x, vec& bar, vec const& p, vec& dp, step_index i) {
    back(x, bar, p, dp, i);
    dp[1] += 0.01 * bar[0];
  };
  auto const report = cairn::check(cairn::model{step, wrong}, x0, p0, 20);
  CHECK(report.step.passed());
  CHECK_FALSE(report.passed());
  CHECK_THAT(report.text(), ContainsSubstring("to the parameters is wrong"));
}

TEST_CASE("a wrong gradient with respect to parameters names its number, its member, and what it should be") {
  struct rates { vec births; double death; };
  auto const grow = [](double& x, rates const& p) { x *= p.births[1] - p.death; };
  auto const grow_back = [](double x, double& bar, rates const& p, rates& dp) {
    dp.births[1] += bar * x, dp.death -= 3 * bar * x;  // once too often each
    bar *= p.births[1] - p.death;
  };
  auto const report = cairn::check(cairn::model{grow, grow_back}, 1.0, rates{{5, 2}, 1}, 4);
  CHECK(report.params.number == 2);
  CHECK(report.params.member == 1);
  CHECK(report.params.number_by_differences == Approx(-4));
  CHECK(report.params.number_by_adjoint == Approx(-12));
  CHECK_THAT(report.text(), ContainsSubstring("worst for number 2, in member 1, where it should be -"));
}

TEST_CASE("a wrong derivative of a term is found, by the state and by the parameters") {
  auto const by_state = [](vec const& x, vec& bar, vec const& p, vec& dp, step_index i) {
    df(x, bar, p, dp, i);
    bar[1] += 1e-2;
  };
  CHECK_THAT(cairn::check(cairn::model{step, back}, x0, p0, 20, cairn::at_every(3, f, by_state)).text(),
             ContainsSubstring("to the initial state is wrong"));
  auto const by_params = [](vec const& x, vec& bar, vec const& p, vec& dp, step_index i) {
    df(x, bar, p, dp, i);
    dp[1] += 1;
  };
  CHECK_THAT(cairn::check(cairn::model{step, back}, x0, p0, 20, cairn::at_every(3, f, by_params)).text(),
             ContainsSubstring("to the parameters is wrong"));
}

TEST_CASE("a derivative of a term that sets instead of adding is found") {
  auto const sets_bar = [](vec const& x, vec& bar, vec const&, vec&, step_index) { bar[0] = 2 * x[0]; };
  auto const square = [](vec const& x) { return x[0] * x[0]; };
  auto const report = cairn::check(cairn::model{step, back}, x0, p0, 20, cairn::at_states({7, 20}, square, sets_bar));
  CHECK(report.sets_at == 7);
  CHECK_THAT(report.text(), ContainsSubstring("must add"));
  auto const sets_dp = [](vec const& x, vec& bar, vec const&, vec& dp, step_index) {
    bar[0] += 2 * x[0];
    dp[0] = 0;
  };
  CHECK(cairn::check(cairn::model{step, back}, x0, p0, 20, cairn::at_end(square, sets_dp)).sets_at == 20);
  // At the first state also where it does no harm, because nothing was there.
  auto const harmless = cairn::check(cairn::model{step, back}, x0, p0, 20, cairn::at_states({0}, square, sets_bar));
  CHECK((harmless.step.passed() && harmless.state.passed() && harmless.params.passed()));
  CHECK(harmless.sets_at == 0);
  CHECK_FALSE(harmless.passed());
  CHECK_THAT(harmless.text(), ContainsSubstring("at state 0"));
}

TEST_CASE("a report of a model passes if each of its parts does, and a comparison if each difference is small") {
  CHECK(cairn::model_report{}.passed());
  cairn::model_report wrong[3];
  wrong[0].step.fault = wrong[1].state.fault = wrong[2].params.fault = cairn::adjoint_fault::wrong_gradient;
  for (auto const& report : wrong) CHECK_FALSE(report.passed());
  double const at_most = 1e-9, more = 1.1e-9;
  CHECK(cairn::model_comparison{at_most, at_most, at_most}.passed());
  CHECK_FALSE(cairn::model_comparison{.value = more}.passed());
  CHECK_FALSE(cairn::model_comparison{.state = more}.passed());
  CHECK_FALSE(cairn::model_comparison{.params = more}.passed());
}

TEST_CASE("a derivative of a term that is large and negative adds all the same, and is found if it sets") {
  auto const falls = [](vec const& x) { return -1e4 * x[0]; };
  auto const adds = [](vec const&, vec& bar, vec const&, vec&, step_index) { bar[0] += -1e4; };
  auto const sets = [](vec const&, vec& bar, vec const&, vec&, step_index) { bar[0] = -1e4; };
  CHECK(cairn::check(cairn::model{step, back}, x0, p0, 20, cairn::at_states({7, 20}, falls, adds)).passed());
  CHECK(cairn::check(cairn::model{step, back}, x0, p0, 20, cairn::at_states({7, 20}, falls, sets)).sets_at == 7);
}

TEST_CASE("two models of one loop are compared") {
  auto const other = [](vec const& x, vec const& p, step_index i) {
    vec y = x;
    step(y, p, i);
    return y;
  };
  auto const objective = cairn::at_every(3, f, df);
  CHECK(cairn::check(cairn::model{step, back}, cairn::model{other, back}, x0, p0, 20, objective).passed(0));
  auto const wrong = [](vec const& x, vec& bar, vec const& p, vec& dp, step_index i) {
    back(x, bar, p, dp, i);
    dp[1] *= 1.001;
  };
  auto const found = cairn::check(cairn::model{step, back}, cairn::model{other, wrong}, x0, p0, 20, objective);
  CHECK(found.state == 0);
  CHECK(found.params > 1e-6);
  CHECK_FALSE(found.passed());
  // Twice the last state, so twice the objective at the end and its gradient.
  auto const doubled = [](vec& x, vec const& p, step_index i) {
    step(x, p, i);
    if (i == 19) x[0] *= 2, x[1] *= 2;
  };
  auto const back_doubled = [](vec const& x, vec& bar, vec const& p, vec& dp, step_index i) {
    if (i == 19) bar[0] *= 2, bar[1] *= 2;
    back(x, bar, p, dp, i);
  };
  auto const sum = cairn::at_end([](vec const& x) { return x[0] + x[1]; },
                                 [](vec const&, vec& bar) { bar[0] += 1, bar[1] += 1; });
  auto const twice = cairn::check(cairn::model{step, back}, cairn::model{doubled, back_doubled}, x0, p0, 20, sum);
  CHECK(twice.value == Approx(1));
  CHECK(twice.state == Approx(1));
  CHECK(twice.params == Approx(1));
  CHECK_FALSE(twice.passed(0.99));
  CHECK(twice.passed(1.01));
}

TEST_CASE("models are different if a number of one is NaN, whichever it is") {
  std::size_t const lost = GENERATE(0u, 1u);
  auto const loses = [&](vec const& x, vec& bar, vec const& p, vec& dp, step_index i) {
    back(x, bar, p, dp, i);
    if (i == 0) bar[lost] = std::nan("");
  };
  auto const found = cairn::check(cairn::model{step, back}, cairn::model{step, loses}, x0, p0, 20,
                                  cairn::at_every(3, f, df));
  CHECK(std::isnan(found.state));
  CHECK_FALSE(found.passed());
}
