// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <cmath>
#include <complex>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <memory>
#include <random>
#include <stdexcept>
#include <string>
#include <vector>
#include <cairn/cairn.hpp>
#include <cairn/run/check/check_adjoint.hpp>
#include "support/catch.hpp"

using cairn::adjoint_fault;
using cairn::step_index;
using Catch::Matchers::ContainsSubstring;
using Catch::Matchers::EndsWith;
using Catch::Matchers::StartsWith;
using doubles = std::vector<double>;

namespace {

/// A handle that is copied deeply by its traits only.
struct handle {
  std::unique_ptr<double> at = std::make_unique<double>(0.7);
};

}  // namespace

template <>
struct cairn::state_traits<handle> {
  static void copy(handle const& from, handle& into) { *into.at = *from.at; }
  template <class H, class F>
  static void visit_numbers(H& x, F& f) {
    if constexpr (std::is_const_v<H>) f(static_cast<double const*>(x.at.get()), std::size_t{1});
    else f(x.at.get(), std::size_t{1});
  }
};

namespace {

/// x' = tanh(A_i x), with A_i from a formula: every number depends on every other, and on the index.
double entry(std::size_t row, std::size_t column, step_index i) {
  return 0.5 * std::cos(double(3 * row + 7 * column + 1) + 0.3 * double(i));
}
doubles next(doubles const& x, step_index i) {
  doubles y(x.size());
  for (std::size_t r = 0; r < x.size(); ++r) {
    for (std::size_t c = 0; c < x.size(); ++c) y[r] += entry(r, c, i) * x[c];
    y[r] = std::tanh(y[r]);
  }
  return y;
}
/// \param wrong  relative error put into the entry (1, 2) at step `at`
doubles pulled(doubles const& x, doubles const& bar, step_index i, double wrong = 0, step_index at = -1) {
  doubles const y = next(x, i);
  doubles to(x.size());
  for (std::size_t r = 0; r < x.size(); ++r)
    for (std::size_t c = 0; c < x.size(); ++c)
      to[c] += entry(r, c, i) * (1 - y[r] * y[r]) * bar[r] * (i == at && r == 1 && c == 2 ? 1 + wrong : 1);
  return to;
}
doubles const start{0.3, -1.2, 0.7, 2.0};

auto in_place = [](doubles& x, step_index i) { x = next(x, i); };

}  // namespace

TEST_CASE("a right adjoint passes in every form of step and adjoint") {
  auto by_value = [](doubles const& x, step_index i) { return next(x, i); };
  auto out_of_place = [](doubles const& x, doubles& x1, step_index i) { x1 = next(x, i); };
  auto one = [](doubles const& x, doubles& bar, step_index i) { bar = pulled(x, bar, i); };
  auto returns = [](doubles const& x, doubles const& bar, step_index i) { return pulled(x, bar, i); };
  auto with_next = [](doubles const& x, doubles const& x1, doubles& bar, step_index i) {
    if (x1 != next(x, i)) throw std::logic_error{"x1 is not the next state"};
    bar = pulled(x, bar, i);
  };
  auto leaf = [](doubles const& x, doubles& bar, step_index first, step_index last) {
    if (last != first + 1) throw std::logic_error{"one step at a time"};
    bar = pulled(x, bar, first);
  };
  auto record = [](doubles& x, step_index i) {
    doubles tape = x;
    x = next(x, i);
    return tape;
  };
  cairn::recorded tapes{record, [](doubles& tape, doubles& bar, step_index i) { bar = pulled(tape, bar, i); }};
  auto const check = [&](auto& step, auto& adjoint) {
    auto const report = cairn::check_adjoint(step, adjoint, start, 5);
    INFO(report.text());
    CHECK(report.passed());
    CHECK(report.steps_tested == 5);
    CHECK((report.resolution > 0 && report.resolution < 1e-6));
    CHECK(report.slope == Approx(2).margin(0.1));
  };
  check(in_place, one);
  check(in_place, returns);
  check(in_place, with_next);
  check(in_place, leaf);
  check(in_place, tapes);
  check(by_value, one);
  check(out_of_place, with_next);
}

TEST_CASE("the first wrong step and the wrong number are named, and how wrong they are") {
  auto const wrong = GENERATE(1.0, -1e-2, 1e-4, 1e-6);
  step_index const at = GENERATE(0, 3, 9);
  auto adjoint = [&](doubles const& x, doubles& bar, step_index i) { bar = pulled(x, bar, i, wrong, at); };
  auto const report = cairn::check_adjoint(in_place, adjoint, start, 10);
  INFO(report.text());
  REQUIRE(report.fault == adjoint_fault::wrong_adjoint);
  CHECK(report.step == at);
  CHECK(report.number == 2);
  doubles x = start;
  for (step_index i = 0; i < at; ++i) x = next(x, i);
  CHECK(report.relative_error <= std::abs(wrong) + report.resolution);
  CHECK(report.relative_error > std::abs(wrong) * 1e-3);
  CHECK(std::string(report.text()).find("step " + std::to_string(at)) != std::string::npos);
}

TEST_CASE("of a wrong adjoint the report says what it gives, and what it should give") {
  doubles given;
  auto step = [](doubles& x) { x = {2 * x[0], 0.5 * x[1]}; };
  auto adjoint = [&](doubles const&, doubles& bar, step_index i) {
    bar = {2 * bar[0], (i == 3 ? 0.75 : 0.5) * bar[1]};
    if (i == 3) given.push_back(bar[1]);
  };
  auto const report = cairn::check_adjoint(step, adjoint, doubles{1, 1}, 6);
  INFO(report.text());
  REQUIRE(report.fault == adjoint_fault::wrong_adjoint);
  CHECK(report.steps == 6);
  CHECK(report.steps_tested == 4);
  CHECK(report.number == 1);
  CHECK(std::find(given.begin(), given.end(), report.number_by_adjoint) != given.end());
  CHECK(report.number_by_adjoint == Approx(1.5 * report.number_by_differences));
  CHECK_THAT(report.text(), ContainsSubstring("; worst for number 1 of the state, where it should be "));

  auto const alone =
      cairn::check_adjoint([](double& x) { x *= 0.5; }, [](double, double& bar) { bar *= 0.75; }, 1.0, 1);
  REQUIRE(alone.fault == adjoint_fault::wrong_adjoint);
  CHECK(alone.by_adjoint == Approx(1.5 * alone.by_differences));
  CHECK(alone.relative_error == Approx(1.0 / 3));
  CHECK(alone.digits == 53);
}

