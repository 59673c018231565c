// SPDX-License-Identifier: Apache-2.0
// check_adjoint reports no constant of a loop that an adjoint leaves alone as wrong, says which numbers it took for
// one, and still finds what is forgotten.
#include <array>
#include <cmath>
#include <cstdint>
#include <random>
#include <string>
#include <vector>
#include <cairn/cairn.hpp>
#include <cairn/run/check/check_adjoint.hpp>
#include "support/catch.hpp"

using cairn::adjoint_fault;
using cairn::step_index;
using doubles = std::vector<double>;

namespace {

/// A field that a time, a step size and a coefficient drive.
struct driven {
  double dt = 0.01, t = 5;
  doubles u{0.3, -0.8, 1.1};
  double drag = 0.2;
};
auto drive = [](driven& x) {
  for (double& v : x.u) v += x.dt * (std::sin(v) + x.t * v - x.drag * v * v);
  x.t += x.dt;
};
void drive_back(driven const& x, driven& bar) {
  for (std::size_t k = 0; k < x.u.size(); ++k) bar.u[k] *= 1 + x.dt * (std::cos(x.u[k]) + x.t - 2 * x.drag * x.u[k]);
}
auto leaves_constants = [](driven const& x, driven& bar) { drive_back(x, bar); };

std::vector<std::int64_t> action_list(std::vector<cairn::number_range> const& ranges) {
  std::vector<std::int64_t> all;
  for (auto const& range : ranges)
    for (std::int64_t k = 0; k < range.size; ++k) all.push_back(range.first + k);
  return all;
}
bool says(cairn::adjoint_report const& report, char const* words) {
  return std::string(report.text()).find(words) != std::string::npos;
}
using numbers = std::vector<std::int64_t>;

}  // namespace

TEST_CASE("constants that an adjoint leaves alone are not reported as wrong, but as left out") {
  auto const report = cairn::check_adjoint(drive, leaves_constants, driven{}, 30);
  INFO(report.text());
  CHECK(report.passed());
  CHECK(report.steps_tested == 30);
  CHECK(report.slope == Approx(2).margin(0.1));
  CHECK(action_list(report.taken_as_constants) == numbers{0, 1, 5});
  CHECK(action_list(report.undifferentiated) == numbers{0, 1, 5});
  CHECK(report.numbers == 6);
  REQUIRE(report.taken_as_constants.size() == 2);
  CHECK(report.taken_as_constants[0].last_member == 1);
  CHECK(report.taken_as_constants[1].first_member == 3);
  CHECK(says(report, "agrees with the step, constants left out: "));
  CHECK(says(report,
             "; taken as constants of the loop: numbers 0 to 1 in members 0 to 1, number 5 in member 3, because"));
  CHECK(says(
      report,
      "if you need a derivative with respect to them, this adjoint is wrong; cairn::with_constants{x0} checks them, "
      "too"));

  auto const zeros = [](driven const& x, driven const& bar) {
    driven to{0, 0, bar.u, 0};
    drive_back(x, to);
    return to;
  };
  CHECK(action_list(cairn::check_adjoint(drive, zeros, driven{}, 30).taken_as_constants) == numbers{0, 1, 5});
}

TEST_CASE("where constants are named, with a name or without one, all others are checked") {
  auto const none = cairn::check_adjoint(drive, leaves_constants, cairn::with_constants{driven{}}, 30);
  CHECK(none.fault == adjoint_fault::wrong_adjoint);
  CHECK(none.taken_as_constants.empty());
  CHECK(none.undifferentiated.empty());
  CHECK(none.left_alone);
  auto const two =
      cairn::check_adjoint(drive, leaves_constants, cairn::with_constants{driven{}, &driven::t, &driven::dt}, 30);
  CHECK(two.fault == adjoint_fault::wrong_adjoint);
  CHECK(two.number == 5);
  auto const of_vector =
      cairn::check_adjoint([](doubles& x) { x[0] *= x[1]; }, [](doubles const& x, doubles& bar) { bar[0] *= x[1]; },
                           cairn::with_constants{doubles{0.4, 0.9}}, 5);
  CHECK(of_vector.fault == adjoint_fault::wrong_adjoint);
  CHECK(of_vector.number == 1);
}

