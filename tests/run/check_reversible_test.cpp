// SPDX-License-Identifier: Apache-2.0
// Whether a step can run backwards: right inverses pass, and each kind of wrong one is named.
#include <array>
#include <cmath>
#include <limits>
#include <string>
#include <vector>
#include <cairn/run/check/check_reversible.hpp>
#include "support/catch.hpp"
#include "support/reversible_loops.hpp"

using namespace reversible_loops;
using cairn::check_reversible;
using cairn::reversal_fault;
using Catch::Matchers::ContainsSubstring;

namespace {
using medium = std::vector<double>;
struct damped {
  wave_line line;
  medium m = medium(200, 0.25);
  auto step() const {
    return [this](wave& x, medium const& c, step_index i) { line.step(x, c, i); };
  }
  auto keep() const {
    return [this](wave const& x) { return line.keep(x); };
  }
  auto back() const {
    return [this](wave& x, std::vector<double> const& strip, medium const& c, step_index i) { line.back(x, strip, c, i); };
  }
};
}  // namespace

TEST_CASE("a right inverse passes, with its drifts and what it keeps", "[reversible][check]") {
  damped const wave_case;
  auto const found =
      check_reversible(wave_case.step(), wave_case.keep(), wave_case.back(), wave_case.line.silence(), wave_case.m, 500);
  INFO(found.text());
  CHECK(found.passed());
  CHECK(found.steps == 500);
  CHECK(found.rows.size() == 10);
  CHECK(found.rows.front().steps == 1);
  CHECK(found.rows.back().steps == 500);
  CHECK(found.drift > 0);
  CHECK(found.drift < 1e-12);
  CHECK(found.kept_bytes == sizeof(std::vector<double>) + 24 * sizeof(double));
  CHECK(found.state_bytes == 2 * (sizeof(std::vector<double>) + 200 * sizeof(double)));
  CHECK(found.longest_segment(1e-10) == 500);
  CHECK(found.longest_segment(-1) == 0);
  CHECK_THAT(found.text(), ContainsSubstring("each of 500 steps runs backwards"));

  auto const exact = check_reversible(&mixed_step, &mixed_keep, &mixed_back, mixed{}, 0.7, 100);
  CHECK(exact.passed());
  CHECK(exact.drift == 0);
  CHECK(check_reversible(&mixed_step, &mixed_keep, &mixed_back, mixed{}, 0.7, 0).passed());
  CHECK(check_reversible(&mixed_step, &mixed_keep, &mixed_back, mixed{}, 0.7, 1).rows.size() == 1);
  CHECK_THROWS_AS(check_reversible(&mixed_step, &mixed_keep, &mixed_back, mixed{}, 0.7, -1), cairn::invalid_plan);
}

TEST_CASE("damping without strips explodes, and the damped cells are named", "[reversible][check]") {
  damped const wave_case;
  auto const back = [&](wave& x, medium const& c, step_index i) { wave_case.line.back_without(x, c, i); };
  auto const found = check_reversible(wave_case.step(), cairn::keep_nothing, back, wave_case.line.silence(), wave_case.m, 600);
  INFO(found.text());
  CHECK(found.fault == reversal_fault::explodes);
  CHECK(found.one_step < 1e-14);
  CHECK(found.step == -1);
  CHECK(found.growth > 64);
  REQUIRE(!found.cells.empty());
  for (auto const& range : found.cells) {
    auto const first = range.first % 200, last = (range.first + range.size - 1) % 200;
    CHECK((first < 30 || first >= 170));
    CHECK((last < 30 || last >= 170));
  }
  CHECK(found.longest_segment(1e-10) >= 1);
  CHECK(found.longest_segment(1e-10) < 600);
  CHECK_THAT(found.text(), ContainsSubstring("rounding grows with every step back"));
}

TEST_CASE("a wrong back, a forgotten source and a limiter are found at their first step", "[reversible][check]") {
  damped const wave_case;
  auto const wrong_at = [&](auto const& back) {
    auto const found =
        check_reversible(wave_case.step(), wave_case.keep(), back, wave_case.line.silence(), wave_case.m, 100);
    INFO(found.text());
    CHECK(found.fault == reversal_fault::not_inverse);
    CHECK_THAT(found.text(), ContainsSubstring("forward and back does not give the state again"));
    return found.step;
  };
  CHECK(wrong_at([&](wave& x, std::vector<double> const& strip, medium const& c, step_index i) {
    wave_case.line.back(x, strip, c, i);
    if (i == 70) x.before[99] += 1e-3;
  }) == 70);
  CHECK(wrong_at([&](wave& x, std::vector<double> const& strip, medium const& c, step_index i) {
    wave_case.line.back(x, strip, c, i);
    x.before[wave_case.line.cells / 3] += wave_line::source(i);
  }) == 0);

  using state = std::array<double, 2>;
  auto const step = [](state& x) {
    x[0] += 0.1 * x[1];
    if (x[0] > 1) x[0] = 1;  // a limiter
  };
  auto const back = [](state& x) { x[0] -= 0.1 * x[1]; };
  auto const limited = check_reversible(step, cairn::keep_nothing, back, state{0, 0.5}, 50);
  CHECK(limited.fault == reversal_fault::not_inverse);
  CHECK(limited.step == 20);
  CHECK(limited.cells.size() == 1);
  CHECK(limited.cells[0].first == 0);
}

TEST_CASE("what is no number, and what is not finite, is said", "[reversible][check]") {
  auto const forgets = [](mixed& x, lost const& from, double const& p, step_index i) {
    auto const b = x.b;
    mixed_back(x, from, p, i);
    if (i == 12) x.b = b;
  };
  auto const found = check_reversible(&mixed_step, &mixed_keep, forgets, mixed{}, 0.7, 30);
  CHECK(found.fault == reversal_fault::not_restored);
  CHECK(found.step == 12);
  auto const grows = [](double& x) { x *= 1e200; };
  auto const shrinks = [](double& x) { x /= 1e200; };
  auto const infinite = check_reversible(grows, cairn::keep_nothing, shrinks, 1.0, 5);
  CHECK(infinite.fault == reversal_fault::not_finite);
  CHECK(infinite.step == 1);
}

TEST_CASE("steps of other forms, and objects, are checked", "[reversible][check]") {
  auto const by_value = [](double x, step_index i) { return 2 * x + double(i); };
  auto const back = [](double& x, step_index i) { x = (x - double(i)) / 2; };
  CHECK(check_reversible(by_value, cairn::keep_nothing, back, 0.25, 20).passed());
  auto const apart = [](double const& x, double& x1, step_index i) { x1 = 2 * x + double(i); };
  CHECK(check_reversible(apart, cairn::keep_nothing, back, 0.25, 20).passed());
  struct object {
    object() = default;
    object(object const&) = delete;
    object& operator=(object const&) = delete;
    double v = 0.5;
    double save() const { return v; }
    void restore(double to) { v = to; }
  } x;
  auto const step = [](object& o) { o.v += 0.25; };
  CHECK(check_reversible(step, cairn::keep_nothing, [](object& o) { o.v -= 0.25; }, x, 20).passed());
  CHECK(x.v == 0.5);
  CHECK(check_reversible(step, cairn::keep_nothing, [](object& o) { o.v -= 0.2; }, x, 20).step == 0);
}