TEST_CASE("the line of text has the numbers of the report, and no words for what is not known") {
  auto const said = [](cairn::adjoint_report report) {
    report.put_in_words("it");
    return report.text();
  };
  cairn::adjoint_report wrong;
  wrong.fault = adjoint_fault::wrong_adjoint;
  wrong.step = 4;
  wrong.relative_error = 0.25;
  wrong.by_differences = 1.5;
  wrong.by_adjoint = -2;
  CHECK(said(wrong) == "it: the adjoint of step 4 is wrong by 2.5e-01 relative: the step's derivative gives 1.5, the "
                       "adjoint -2");
  wrong.number = 2;
  wrong.number_by_differences = 3;
  wrong.number_by_adjoint = 5.5;
  CHECK_THAT(said(wrong), EndsWith("; worst for number 2 of the state, where it should be 3 and is 5.5"));
  wrong.member = 1;
  CHECK_THAT(said(wrong), EndsWith("; worst for number 2 of the state, in member 1, where it should be 3 and is 5.5"));
  wrong.left_alone = true;
  CHECK_THAT(said(wrong), ContainsSubstring("and is 5.5; the adjoint leaves that number alone: name a constant"));

  auto const of = [&](adjoint_fault fault, step_index step = -1) {
    cairn::adjoint_report report;
    report.fault = fault;
    report.step = step;
    return report;
  };
  CHECK(said(of(adjoint_fault::not_finite)) == "it: a number is infinite or NaN");
  CHECK(said(of(adjoint_fault::not_finite, 7)) == "it: a number is infinite or NaN at step 7");
  CHECK_THAT(said(of(adjoint_fault::step_not_deterministic, 7)),
             StartsWith("it: two runs of step 7 from the same state differ; a step must"));
  auto differs = of(adjoint_fault::step_not_deterministic, 7);
  differs.number = 3;
  CHECK_THAT(said(differs), ContainsSubstring("differ, first in number 3 of the state; a step must"));
  CHECK_THAT(said(of(adjoint_fault::stale_next_state, 7)),
             ContainsSubstring("the result of step 7; a step (x, x1, i)"));
  CHECK_THAT(said(of(adjoint_fault::adjoint_not_linear, 7)), StartsWith("it: the adjoint of step 7 is not linear"));
  auto gradient = of(adjoint_fault::wrong_gradient);
  gradient.slope = 1.25;
  CHECK(said(gradient) == "it: the gradient is wrong: the Taylor remainder falls with slope 1.25, where 2 is right");
  gradient.steps_tested = 3;
  CHECK_THAT(said(gradient), ContainsSubstring("; the tested steps are right by themselves"));
  auto rough = of(adjoint_fault::undecided, 7);
  rough.resolution = 0.5;
  rough.digits = 53;
  CHECK(said(rough) == "it: differences cannot decide about step 7: they are good to 5e-01 relative only; check at "
                       "another state, or give the tangent");

  cairn::adjoint_report right;
  CHECK(said(right) == "it: no steps, nothing to check");
  right.slope = 2;
  CHECK(said(right) == "it: the gradient agrees with the objective; slope of the Taylor remainder 2");
  right.slope = 0;
  right.linear = true;
  CHECK(said(right) ==
        "it: the gradient agrees with the objective; the Taylor remainder of the whole is nothing but rounding");
  right.linear = false;
  right.steps = 9;
  right.steps_tested = 4;
  right.resolution = 3e-9;
  CHECK(said(right) ==
        "it: the adjoint agrees with the step: 4 of 9 steps tested, errors above 3e-09 would have shown");
  right.steps = right.steps_tested = 1;
  CHECK_THAT(said(right), ContainsSubstring("1 of 1 step tested,"));
  right.numbers = 20;
  right.undifferentiated = {{0, 1, -1, -1}, {2, 3, 1, 1}, {6, 2, 2, 3}};
  CHECK_THAT(said(right), EndsWith("; undifferentiated: number 0, numbers 2 to 4 in member 1, numbers 6 to 7 in "
                                   "members 2 to 3 of 20 numbers"));
  right.undifferentiated.resize(4, {10, 1, -1, -1});
  CHECK_THAT(said(right), EndsWith(", number 10 of 20 numbers"));
  right.undifferentiated.resize(5, {12, 1, -1, -1});
  CHECK_THAT(said(right), EndsWith(", number 10, and more of 20 numbers"));
}

TEST_CASE("numbers in the line of text read back as what they are, to six digits") {
  auto const read_back = [](double x) {
    cairn::adjoint_report report;
    report.fault = adjoint_fault::wrong_gradient;
    report.slope = x;
    report.put_in_words("it");
    std::string const text = report.text();
    return std::strtod(text.c_str() + text.find("slope ") + 6, nullptr);
  };
  double const most = std::numeric_limits<double>::max(), least = std::numeric_limits<double>::min();
  for (double const x : {1.0, -1.0, 1.5, 0.25, 9.99999, 9.999994, 9.9999996, 10.0, 99999.97, 123456.0, 1e5, 1e10,
                         0.999994, 0.9999996, 0.1, 1.00001, 1.20003, 3.27e-9, 1e-10, 1.7e308, least, -2.5e-300}) {
    CAPTURE(x);
    CHECK(std::abs(read_back(x) - x) <= 5.01e-6 * std::abs(x));
  }
  CHECK(read_back(0) == 0);
  CHECK(read_back(most * 2) == std::numeric_limits<double>::infinity());
  CHECK(read_back(-most * 2) == -std::numeric_limits<double>::infinity());
  CHECK(std::isnan(read_back(std::nan(""))));
}

TEST_CASE("steps that were not tested are caught by the whole gradient") {
  auto adjoint = [](doubles const& x, doubles& bar, step_index i) { bar = pulled(x, bar, i, 0.5, 4); };
  auto const report = cairn::check_adjoint(in_place, adjoint, start, 10, {.most_steps = 2});
  INFO(report.text());
  CHECK(report.fault == adjoint_fault::wrong_gradient);
  CHECK(report.steps_tested == 2);
  CHECK(report.slope == Approx(1).margin(0.1));
  CHECK(cairn::check_adjoint(in_place, adjoint, start, 10, {.most_steps = 2, .whole = false}).passed());
}

TEST_CASE("tested steps are spread over the loop, the first and the last among them") {
  step_index const n = GENERATE(1, 2, 3, 10, 64, 65, 1000), most = GENERATE(1, 2, 3, 64);
  std::vector<step_index> seen;
  auto step = [](double& x) { x = 0.9 * x + 0.1; };
  auto adjoint = [&](double, double& bar, step_index i) {
    if (seen.empty() || seen.back() != i) seen.push_back(i);
    bar *= 0.9;
  };
  auto const report = cairn::check_adjoint(step, adjoint, 2.0, n, {.most_steps = most, .whole = false});
  CHECK(report.passed());
  CHECK(report.steps_tested == std::min(n, most));
  REQUIRE(step_index(seen.size()) == std::min(n, most));
  CHECK(seen.front() == 0);
  if (most > 1) CHECK(seen.back() == n - 1);
}