TEST_CASE("beside constants that were left out, errors of all other numbers are found where they are") {
  auto const wrong = GENERATE(1.0, -1e-2, 1e-4, 1e-6);
  step_index const at = GENERATE(0, 3, 9);
  auto adjoint = [&](driven const& x, driven& bar, step_index i) {
    drive_back(x, bar);
    if (i == at) bar.u[1] *= 1 + wrong;
  };
  auto const report = cairn::check_adjoint(drive, adjoint, driven{}, 10);
  INFO(report.text());
  CHECK(report.fault == adjoint_fault::wrong_adjoint);
  CHECK(report.step == at);
  CHECK(report.number == 3);
  CHECK(report.member == 2);
  // One that lies between the tested steps.
  auto const whole = cairn::check_adjoint(drive, adjoint, driven{}, 10, {.most_steps = 1});
  if (at > 0 && std::abs(wrong) >= 1e-4) CHECK(whole.fault == adjoint_fault::wrong_gradient);
}

TEST_CASE("an adjoint that reads the bar of a constant is wrong by the number into which it reads it") {
  auto reads = [](driven const& x, driven& bar) {
    drive_back(x, bar);
    bar.u[2] += 1e-4 * bar.t;
  };
  auto const report = cairn::check_adjoint(drive, reads, driven{}, 10);
  INFO(report.text());
  CHECK(report.fault == adjoint_fault::wrong_adjoint);
  CHECK(report.number == 4);
}

TEST_CASE("a time on which nothing depends is right as it is, and is not left out") {
  struct clocked {
    double u = 0.4, t = 0, rate = 1.1;
  };
  auto step = [](clocked& x) {
    x.u = std::sin(x.rate * x.u);
    x.t += 0.25;
  };
  auto all = [](clocked const& x, clocked& bar) {
    double const d = bar.u * std::cos(x.rate * x.u);
    bar.u = d * x.rate;
    bar.rate += d * x.u;
  };
  auto const right = cairn::check_adjoint(step, all, clocked{}, 20);
  INFO(right.text());
  CHECK(right.passed());
  CHECK(right.undifferentiated.empty());
  CHECK_FALSE(says(right, "constants"));
  auto but_rate = [](clocked const& x, clocked& bar) { bar.u *= x.rate * std::cos(x.rate * x.u); };
  auto const report = cairn::check_adjoint(step, but_rate, clocked{}, 20);
  INFO(report.text());
  CHECK(report.passed());
  CHECK(action_list(report.taken_as_constants) == numbers{2});
}

TEST_CASE("numbers that are made of constants are constants: counted times, phases and tables of them") {
  struct forced {
    double u = 0.4, phase = 0, force = 0, omega = 0.3;
    float gain = 0.5f;
    std::array<double, 2> table{0.1, -0.2};
  };
  auto step = [](forced& x, step_index i) {
    x.u = std::tanh(x.u + double(x.gain) * x.force + x.table[std::size_t(i % 2)]);
    x.phase = x.omega * double(i + 1);
    x.force = std::cos(x.phase);
  };
  auto adjoint = [](forced const& x, forced& bar, step_index i) {
    double const y = std::tanh(x.u + double(x.gain) * x.force + x.table[std::size_t(i % 2)]);
    bar.u *= 1 - y * y;
  };
  auto const report = cairn::check_adjoint(step, adjoint, forced{}, 12);
  INFO(report.text());
  CHECK(report.passed());
  CHECK(action_list(report.taken_as_constants).size() >= 5);
  CHECK(action_list(report.taken_as_constants).front() > 0);
}