TEST_CASE("no false alarm on steps of many shapes and magnitudes") {
  std::mt19937_64 random{7};
  std::uniform_real_distribution<double> number{-2, 2};
  for (int trial = 0; trial < 300; ++trial) {
    double const a = number(random), b = 40 * number(random), c = number(random),
                 unit = std::pow(10.0, 4 * number(random));
    struct pair {
      double first, second;
    };
    auto step = [&](pair& x, step_index i) {
      double const u = x.first / unit, v = x.second;
      x = {unit * (std::sin(u + b) + a * v), 0.5 * v + c * u * u / (1 + u * u) + 0.01 * double(i)};
    };
    auto adjoint = [&](pair const& x, pair& bar) {
      double const u = x.first / unit, d = 2 * c * u / ((1 + u * u) * (1 + u * u)), p = bar.first, q = bar.second;
      bar = {p * std::cos(u + b) + q * d / unit, p * unit * a + 0.5 * q};
    };
    auto const report = cairn::check_adjoint(step, adjoint, pair{unit * number(random), number(random)}, 12);
    INFO(trial << ": " << report.text());
    REQUIRE(report.passed());
  }
}

TEST_CASE("a step that is solved to a tolerance gives no false alarm") {
  auto step = [](double& x) {  // x1 + x1^3 = x, by bisection to 1e-9
    double low = -10, high = 10;
    while (high - low > 1e-9) {
      double const middle = (low + high) / 2;
      (middle + middle * middle * middle > x ? high : low) = middle;
    }
    x = (low + high) / 2;
  };
  auto adjoint = [](double, double x1, double& bar) { bar /= 1 + 3 * x1 * x1; };
  auto with_index = [&](double x, double x1, double& bar, step_index) { adjoint(x, x1, bar); };
  auto const report = cairn::check_adjoint(step, with_index, 5.0, 3, {.whole = false});
  INFO(report.text());
  CHECK(report.passed());
}

TEST_CASE("floats, long doubles, complex numbers and integers within a state") {
  auto square = [](auto& x) { x = x * x; };
  auto adjoint = [](auto const& x, auto& bar) { bar = 2 * x * bar; };
  auto const narrow =
      cairn::check_adjoint([&](float& x) { square(x); }, [&](float const& x, float& bar) { adjoint(x, bar); }, 0.9f, 3);
  INFO(narrow.text());
  CHECK(narrow.passed());
  CHECK(cairn::check_adjoint([&](long double& x) { square(x); },
                             [&](long double const& x, long double& bar) { adjoint(x, bar); }, 0.9L, 3)
            .passed());
  using complex = std::complex<double>;
  auto conjugate = [](complex const& x, complex& bar) { bar = 2.0 * std::conj(x) * bar; };
  CHECK(cairn::check_adjoint([](complex& x) { x = x * x; }, conjugate, complex{0.6, 0.7}, 3).passed());
  auto plain = [](complex const& x, complex& bar) { bar = 2.0 * x * bar; };
  CHECK(cairn::check_adjoint([](complex& x) { x = x * x; }, plain, complex{0.6, 0.7}, 3).fault ==
        adjoint_fault::wrong_adjoint);

  struct counted_state {
    int count = 0;
    double u = 1, v = 2;
  };
  auto step = [](counted_state& x) {
    ++x.count;
    x.u += 0.1 * x.v * double(x.count);
  };
  auto back = [](counted_state const& x, counted_state& bar) { bar.v += 0.1 * bar.u * double(x.count + 1); };
  auto const report = cairn::check_adjoint(step, back, counted_state{}, 6);
  INFO(report.text());
  CHECK(report.passed());
}

TEST_CASE("a step that is not deterministic is named") {
  int calls = 0;
  auto step = [&](double& x, step_index i) { x = 0.5 * x + (i == 3 ? 0.1 * double(++calls) : 0); };
  auto const report = cairn::check_adjoint(step, [](double, double& bar) { bar *= 0.5; }, 1.0, 10);
  CHECK(report.fault == adjoint_fault::step_not_deterministic);
  CHECK(report.step == 3);
  for (int const first : {0, 1}) {  // also where one of its two states is not finite
    calls = first;
    auto sometimes = [&](double& x, step_index i) { x = i == 0 && ++calls % 2 == 0 ? 1 / (x - x) : 0.5 * x; };
    CHECK(cairn::check_adjoint(sometimes, [](double, double& bar) { bar *= 0.5; }, 1.0, 10).fault ==
          adjoint_fault::step_not_deterministic);
  }
}

TEST_CASE("an adjoint that is not linear in bar is named") {
  auto step = [](double& x) { x *= 0.5; };
  auto clips = [](double, double& bar, step_index i) { bar = i == 2 ? std::min(0.5 * bar, 0.01) : 0.5 * bar; };
  auto const report = cairn::check_adjoint(step, clips, 1.0, 4, {.directions = 8});
  CHECK(report.fault == adjoint_fault::adjoint_not_linear);
  CHECK(report.step == 2);
}

TEST_CASE("an adjoint that is 0 is linear, and right where the step forgets its state, however small that is") {
  double const x0 = GENERATE(1.0, 1e-10, 1e-200);
  auto const report =
      cairn::check_adjoint([](double& x) { x = 3; }, [](double, double& bar) { bar = 0; }, x0, 2, {.whole = false});
  INFO(report.text());
  CHECK(report.passed());
}

TEST_CASE("what an adjoint adds by itself is no part of the step's derivative") {
  auto observes = [](doubles const& x, doubles& bar, step_index i) {
    bar = pulled(x, bar, i);
    for (std::size_t k = 0; k < x.size(); ++k) bar[k] += 3 * x[k] + double(i);
  };
  auto const report = cairn::check_adjoint(in_place, observes, start, 8);
  INFO(report.text());
  CHECK(report.passed());
  CHECK(report.slope == Approx(2).margin(0.1));
}

TEST_CASE("numbers that are not finite are named with their step") {
  auto step = [](double& x, step_index i) { x = i == 2 ? std::numeric_limits<double>::infinity() : x; };
  auto adjoint = [](double, double&) {};
  auto const report = cairn::check_adjoint(step, adjoint, 1.0, 5);
  CHECK(report.fault == adjoint_fault::not_finite);
  CHECK(report.step == 2);
  auto lost = [](double, double& bar, step_index i) { bar = i == 1 ? std::nan("") : bar; };
  auto const back = cairn::check_adjoint([](double&) {}, lost, 1.0, 5);
  CHECK(back.fault == adjoint_fault::not_finite);
  CHECK(back.step == 1);
  auto tangent = [](double, double& dx, step_index i) { dx = i == 1 ? std::nan("") : dx; };
  auto const along = cairn::check_adjoint(cairn::with_tangent{[](double&) {}, tangent}, adjoint, 1.0, 5);
  CHECK(along.fault == adjoint_fault::not_finite);
  CHECK(along.step == 1);
}

TEST_CASE("a step that is defined near the state only is tested there, or undecided if that is too near") {
  auto const report_of = [](int exponent) {
    auto step = [=](double& x) {
      x = std::abs(x - 1) <= std::ldexp(1, exponent) ? 0.5 * x : std::numeric_limits<double>::infinity();
    };
    return cairn::check_adjoint(step, [](double, double& bar) { bar *= 0.5; }, 1.0, 1, {.whole = false});
  };
  CHECK(report_of(-12).passed());
  CHECK(report_of(-20).fault == adjoint_fault::undecided);
  CHECK(report_of(-20).resolution == 1);
}

TEST_CASE("an adjoint that agrees with the step only over a distance where its slope still changes is wrong") {
  auto const step = [](double& x) {
    double const far = std::abs(x - 1);
    x = (x - 1) * (far > std::ldexp(1, -9) ? 10 : far > std::ldexp(1, -11) ? 3 : 2);
  };
  auto const report_of = [&](double slope) {
    return cairn::check_adjoint(step, [=](double, double& bar) { bar *= slope; }, 1.0, 1, {.whole = false});
  };
  CHECK(report_of(2).passed());
  auto const wrong = report_of(3);
  CHECK(wrong.fault == adjoint_fault::wrong_adjoint);
  CHECK(wrong.by_adjoint == Approx(1.5 * wrong.by_differences));
}

TEST_CASE("a step too rough for differences is said to be undecided, and a tangent decides it") {
  auto rough = [](double& x) { x = x + 0.3 * std::floor(1e7 * x) * 1e-7; };  // stairs of 1e-7 on a slope
  auto adjoint = [](double, double&) {};
  CHECK_FALSE(cairn::check_adjoint(rough, adjoint, 1.05, 1).passed());
  auto tangent = [](double, double&) {};
  CHECK(cairn::check_adjoint(cairn::with_tangent{rough, tangent}, adjoint, 1.05, 1, {.whole = false}).passed());
}

TEST_CASE("against a tangent an error of 1e-11 is seen") {
  auto tangent = [](doubles const& x, doubles& dx, step_index i) {
    doubles const y = next(x, i);
    doubles to(x.size());
    for (std::size_t r = 0; r < x.size(); ++r)
      for (std::size_t c = 0; c < x.size(); ++c) to[r] += (1 - y[r] * y[r]) * entry(r, c, i) * dx[c];
    dx = to;
  };
  cairn::with_tangent step{in_place, tangent};
  auto right = [](doubles const& x, doubles& bar, step_index i) { bar = pulled(x, bar, i); };
  auto wrong = [](doubles const& x, doubles& bar, step_index i) { bar = pulled(x, bar, i, 1e-11, 6); };
  auto const good = cairn::check_adjoint(step, right, start, 10);
  INFO(good.text());
  CHECK(good.passed());
  CHECK(good.resolution < 1e-11);
  auto const bad = cairn::check_adjoint(step, wrong, start, 10);
  CHECK(bad.fault == adjoint_fault::wrong_adjoint);
  CHECK(bad.step == 6);
}

TEST_CASE("an adjoint of another type, with parameters' gradients after the state's") {
  struct bars {
    doubles state;
    double parameter = 0;
  };
  auto adjoint = [](doubles const& x, bars& bar, step_index i) {
    bar.parameter += bar.state[0] * x[1];
    bar.state = pulled(x, bar.state, i);
  };
  auto const report = cairn::check_adjoint(in_place, adjoint, start, 6, [](doubles const& x) { return bars{x, 0}; });
  INFO(report.text());
  CHECK(report.passed());
  CHECK(cairn::check_adjoint(in_place, adjoint, start, 6, bars{start, 0}, {.directions = 1}).passed());

  auto narrow = [](doubles const&, double&) {};
  try {
    (void)cairn::check_adjoint(in_place, narrow, start, 6, 1.0);
    FAIL("accepted");
  } catch (cairn::invalid_call const& wrong) {
    CHECK(std::string(wrong.what()).find("adjoint = 1, state = 4") != std::string::npos);
  }
}

TEST_CASE("states that are copied by their traits") {
  auto step = [](handle& x) { *x.at = std::sin(*x.at); };
  auto right = [](handle const& x, double& bar) { bar *= std::cos(*x.at); };
  auto wrong = [](handle const& x, double& bar) { bar *= 1.01 * std::cos(*x.at); };
  handle const x0;
  CHECK(cairn::check_adjoint(step, right, x0, 4, 1.0).passed());
  CHECK(cairn::check_adjoint(step, wrong, x0, 4, 1.0).fault == adjoint_fault::wrong_adjoint);
  CHECK(*x0.at == 0.7);
}

TEST_CASE("states that grow") {
  auto step = [](doubles& x, step_index i) { x.push_back(x.back() * 0.5 + double(i)); };
  auto adjoint = [](doubles const& x, doubles& bar) {
    bar[x.size() - 1] += 0.5 * bar[x.size()];
    bar.pop_back();
  };
  auto const report = cairn::check_adjoint(step, adjoint, doubles{1.0}, 7);
  INFO(report.text());
  CHECK(report.passed());
}

TEST_CASE("states that grow beside the tested one only: no right adjoint is called wrong, and a wrong one is found") {
  double side = 0;  // of the tested state, on which states grow; 0: on both
  auto const grow = [&](doubles& u, step_index i) {
    for (double& v : u) v = i == 0 ? v : std::sin(v);
    if (i == 0 && u[0] != 1 && side * (u[0] - 1) >= 0) u.push_back(0.5);
  };
  auto const back = [](double factor) {
    return [=](doubles const& u, doubles& bar, step_index i) {
      bar.resize(u.size());
      for (std::size_t k = 0; k < u.size() && i > 0; ++k) bar[k] *= factor * std::cos(u[k]);
    };
  };
  doubles const u0{1, 0.7};
  for (double const on : {-1, 1, 0}) {
    side = on;
    auto const one_by_one = cairn::check_adjoint(grow, back(1), u0, 3, {.whole = false});
    CHECK((one_by_one.fault == adjoint_fault::undecided && one_by_one.step == 0 && one_by_one.resolution == 1));
  }
  CHECK(cairn::check_adjoint(grow, back(1), u0, 3, {.most_steps = 0}).fault == adjoint_fault::undecided);

  struct timed {
    doubles u;
    double t = 1;
  };
  auto const report_of = [&](double factor, step_index most_steps) {
    auto const step = [&](timed& x, step_index i) { grow(x.u, i), x.t += 1; };
    auto const adjoint = [&](timed const& x, doubles& bar, step_index i) { back(factor)(x.u, bar, i); };
    return cairn::check_adjoint(step, adjoint, timed{u0}, 3, u0, {.most_steps = most_steps});
  };
  auto const whole = report_of(1, 0);
  INFO(whole.text());
  CHECK(whole.passed());
  CHECK(whole.slope == Approx(2).margin(0.1));
  CHECK(report_of(1, 64).fault == adjoint_fault::undecided);
  CHECK(report_of(1.001, 0).fault == adjoint_fault::wrong_gradient);
}