namespace {

/// A parameter in the state, by which a derivative is wanted.
struct grown {
  double u = 0.4, p = 1.1;
};
auto grow = [](grown& x) { x.u = std::sin(x.p * x.u); };
void grow_back(grown const& x, grown& bar, double of_p) {
  double const d = bar.u * std::cos(x.p * x.u);
  bar = {d * x.p, bar.p + of_p * d * x.u};
}

/// The same, where the type says what is differentiated.
struct told : grown {
  void visit_numbers(auto&& f) { f(&u, std::size_t{1}), f(&p, std::size_t{1}); }
  void visit_numbers(auto&& f) const { f(&u, std::size_t{1}), f(&p, std::size_t{1}); }
};

}  // namespace

TEST_CASE("a parameter that is forgotten at one step, or summed a little wrong, is no constant") {
  step_index const at = GENERATE(0, 1, 7, 19), most = GENERATE(64, 2);
  auto forgets = [&](grown const& x, grown& bar, step_index i) { grow_back(x, bar, i == at ? 0 : 1); };
  auto const report = cairn::check_adjoint(grow, forgets, grown{}, 20, {.most_steps = most});
  INFO(report.text());
  CHECK_FALSE(report.passed());
  CHECK(report.fault != adjoint_fault::undecided);
  CHECK(report.taken_as_constants.empty());
  if (most == 64) CHECK((report.step == at && report.number == 1));
  auto sums_only_there = [&](grown const& x, grown& bar, step_index i) { grow_back(x, bar, i == at ? 1 : 0); };
  CHECK_FALSE(cairn::check_adjoint(grow, sums_only_there, grown{}, 20, {.most_steps = most}).passed());
  auto slightly = [&](grown const& x, grown& bar, step_index i) { grow_back(x, bar, i == at ? 1 + 1e-6 : 1); };
  CHECK_FALSE(cairn::check_adjoint(grow, slightly, grown{}, 20).passed());
  auto tiny = [&](grown const& x, grown& bar, step_index) { grow_back(x, bar, 1e-18); };  // lost beside what bar.p is
  CHECK_FALSE(cairn::check_adjoint(grow, tiny, grown{}, 20).passed());
  auto drops = [&](grown const& x, grown& bar, step_index i) {
    grow_back(x, bar, 0);
    if (i == at) bar.p = 0;
  };
  CHECK_FALSE(cairn::check_adjoint(grow, drops, grown{}, 20).passed());
}

TEST_CASE("what the step changes, or makes of numbers that are differentiated, is no constant") {
  auto const is_accused = [](auto step, auto adjoint, auto const& x0) {
    auto const report = cairn::check_adjoint(step, adjoint, x0, 12);
    INFO(report.text());
    CHECK(report.fault == adjoint_fault::wrong_adjoint);
    CHECK(report.taken_as_constants.empty());
    CHECK(report.left_alone);
  };
  auto forgets_p = [](grown const& x, grown& bar) { grow_back(x, bar, 0); };
  is_accused([](grown& x) { grow(x), x.p *= 1.01; }, forgets_p, grown{});
  is_accused([](grown& x) { grow(x), x.p *= 1 + 1e-9; }, forgets_p, grown{});
  is_accused([](grown& x) { x = {std::sin(x.p * x.u), x.p + 1e-6 * x.u}; }, forgets_p, grown{});
  is_accused(
      [](grown& x) {
        x = {std::sin(x.p * x.u), x.p + 2e-13 * x.u};
      },
      forgets_p, grown{});  // some last bits only
  is_accused([](grown& x, step_index i) { grow(x), x.p += i == 5 ? x.u : 0; }, forgets_p, grown{});
  is_accused([](grown& x) { x = {std::sin(x.p * x.u), std::sin(x.p)}; }, forgets_p, grown{});
  // A leapfrog whose velocity stands still at every other step.
  is_accused([](grown& x, step_index i) { i % 2 == 0 ? x.u += 0.1 * x.p : x.p -= 0.1 * std::sin(x.u); },
             [](grown const& x, grown& bar, step_index i) {
               if (i % 2 != 0) bar.u -= 0.1 * std::cos(x.u) * bar.p;
             },
             grown{});
  // What is made of p at first, which turns out to be none at step 6.
  struct late {
    double u = 0.4, p = 1.1, q = 0.2;
  };
  is_accused(
      [](late& x, step_index i) {
        x = {std::sin(x.p * x.u + x.q), x.p + (i == 6 ? x.u : 0), x.q + (i < 3 ? 0.1 * x.p : 0)};
      },
      [](late const& x, late& bar) { bar.u *= x.p * std::cos(x.p * x.u + x.q); }, late{});
  // An adjoint of nothing.
  is_accused([](grown& x) { x.u += 0.1 * x.p; }, [](grown const&, grown&) {}, grown{});
}