TEST_CASE("nothing to check, nothing to vary, and numbers of steps that are none") {
  auto step = [](double& x) { x *= 2; };
  auto adjoint = [](double, double& bar) { bar *= 2; };
  auto const report = cairn::check_adjoint(step, adjoint, 1.0, 0);
  CHECK(report.passed());
  CHECK(report.steps_tested == 0);
  CHECK(std::string(report.text()) == "cairn::check_adjoint: no steps, nothing to check");
  CHECK_THROWS_AS(cairn::check_adjoint(step, adjoint, 1.0, -1), cairn::invalid_plan);
  CHECK_THROWS_AS(cairn::check_adjoint([](doubles&) {}, [](doubles const&, doubles&) {}, doubles{}, 3),
                  cairn::invalid_call);
}

TEST_CASE("what a step throws passes through, and its calls are counted") {
  struct mine {};
  auto throws = [](double&, step_index i) { if (i == 5) throw mine{}; };
  CHECK_THROWS_AS(cairn::check_adjoint(throws, [](double, double&) {}, 1.0, 10), mine);

  std::uint64_t calls = 0;
  auto counts = [&](doubles& x, step_index i) { ++calls; x = next(x, i); };
  auto adjoint = [](doubles const& x, doubles& bar, step_index i) { bar = pulled(x, bar, i); };
  auto const report = cairn::check_adjoint(counts, adjoint, start, 100);
  CHECK(report.passed());
  CHECK(cairn::wide(calls) == cairn::wide(report.step_calls) + 2 * cairn::estimate(cairn::uniform{100}).step_calls);

  calls = 0;
  auto elsewhere = [&](doubles const& x, doubles& x1, step_index i) { ++calls, x1 = next(x, i); };
  auto with_next = [&](doubles const& x, doubles const&, doubles& bar, step_index i) { bar = pulled(x, bar, i); };
  auto const between = cairn::check_adjoint(elsewhere, with_next, start, 9);
  CHECK(between.passed());
  CHECK(cairn::wide(calls) == cairn::wide(between.step_calls) + 2 * cairn::estimate(cairn::uniform{9}).step_calls);
}

namespace {

/// Numbers through all magnitudes of their type: decaying to subnormal ones and to 0, or growing to the largest. `at`
/// is where the adjoint is wrong.
template <class T>
struct through_magnitudes {
  T factor;
  step_index n, at;
  [[nodiscard]] T wrong(step_index i) const { return T(i == at ? 1.5 : 1); }
  [[nodiscard]] bool stays_finite() const {
    return double(n) * std::log2(double(factor)) < std::numeric_limits<T>::max_exponent - 2;
  }

  template <class State>
  [[nodiscard]] cairn::adjoint_report check(auto const& step, auto const& adjoint, State const& x0) const {
    return cairn::check_adjoint(step, adjoint, x0, n);
  }
  [[nodiscard]] cairn::adjoint_report scaled() const {
    return check([this](T& x) { x *= factor; }, [this](T, T& bar, step_index i) { bar *= factor * wrong(i); }, T(1));
  }
  [[nodiscard]] cairn::adjoint_report turned() const {
    using pair = std::array<T, 2>;
    T const c = T(0.96) * factor, s = T(0.28) * factor;
    return check(
        [=](pair& x) {
          x = {c * x[0] - s * x[1], s * x[0] + c * x[1]};
        },
        [=, this](pair const&, pair& bar, step_index i) {
          bar = {wrong(i) * (c * bar[0] + s * bar[1]), c * bar[1] - s * bar[0]};
        },
        pair{T(1), T(-0.7)});
  }
  [[nodiscard]] cairn::adjoint_report squashed() const {
    return check([this](T& x) { x = std::tanh(factor * x); },
                 [this](T x, T& bar, step_index i) {
                   T const y = std::tanh(factor * x);
                   bar *= factor * (1 - y * y) * wrong(i);
                 }, T(1));
  }
  [[nodiscard]] cairn::adjoint_report folded() const {
    return check([this](T& x) { x = -factor * std::abs(x); },
                 [this](T x, T& bar, step_index i) { bar *= wrong(i) * (x > 0 ? -factor : factor); }, T(1));
  }
  [[nodiscard]] cairn::adjoint_report beside_one_that_stays() const {
    struct pair {
      T small, other;
    };
    return check([this](pair& x) { x = {factor * x.small, std::sin(x.other) + T(0.1) * std::tanh(x.small)}; },
                 [this](pair const& x, pair& bar, step_index i) {
                   T const y = std::tanh(x.small);
                   bar = {wrong(i) * (factor * bar.small + T(0.1) * (1 - y * y) * bar.other),
                          bar.other * std::cos(x.other)};
                 }, pair{T(1), T(0.7)});
  }
  [[nodiscard]] cairn::adjoint_report there_and_back() const {
    return check([this](T& x, step_index i) { x = i < n - n / 8 ? x * factor : x / factor; },
                 [this](T, T& bar, step_index i) { bar = wrong(i) * (i < n - n / 8 ? bar * factor : bar / factor); },
                 T(1));
  }
  [[nodiscard]] cairn::adjoint_report observed() const {
    return check([this](T& x) { x *= factor; },
                 [this](T x, T& bar, step_index i) { bar = bar * factor * wrong(i) + x / 4; }, T(1));
  }
};

bool is_accused(cairn::adjoint_report const& report) {
  return !report.passed() && report.fault != adjoint_fault::undecided;
}

}  // namespace

TEMPLATE_TEST_CASE("a right adjoint of numbers of any magnitude is not accused, and a wrong one is found", "[run]",
                   float, double) {
  using T = TestType;
  for (double const factor : {0.9, 0.5, 0.1, 1.1, 2.0, 10.0}) {
    double const bound =
        factor < 1 ? std::log2(double(std::numeric_limits<T>::denorm_min())) : std::numeric_limits<T>::max_exponent;
    auto const steps = bound / std::log2(factor);
    for (double const part : {0.3, 0.97, 1.0, 1.1}) {
      through_magnitudes<T> loop{T(factor), step_index(part * steps), -1};
      if (!loop.stays_finite()) continue;
      INFO("factor " << factor << ", steps " << loop.n);
      auto const scaled = loop.scaled();
      INFO(scaled.text());
      CHECK(scaled.passed());
      auto const turned = loop.turned();
      INFO(turned.text());
      CHECK(turned.passed());
      auto const not_accused = [](cairn::adjoint_report const& report) {
        INFO(report.text());
        CHECK_FALSE(is_accused(report));
      };
      not_accused(loop.squashed());
      not_accused(loop.beside_one_that_stays());
      not_accused(loop.there_and_back());
      if (factor < 1) {
        not_accused(loop.folded());
        not_accused(loop.observed());
      }
      for (step_index const at :
           {step_index{0}, loop.n / 2}) {  // the second one is no tested step where there are more than 64
        loop.at = at;
        CHECK(is_accused(loop.scaled()));
        if (factor < 1) CHECK(is_accused(loop.folded()));
        if (at > 0) continue;
        CHECK(loop.scaled().step == 0);
        CHECK(loop.turned().step == 0);
        if (factor < 1) CHECK(loop.observed().step == 0);
      }
    }
  }
}

TEST_CASE("if floats are too coarse for differences, the resolution that they reached is said, and no kink is blamed") {
  auto const report_of = []<class T>(T slope) {
    auto const step = [=](T& x) { x += slope * std::sin(T(30) * x); };
    auto const adjoint = [=](T x, T& bar) { bar += bar * slope * T(30) * std::cos(T(30) * x); };
    return cairn::check_adjoint(step, adjoint, T(1), 10);
  };
  auto const coarse = report_of(1e-4f);
  std::string const text = coarse.text();
  CHECK(coarse.fault == adjoint_fault::undecided);
  CHECK((coarse.resolution > 1.0 / 64 && coarse.resolution < 0.1 && coarse.digits == 24 && !coarse.kink));
  CHECK(text.find("they are good to ") != std::string::npos);
  CHECK(text.find("as numbers of 24 bits allow; check the same code in double") != std::string::npos);
  CHECK(text.find("kink") == std::string::npos);
  CHECK(std::string{report_of(1e-1f).text()}.find("they are good to 1 relative only") != std::string::npos);
  CHECK(report_of(1e-4).passed());
  // Of two such steps the first is named, with its own resolution, though the second is coarser.
  auto const resolution_of = [](step_index n) {
    auto const slope = [](step_index i) { return i == 0 ? 1e-4f : 1e-1f; };
    auto const step = [=](float& x, step_index i) { x += slope(i) * std::sin(30 * x); };
    auto const adjoint = [=](float x, float& bar, step_index i) { bar += bar * slope(i) * 30 * std::cos(30 * x); };
    auto const undecided = cairn::check_adjoint(step, adjoint, 1.0f, n);
    CHECK((undecided.fault == adjoint_fault::undecided && undecided.step == 0));
    return undecided.resolution;
  };
  CHECK(resolution_of(2) == resolution_of(1));
}

TEST_CASE("a right adjoint of a chaotic loop is not called wrong, and a wrong one is") {
  auto const report_of = []<class T>(T growth, double factor, step_index n, bool whole) {
    auto const step = [=](T& x) { x = growth * x * (1 - x); };
    auto const adjoint = [=](T x, T& bar) { bar *= T(factor) * growth * (1 - 2 * x); };
    return cairn::check_adjoint(step, adjoint, T(0.3), n, {.most_steps = whole ? 0 : 64});
  };
  auto const right = report_of(3.99, 1, 200, true);
  INFO(right.text());
  CHECK(right.fault == adjoint_fault::undecided);
  CHECK(std::string{right.text()}.find("as in a chaotic loop; check fewer steps") != std::string::npos);
  CHECK(report_of(3.99f, 1, 60, true).fault != adjoint_fault::wrong_gradient);
  CHECK(report_of(3.99, 1.001, 200, false).fault == adjoint_fault::wrong_adjoint);
  CHECK(report_of(3.99, 1.001, 10, true).fault == adjoint_fault::wrong_gradient);
  CHECK(report_of(2.9, 1.001, 5, true).fault == adjoint_fault::wrong_gradient);
}

TEST_CASE("a step with a kink at the state is undecided, and one that is wrong elsewhere is still found") {
  auto rectified = [](double& x, step_index i) { x = i == 2 ? 0 : std::max(x, 0.0); };
  auto adjoint = [](double x, double& bar, step_index i) { bar *= i == 2 ? 0 : x > 0 ? 1 : 0; };
  auto const report = cairn::check_adjoint(rectified, adjoint, 1.0, 6);
  INFO(report.text());
  CHECK(report.fault == adjoint_fault::undecided);
  CHECK(report.kink);
  CHECK(std::string{report.text()}.find("the slopes on its two sides differ, as at a kink") != std::string::npos);
  CHECK(report.step == 3);
  auto wrong = [&](double x, double& bar, step_index i) { bar *= i == 2 ? 0 : i == 5 ? 2 : x > 0 ? 1 : 0; };
  CHECK(cairn::check_adjoint(rectified, wrong, 1.0, 6).step == 5);
}

TEST_CASE("adjoints in narrower numbers than the state's are judged by their own precision") {
  auto step = [](doubles& x) { for (double& v : x) v = std::sin(1.3 * v); };
  using floats = std::vector<float>;
  auto adjoint = [](doubles const& x, floats& bar) {
    for (std::size_t k = 0; k < x.size(); ++k) bar[k] *= float(1.3 * std::cos(1.3 * x[k]));
  };
  auto const right = cairn::check_adjoint(step, adjoint, doubles{0.3, -1e-200, 2}, 40, floats(3));
  INFO(right.text());
  CHECK(right.passed());
  auto wrong = [](doubles const& x, floats& bar, step_index i) {
    for (std::size_t k = 0; k < x.size(); ++k) bar[k] *= float((i == 7 ? 1.01 : 1) * 1.3 * std::cos(1.3 * x[k]));
  };
  CHECK(cairn::check_adjoint(step, wrong, doubles{0.3, -1e-200, 2}, 40, floats(3)).step == 7);
}

namespace {

/// A field with a time, a constant and random numbers, of which only the field is differentiated.
struct forced {
  doubles u{0.3, -0.8, 1.1};
  double t = 5, dt = 0.01;
  std::mt19937 random{3};
  std::normal_distribution<double> kick{0.0, 0.1};
};
auto force = [](forced& x) {
  for (double& v : x.u) v += x.dt * (std::sin(v) + x.t * v + x.kick(x.random));
  x.t += x.dt * (1 + x.u[0] * x.u[0]);
};
void force_back(doubles const& u, double t, double dt, doubles& bar) {
  for (std::size_t k = 0; k < u.size(); ++k) bar[k] *= 1 + dt * (std::cos(u[k]) + t);
}

}  // namespace