TEST_CASE("a constant is read by a step that only makes more numbers for it") {
  struct grid {
    double p = 1.1;
    doubles u{0.4};
    double c = 1.5;
  };
  auto step = [](grid& x) {
    x.u[0] = std::sin(x.p * x.u[0]);
    if (x.c != 1.5 && x.p == 1.1) x.u.push_back(0);
  };
  auto adjoint = [](grid const& x, grid& bar) { bar.u[0] *= x.p * std::cos(x.p * x.u[0]); };
  auto const report = cairn::check_adjoint(step, adjoint, grid{}, 6);
  INFO(report.text());
  CHECK(report.passed());
  CHECK(action_list(report.taken_as_constants) == numbers{0, 2});
}

TEST_CASE("no number of a state that grows is taken as a constant") {
  struct grown_list {
    doubles u{0.4};
    double p = 1.1;
  };
  step_index const at = GENERATE(0, 3);
  auto step = [&](grown_list& x, step_index i) {
    double const next = std::sin(x.p * x.u.back());
    if (i >= at) x.u.push_back(next);
    else x.u.back() = next;
  };
  auto adjoint = [&](grown_list const& x, grown_list& bar, step_index i) {
    double const d = bar.u.back() * x.p * std::cos(x.p * x.u.back());
    if (i >= at) {
      bar.u.pop_back();
      bar.u.back() += d;
    } else bar.u.back() = d;
  };
  auto const report = cairn::check_adjoint(step, adjoint, grown_list{}, 6);
  INFO(report.text());
  CHECK(report.fault == adjoint_fault::wrong_adjoint);
  CHECK(report.step == 0);
  CHECK(report.taken_as_constants.empty());
}

TEST_CASE("a part of an array that is left alone is not decided, the whole array is a constant") {
  struct rod {
    doubles u{1.0, 0.3, -0.4, 0.2, 2.0};  // its ends stand still
    doubles heat{0.1, 0.2, 0.3, 0.4, 0.5};
  };
  auto step = [](rod& x) {
    auto const old = x.u;
    for (std::size_t k = 1; k < 4; ++k) x.u[k] = std::sin(0.5 * old[k] + 0.2 * (old[k - 1] + old[k + 1]) + x.heat[k]);
  };
  auto const back = [](rod const& x, rod& bar, double of_ends, double wrong) {
    doubles to{bar.u[0], 0, 0, 0, bar.u[4]};
    for (std::size_t k = 1; k < 4; ++k) {
      double const d = bar.u[k] * std::cos(0.5 * x.u[k] + 0.2 * (x.u[k - 1] + x.u[k + 1]) + x.heat[k]);
      to[k] += 0.5 * d * wrong;
      to[k - 1] += 0.2 * d * (k == 1 ? of_ends : 1);
      to[k + 1] += 0.2 * d * (k == 3 ? of_ends : 1);
    }
    bar.u = to;
  };
  auto const heat = cairn::check_adjoint(step, [&](rod const& x, rod& bar) { back(x, bar, 1, 1); }, rod{}, 15);
  INFO(heat.text());
  CHECK(heat.passed());
  CHECK(action_list(heat.taken_as_constants) == numbers{5, 6, 7, 8, 9});
  CHECK(heat.taken_as_constants.size() == 1);

  auto const ends = cairn::check_adjoint(step, [&](rod const& x, rod& bar) { back(x, bar, 0, 1); }, rod{}, 15);
  INFO(ends.text());
  CHECK(ends.fault == adjoint_fault::undecided);
  CHECK(ends.left_alone);
  CHECK(ends.number == 0);
  CHECK(ends.member == 0);
  CHECK(says(ends, "no decision is possible about number 0 of the state, in member 0: one part of an array"));
  CHECK(action_list(ends.taken_as_constants) == numbers{0, 4, 5, 6, 7, 8, 9});
  auto const both = cairn::check_adjoint(step, [&](rod const& x, rod& bar) { back(x, bar, 0, 1.001); }, rod{}, 15);
  INFO(both.text());
  CHECK(both.fault == adjoint_fault::wrong_adjoint);
  CHECK((both.number >= 1 && both.number <= 3));
}