TEST_CASE("an adjoint of one member of a state: the others are neither varied nor accused, and the report names them") {
  auto right = [](forced const& x, doubles& bar) { force_back(x.u, x.t, x.dt, bar); };
  auto const report = cairn::check_adjoint(force, right, forced{}, 30, [](forced const& x) { return x.u; });
  INFO(report.text());
  CHECK(report.passed());
  CHECK(report.numbers == 5);
  REQUIRE(report.undifferentiated.size() == 1);
  CHECK(report.undifferentiated[0].first == 3);
  CHECK(report.undifferentiated[0].size == 2);
  CHECK(report.undifferentiated[0].first_member == 1);
  CHECK(report.undifferentiated[0].last_member == 2);
  CHECK(std::string(report.text()).find("; undifferentiated: numbers 3 to 4 in members 1 to 2 of 5 numbers") !=
        std::string::npos);

  auto wrong = [](forced const& x, doubles& bar, step_index i) {
    force_back(x.u, x.t, x.dt, bar);
    if (i == 11) bar[2] *= 1.001;
  };
  auto const found = cairn::check_adjoint(force, wrong, forced{}, 30, doubles(3));
  INFO(found.text());
  CHECK(found.fault == adjoint_fault::wrong_adjoint);
  CHECK(found.step == 11);
  CHECK(found.number == 2);
  CHECK(found.member == 0);
}

TEST_CASE("the member that an adjoint belongs to may stand anywhere, also in a member") {
  struct inner {
    double time = 3;
    doubles u{0.3, -0.8};
  };
  struct outer {
    float weight = 2;
    int count = 0;
    inner part;
  };
  auto step = [](outer& x) {
    ++x.count;
    x.part.time += 0.1;
    for (double& v : x.part.u) v = std::sin(double(x.weight) * v + x.part.time);
  };
  auto adjoint = [](outer const& x, doubles& bar) {
    for (std::size_t k = 0; k < bar.size(); ++k)
      bar[k] *= double(x.weight) * std::cos(double(x.weight) * x.part.u[k] + (x.part.time + 0.1));
  };
  auto const report = cairn::check_adjoint(step, adjoint, outer{}, 20, doubles(2));
  INFO(report.text());
  CHECK(report.passed());
  REQUIRE(report.undifferentiated.size() == 1);
  CHECK(report.undifferentiated[0].size == 2);
  auto never = [](outer const&) -> doubles { throw std::logic_error{"a loop of no step has no adjoint"}; };
  CHECK(cairn::check_adjoint(step, adjoint, outer{}, 0, never).passed());
}

TEST_CASE("where constants are named, an adjoint of the state's type is differentiated by all other numbers") {
  struct field {
    double dt = 0.01, t = 5;
    doubles u{0.3, -0.8, 1.1};
  };
  auto step = [](field& x) {
    for (double& v : x.u) v += x.dt * (std::sin(v) + x.t * v);
    x.t += x.dt;
  };
  auto adjoint = [](field const& x, field& bar) {
    force_back(x.u, x.t, x.dt, bar.u);
  };  // leaves bar.dt and bar.t alone
  auto const all = cairn::check_adjoint(step, adjoint, cairn::with_constants{field{}}, 20);
  INFO(all.text());
  CHECK(all.fault == adjoint_fault::wrong_adjoint);
  CHECK(all.undifferentiated.empty());
  CHECK(all.left_alone);
  CHECK(all.member == 0);
  CHECK(std::string(all.text()).find("name a constant of the loop in cairn::with_constants") != std::string::npos);

  auto const named = cairn::check_adjoint(step, adjoint, cairn::with_constants{field{}, &field::t, &field::dt}, 20);
  INFO(named.text());
  CHECK(named.passed());
  CHECK(named.numbers == 5);
  REQUIRE(named.undifferentiated.size() == 1);
  CHECK(named.undifferentiated[0].first == 0);
  CHECK(named.undifferentiated[0].size == 2);
  auto wrong = [&](field const& x, field& bar, step_index i) {
    adjoint(x, bar);
    if (i == 4) bar.u[1] += 0.1 * bar.u[0];
  };
  auto const found = cairn::check_adjoint(step, wrong, cairn::with_constants{field{}, &field::t, &field::dt}, 20);
  CHECK(found.step == 4);
  CHECK(found.number == 3);
  CHECK(found.member == 2);
  CHECK_FALSE(found.left_alone);

  auto const flat = [](field const& x, doubles& bar) { force_back(x.u, x.t, x.dt, bar); };
  CHECK(
      cairn::check_adjoint(step, flat, cairn::with_constants{field{}, &field::t, &field::dt}, 20, doubles(3)).passed());
}

TEST_CASE("two members that an adjoint could belong to: the check asks for the constants") {
  struct two {
    doubles u{0.3, -0.8}, drag{0.1, 0.2};
  };
  auto step = [](two& x) { for (std::size_t k = 0; k < 2; ++k) x.u[k] *= 1 - x.drag[k]; };
  auto adjoint = [](two const& x, doubles& bar) { for (std::size_t k = 0; k < 2; ++k) bar[k] *= 1 - x.drag[k]; };
  CHECK_THROWS_AS(cairn::check_adjoint(step, adjoint, two{}, 5, doubles(2)), cairn::invalid_call);
  CHECK(cairn::check_adjoint(step, adjoint, cairn::with_constants{two{}, &two::drag}, 5, doubles(2)).passed());
}

TEST_CASE("a constant may be of any type") {
  class opaque {
   public:
    opaque() {}
    [[nodiscard]] double value() const { return value_; }
    void add(double more) { value_ += more; }

   private:
    double value_ = 1.5;
  };
  struct state {
    opaque table;
    double u = 0.4;
  };
  auto step = [](state& x) { x.u = std::sin(x.table.value() * x.u); };
  auto adjoint = [](state const& x, state& bar) { bar.u *= x.table.value() * std::cos(x.table.value() * x.u); };
  auto const report = cairn::check_adjoint(step, adjoint, cairn::with_constants{state{}, &state::table}, 10);
  INFO(report.text());
  CHECK(report.passed());
  auto one = [](state const& x, double& bar) { bar *= x.table.value() * std::cos(x.table.value() * x.u); };
  CHECK(cairn::check_adjoint(step, one, state{}, 10, 1.0).passed());
  // No derivative goes through it, even if the step changes it by one that is differentiated.
  auto changes = [&](state& x) { step(x), x.table.add(0.1 * x.u); };
  CHECK(cairn::check_adjoint(changes, one, state{}, 10, 1.0).passed());
}

TEST_CASE("a step that shows what x1 held before is named, with the first number") {
  struct pair {
    double u = 0.3, v = 0.9;
  };
  auto adjoint = [](pair const& x, pair& bar) { bar = {bar.u * std::cos(x.u) + bar.v, bar.v}; };
  auto right = [](pair const& x, pair& x1) { x1 = {std::sin(x.u), x.u + x.v}; };
  auto const good = cairn::check_adjoint(right, adjoint, pair{}, 10);
  INFO(good.text());
  CHECK(good.passed());
  auto keeps = [](pair const& x, pair& x1, step_index i) {
    x1.u = std::sin(x.u);
    if (i != 3) x1.v = x.u + x.v;
  };
  auto kept_adjoint = [&](pair const& x, pair& bar, step_index i) {
    if (i != 3) adjoint(x, bar);
    else bar.u *= std::cos(x.u);
  };
  auto const kept = cairn::check_adjoint(keeps, kept_adjoint, pair{}, 10);
  CHECK(kept.fault == adjoint_fault::stale_next_state);
  CHECK(kept.step == 3);
  CHECK(kept.number == 1);
  CHECK(kept.member == 1);
  CHECK(std::string(kept.text()).find("changes the result of step 3, first in number 1 of the state, in member 1") !=
        std::string::npos);
  auto adds = [](pair const& x, pair& x1) {
    x1.u += std::sin(x.u) - x.u;
    x1.v = x.u + x.v;
  };
  auto const added = cairn::check_adjoint(adds, adjoint, pair{}, 10);
  CHECK(added.fault == adjoint_fault::stale_next_state);
  CHECK(added.step == 0);
  CHECK(added.number == 0);

  // A time that the step forgets: no derivative is taken by it, and it is stale all the same.
  struct timed {
    doubles u{0.3, 0.7};
    double t = 1;
  };
  auto forgets = [](timed const& x, timed& x1) { x1.u = {std::sin(x.u[0]), x.t * x.u[1]}; };
  auto back = [](timed const& x, doubles& bar) { bar = {bar[0] * std::cos(x.u[0]), x.t * bar[1]}; };
  auto const forgotten = cairn::check_adjoint(forgets, back, timed{}, 5, doubles(2));
  CHECK(forgotten.fault == adjoint_fault::stale_next_state);
  CHECK(forgotten.number == 2);
  CHECK(forgotten.member == 1);
}

TEST_CASE("of two runs of a step that differ, the first number that does is named") {
  int calls = 0;
  auto step = [&](doubles& x, step_index i) { x[2] += i == 4 ? ++calls : 0; };
  auto const report = cairn::check_adjoint(step, [](doubles const&, doubles&) {}, start, 10);
  CHECK(report.fault == adjoint_fault::step_not_deterministic);
  CHECK(report.step == 4);
  CHECK(report.number == 2);
}

TEST_CASE("check_gradient distinguishes a gradient from one that is wrong by little") {
  auto objective = [](doubles const& p) { return std::exp(p[0]) * p[1] + std::sin(p[2]); };
  doubles const at{0.3, -2, 1};
  doubles slope{std::exp(0.3) * -2, std::exp(0.3), std::cos(1.0)};
  auto const right = cairn::check_gradient(objective, at, slope);
  INFO(right.text());
  CHECK(right.passed());
  CHECK(right.slope == Approx(2).margin(0.1));
  slope[1] *= 1 + 1e-6;
  auto const wrong = cairn::check_gradient(objective, at, slope);
  CHECK(wrong.fault == adjoint_fault::wrong_gradient);
  CHECK(wrong.slope < 1.5);
  slope.pop_back();
  CHECK_THROWS_AS(cairn::check_gradient(objective, at, slope), cairn::invalid_call);
  auto const linear =
      cairn::check_gradient([](doubles const& p) { return 3 * p[0] - p[1]; }, doubles{1, 2}, doubles{3, -1});
  CHECK(linear.passed());
  CHECK(linear.linear);
}

TEST_CASE("where the objective jumps beside the point, the gradient is judged by the distances outside and inside") {
  auto const jumps = [](double curve, double jump) {
    return [=](double p) {
      double const h = std::abs(p - 1);
      return 2 * p + (h > std::ldexp(1, -19) ? curve * h * h + jump : 0);
    };
  };
  auto const flat = jumps(0, std::ldexp(1, -24)), curved = jumps(64, std::ldexp(64, -27));
  auto const of_flat = cairn::check_gradient(flat, 1.0, 2.0), of_curved = cairn::check_gradient(curved, 1.0, 2.0);
  INFO(of_flat.text());
  CHECK(of_flat.passed());
  CHECK(of_flat.linear);
  CHECK(of_flat.slope == 0);
  INFO(of_curved.text());
  CHECK(of_curved.passed());
  CHECK(of_curved.slope == Approx(2).margin(0.1));
  CHECK(cairn::check_gradient(flat, 1.0, 2.001).fault == adjoint_fault::wrong_gradient);
  CHECK(cairn::check_gradient(curved, 1.0, 2.001).fault == adjoint_fault::wrong_gradient);
}

TEST_CASE("a remainder that dips at one distance falls all the same, and that of a wrong gradient does not") {
  auto const dips = [](double p) {  // between 2^-25 and 2^-24 as if it were about to change its sign
    double const h = p - 1, size = std::abs(h);
    return 2 * h + 64 * h * h * (size > std::ldexp(1, -25) && size <= std::ldexp(1, -24) ? 0.25 : 1);
  };
  auto const right = cairn::check_gradient(dips, 1.0, 2.0);
  INFO(right.text());
  CHECK(right.passed());
  CHECK(right.slope == Approx(2).margin(0.1));
  CHECK(cairn::check_gradient(dips, 1.0, 2.001).fault == adjoint_fault::wrong_gradient);
}

TEST_CASE("the least number that a type has, also a subnormal one, is the error of its arithmetic", "[run][check]") {
  CHECK(cairn::detail::underflow_of<float>() == double(std::numeric_limits<float>::denorm_min()));
}

namespace {
/// A class whose copies share what they point to, which nothing of its type shows.
class shares_number {
 public:
  shares_number() = default;
  explicit shares_number(double value) : value_{std::make_shared<double>(value)} {}
  [[nodiscard]] double& value() const { return *value_; }
  template <class F>
  void visit_numbers(F& f) { f(value_.get(), std::size_t{1}); }
  template <class F>
  void visit_numbers(F& f) const { f(static_cast<double const*>(value_.get()), std::size_t{1}); }

 private:
  std::shared_ptr<double> value_ = std::make_shared<double>();
};
}  // namespace
TEST_CASE("copies that share the state's numbers are found, and x0 stays as it is", "[run][check]") {
  auto const step = [](shares_number& x) { x.value() = std::sin(x.value()); };
  auto const adjoint = [](shares_number const& x, shares_number& bar) { bar.value() *= std::cos(x.value()); };
  shares_number const x0{2.1};
  CHECK_THROWS_WITH(cairn::check_adjoint(step, adjoint, x0, 20), ContainsSubstring("copies of the state share its numbers"));
  CHECK(x0.value() == 2.1);
}