TEST_CASE("a type that says which numbers are differentiated is trusted") {
  auto const report = cairn::check_adjoint([](told& x) { grow(x); },
                                           [](told const& x, told& bar) { grow_back(x, bar, 0); }, told{}, 10);
  CHECK(report.fault == adjoint_fault::wrong_adjoint);
  CHECK(report.number == 1);
}

TEST_CASE("constants beside adjoints of other types, tangents, forms and generators") {
  auto const of_p = [](cairn::adjoint_report const& report, numbers const& expected) {
    INFO(report.text());
    CHECK(report.passed());
    CHECK(action_list(report.taken_as_constants) == expected);
  };
  auto leaves_p = [](grown const& x, grown& bar) { grow_back(x, bar, 0); };
  auto out_of_place = [](grown const& x, grown& x1) { x1 = {std::sin(x.p * x.u), x.p}; };
  auto with_next = [](grown const& x, grown const&, grown& bar, step_index) { grow_back(x, bar, 0); };
  of_p(cairn::check_adjoint(out_of_place, with_next, grown{}, 9), {1});
  cairn::recorded tapes{[](grown& x) {
                          auto tape = x;
                          grow(x);
                          return tape;
                        },
                        [](grown const& tape, grown& bar) { grow_back(tape, bar, 0); }};
  of_p(cairn::check_adjoint(grow, tapes, grown{}, 9), {1});
  // Only a step that is not tested reads it.
  auto late = [](grown& x, step_index i) { x.u = i == 5 ? std::sin(x.p * x.u) : std::sin(x.u); };
  auto back_late = [](grown const& x, grown& bar, step_index i) {
    bar.u *= i == 5 ? x.p * std::cos(x.p * x.u) : std::cos(x.u);
  };
  of_p(cairn::check_adjoint(late, back_late, grown{}, 9, {.most_steps = 2}), {1});

  // Tangents by all numbers, and by those that are no constants.
  auto tangent = [](grown const& x, grown& dx) { dx.u = std::cos(x.p * x.u) * (x.p * dx.u + x.u * dx.p); };
  auto of_u = [](grown const& x, grown& dx) { dx.u = std::cos(x.p * x.u) * x.p * dx.u; };
  of_p(cairn::check_adjoint(cairn::with_tangent{grow, tangent}, leaves_p, grown{}, 9), {1});
  of_p(cairn::check_adjoint(cairn::with_tangent{grow, of_u}, leaves_p, grown{}, 9), {1});
  of_p(cairn::check_adjoint(cairn::with_tangent{grow, tangent}, leaves_p, cairn::with_constants{grown{}, &grown::p}, 9),
       {});

  // The first numbers of an adjoint are the state's; those after belong to parameters.
  struct bars {
    double u = 1, p = 1, more = 0;
  };
  auto flat = [](grown const& x, bars& bar) {
    bar.more += bar.u * x.u;
    bar.u *= x.p * std::cos(x.p * x.u);
  };
  of_p(cairn::check_adjoint(grow, flat, grown{}, 9, bars{}), {1});

  // The adjoint of one member, in which there is a constant.
  struct outer {
    double scale = 1.5;
    grown part;
    std::mt19937 random{3};
  };
  auto step = [](outer& x) {
    double const noise = std::generate_canonical<double, 53>(x.random);
    x.part.u = std::sin(x.part.p * x.part.u) + 0.01 * x.scale * noise;
  };
  auto back = [](outer const& x, grown& bar) { grow_back(x.part, bar, 0); };
  of_p(cairn::check_adjoint(step, back, outer{}, 9, grown{}), {2});
  auto all = [](outer const& x, outer& bar) { grow_back(x.part, bar.part, 0); };
  of_p(cairn::check_adjoint(step, all, outer{}, 9), {0, 2});
}

TEST_CASE("of random loops with constants each is passed and its constants are named, errors beside them are found") {
  std::mt19937_64 random{11};
  std::uniform_real_distribution<double> number{-2, 2};
  for (int trial = 0; trial < 100; ++trial) {
    struct state {
      double p, u, t, v, dt;
      float q;
    };
    double const unit = std::pow(10.0, 4 * number(random)), clock = std::pow(10.0, 3 * number(random)),
                 b = 2 * number(random);
    auto inner = [=](state const& x) { return x.u / unit + b * x.p + std::cos(x.t / clock) + double(x.q); };
    auto step = [=](state& x, step_index i) {
      double const s = inner(x), v = x.v;
      x.v = 0.5 * v * x.p + std::sin(s + 0.1 * double(i));
      x.u = unit * (std::tanh(s) + v);
      x.t += x.dt;
    };
    step_index at = -1;
    double wrong = 0;
    auto adjoint = [&](state const& x, state& bar, step_index i) {
      double const s = inner(x), y = std::tanh(s),
                   of_s = bar.v * std::cos(s + 0.1 * double(i)) + bar.u * unit * (1 - y * y);
      bar.v = 0.5 * x.p * bar.v + unit * bar.u * (i == at ? 1 + wrong : 1);
      bar.u = of_s / unit;
    };
    state const x0{number(random), unit * number(random),        clock * number(random),
                   number(random), 0.1 * clock * number(random), float(number(random))};
    auto const report = cairn::check_adjoint(step, adjoint, x0, 8);
    INFO(trial << ": " << report.text());
    REQUIRE(report.passed());
    REQUIRE(action_list(report.taken_as_constants) == numbers{0, 2, 4, 5});
    at = trial % 8;
    wrong = std::pow(10.0, -(trial % 4));
    auto const found = cairn::check_adjoint(step, adjoint, x0, 8);
    INFO(found.text());
    REQUIRE(found.fault == adjoint_fault::wrong_adjoint);
    REQUIRE(found.step == at);
    REQUIRE(found.number == 3);
  }
}

TEST_CASE("the search for constants ends where no number is left that may be one") {
  auto const calls = [](step_index n) {
    auto const report = cairn::check_adjoint([](double& x) { x *= 0.999; }, [](double const&, double& bar) { bar *= 0.5; },
                                             1.0, n);
    CHECK(report.fault == adjoint_fault::wrong_adjoint);
    return report.step_calls;
  };
  CHECK(calls(1'000) == calls(100));
}

TEST_CASE("all calls of the step are counted, those of the search for constants too") {
  std::uint64_t calls = 0;
  auto counts = [&](driven& x) { ++calls, drive(x); };
  auto const report = cairn::check_adjoint(counts, leaves_constants, driven{}, 16);
  CHECK(report.passed());
  // The first of two checks stops at a step, before it asks for a gradient.
  CHECK(cairn::wide(calls) == cairn::wide(report.step_calls) + 2 * cairn::estimate(cairn::uniform{16}).step_calls);
}
