// SPDX-License-Identifier: Apache-2.0
// Steps that choose their own size: the controller runs once a step, replays and adjoints get what it recorded, and the
// gradient has the bits of storing everything.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>
#include <cairn/cairn.hpp>
#include <cairn/run/check/check_adjoint.hpp>
#include <cairn/run/while.hpp>
#include <cairn/run/with/adaptive.hpp>
#include <cairn/schedule/online.hpp>
#include "support/catch.hpp"
#include "support/heap.hpp"

using cairn::step_index;

namespace {

/// An angle, its speed, and the time: Heun's method, the step halved until Euler's is close enough.
using pendulum = std::array<double, 3>;
using adjoint_numbers = std::array<double, 3>;
struct chosen {
  double h;
  int attempts;
};

long controls = 0, repeats = 0;

[[gnu::noinline]] pendulum heun(pendulum const& x, double h) {
  double const k = -std::sin(x[0]), angle = x[0] + h * x[1], speed = x[1] + h * k;
  return {x[0] + h / 2 * (x[1] + speed), x[1] + h / 2 * (k - std::sin(angle)), x[2] + h};
}
[[gnu::noinline]] void heun_back(pendulum const& x, adjoint_numbers& bar, double h) {
  double const angle = x[0] + h * x[1];
  double const by_angle = -h / 2 * std::cos(angle) * bar[1], by_speed = h / 2 * bar[0];
  double const a = bar[0] - h / 2 * std::cos(x[0]) * bar[1] + by_angle - h * std::cos(x[0]) * by_speed;
  double const v = bar[1] + h / 2 * bar[0] + by_speed + h * by_angle;
  bar = {a, v, bar[2]};
}

/// The step size goes from step to step beside the state: replays must not need it.
struct controller {
  double next = 0.5;
  double end = 7;
  chosen choose(pendulum const& x) {
    ++controls;
    chosen c{std::min(2 * next, end - x[2]), 0};
    for (;; c.h /= 2) {
      ++c.attempts;
      auto const full = heun(x, c.h);
      if (std::abs(full[0] - (x[0] + c.h * x[1])) < 0.01) break;
    }
    next = c.h;
    return c;
  }
};
constexpr pendulum start{1.0, 0.5, 0.0};
constexpr auto until_seven = [](pendulum const& x) { return x[2] < 7; };
constexpr auto seed = [](pendulum const& x) { return adjoint_numbers{x[0], 2 * x[1], 0}; };
void repeat(pendulum& x, step_index, chosen const& c) {
  ++repeats;
  x = heun(x, c.h);
}

struct stored {
  std::vector<pendulum> states{start};
  std::vector<double> sizes;
  adjoint_numbers gradient;
  stored() {
    controller control;
    while (until_seven(states.back())) {
      sizes.push_back(control.choose(states.back()).h);
      states.push_back(heun(states.back(), sizes.back()));
    }
    gradient = seed(states.back());
    for (std::size_t i = sizes.size(); i-- > 0;) heun_back(states[i], gradient, sizes[i]);
  }
};

template <class First>
void check(First first, bool eager) {
  stored const all;
  auto const n = step_index(all.sizes.size());
  REQUIRE(n > 30);
  cairn::adaptive loop{first, &repeat};
  cairn::online const plan{4, {.eager = eager}};
  controls = repeats = 0;
  auto run = cairn::checkpointed_while(loop.step(), start, until_seven, plan);
  CHECK(run.steps() == n);
  CHECK(controls == n);
  CHECK(loop.records().size() == std::size_t(n));
  CHECK(loop.record_bytes() >= std::size_t(n) * sizeof(chosen));
  CHECK(loop.record_bytes() < 4 * std::size_t(n) * sizeof(chosen));
  for (step_index i = 0; i < n; ++i) CHECK(loop.records()[std::size_t(i)].h == all.sizes[std::size_t(i)]);
  CHECK(run.final_state() == all.states.back());

  auto const with_index = [&](pendulum const& x, adjoint_numbers& bar, step_index i, chosen const& c) {
    CHECK(c.h == all.sizes[std::size_t(i)]);
    heun_back(x, bar, c.h);
  };
  CHECK(run.reverse(seed, loop.with_record(with_index)) == all.gradient);
  CHECK(run.reverse(seed, loop.with_record([](pendulum const& x, adjoint_numbers& bar, chosen const& c) {
    heun_back(x, bar, c.h);
  })) == all.gradient);
  CHECK(run.reverse(seed, loop.with_record([](pendulum const& x, adjoint_numbers bar, chosen const& c) {
    return heun_back(x, bar, c.h), bar;
  })) == all.gradient);
  auto const with_next = [&](pendulum const& x, pendulum const& x1, adjoint_numbers& bar, step_index i,
                             chosen const& c) {
    CHECK(x1 == all.states[std::size_t(i) + 1]);
    heun_back(x, bar, c.h);
  };
  CHECK(run.reverse(seed, loop.with_record(with_next)) == all.gradient);
  auto const record = [](pendulum& x, step_index, chosen const& c) {
    auto const tape = std::pair{x, c.h};
    x = heun(x, c.h);
    return tape;
  };
  auto const reverse = [](std::pair<pendulum, double> const& tape, adjoint_numbers& bar) {
    heun_back(tape.first, bar, tape.second);
  };
  CHECK(run.reverse(seed, cairn::recorded{loop.with_record(record), reverse}) == all.gradient);
  step_index expected = n;
  for (auto [i, x] : run.backward()) CHECK((i == expected-- && x == all.states[std::size_t(i)]));
  CHECK(run.at(n / 2) == all.states[std::size_t(n / 2)]);
  CHECK(controls == n);
  CHECK(repeats > 0);
}

}  // namespace

TEST_CASE("adaptive steps are chosen once, and repeated with the same bits") {
  for (bool const eager : {false, true}) {
    controller control;
    check([&](pendulum& x, step_index) {
      chosen const c = control.choose(x);
      x = heun(x, c.h);
      return c;
    }, eager);
  }
}

TEST_CASE("a first that only chooses leaves the step to again") {
  controller by_reference, by_value;
  check([&](pendulum const& x, step_index) { return by_reference.choose(x); }, false);
  check([&](pendulum x) { return by_value.choose(x); }, false);
}

TEST_CASE("a gradient with a plan of known length takes adaptive steps, too") {
  stored const all;
  controller control;
  cairn::adaptive loop{[&](pendulum const& x) { return control.choose(x); }, &repeat};
  auto const n = step_index(all.sizes.size());
  auto const back =
      loop.with_record([](pendulum const& x, adjoint_numbers& bar, chosen const& c) { heun_back(x, bar, c.h); });
  CHECK(cairn::gradient(loop.step(), start, cairn::revolve{n, 3}, seed, back) == all.gradient);
  control = {};
  auto run = cairn::checkpointed_loop(loop.step(), start, cairn::revolve{n, 3});
  CHECK(run.reverse(seed, back) == all.gradient);
}

TEST_CASE("value_and_gradient over adaptive steps chooses anew in each call") {
  using cairn::at_end, cairn::online, cairn::run_while, cairn::value_and_gradient;
  struct lengths {
    double x, t;
  };
  auto const first = [](lengths& x, double p) {  // shorter where p is larger
    double const h = std::min(0.1 / (1 + p * x.x * x.x), 1 - x.t);
    x.x += h * p * std::cos(x.x), x.t += h;
    return h;
  };
  auto const again = [](lengths& x, double p, double h) { x.x += h * p * std::cos(x.x), x.t += h; };
  auto const back = [](lengths const& x, lengths& bar, double p, double& dp, double h) {
    dp += bar.x * h * std::cos(x.x);
    bar.x *= 1 - h * p * std::sin(x.x);
  };
  auto const value = [](lengths const& x, double) { return x.x * x.x; };
  auto const slope = [](lengths const& x, lengths& bar, double, double&) { bar.x += 2 * x.x; };
  auto const before_one = [](lengths const& x) { return x.t < 1; };
  run_while const plan{before_one, online{3}};
  cairn::adaptive loop{first, again};
  value_and_gradient f{cairn::model{loop.step(), loop.with_record(back)}, plan, at_end(value, slope)};
  std::size_t steps = 0;
  for (double const p : {0.5, 3.0, 0.5, 7.0}) {
    cairn::adaptive fresh{first, again};
    auto const right = cairn::differentiate(cairn::model{fresh.step(), fresh.with_record(back)}, lengths{0.4, 0}, p, plan,
                                            at_end(value, slope));
    CHECK(f.value(lengths{0.4, 0}, p) == right.value);
    auto const& found = f(lengths{0.4, 0}, p);
    CHECK(found.value == right.value);
    CHECK(found.state.x == right.state.x);
    CHECK(found.params == right.params);
    CHECK(loop.records() == fresh.records());
    CHECK(loop.records().size() != steps);
    steps = loop.records().size();
  }
}

TEST_CASE("check_adjoint finds first and again that differ, and passes those that do not") {
  stored const all;
  auto const n = step_index(all.sizes.size());
  controller control;
  auto const report_of = [&](double off) {
    control = {};
    cairn::adaptive loop{[&](pendulum& x) {
                           chosen const c = control.choose(x);
                           x = heun(x, c.h);
                           return c;
                         },
                         [&](pendulum& x, step_index i, chosen const& c) { x = heun(x, c.h + (i == 20 ? off : 0)); }};
    return cairn::check_adjoint(
        loop.step(),
        loop.with_record([](pendulum const& x, adjoint_numbers& bar, chosen const& c) { heun_back(x, bar, c.h); }),
        start, n);
  };
  CHECK(report_of(0).passed());
  auto const wrong = report_of(1e-9);
  CHECK(wrong.fault == cairn::adjoint_fault::step_not_deterministic);
  CHECK(wrong.step == 20);
}

TEST_CASE("numbers may be records, after the index or without it") {
  cairn::adaptive loop{[](double& x) { return x /= 2, 0.5; }, [](double& x, double factor) { x *= factor; }};
  auto run = cairn::checkpointed_while(loop.step(), 64.0, [](double x) { return x > 1; }, cairn::online{2});
  CHECK(run.steps() == 6);
  CHECK(run.reverse(1.0, loop.with_record([](double, double& bar, double factor) { bar *= factor; })) == 1.0 / 64);
  CHECK(run.reverse(1.0, loop.with_record(
                             [](double, double bar, step_index, double factor) { return bar * factor; })) == 1.0 / 64);
  CHECK(run.reverse(1.0, loop.with_record([](double x, double x1, double bar, double factor) {
    return x1 == x / 2 ? bar * factor : std::nan("");
  })) == 1.0 / 64);
}

TEST_CASE("records belong to one loop at a time") {
  controller control;
  cairn::adaptive loop{[&](pendulum const& x) { return control.choose(x); }, &repeat};
  auto const back =
      loop.with_record([](pendulum const& x, adjoint_numbers& bar, chosen const& c) { heun_back(x, bar, c.h); });
  auto run = cairn::checkpointed_while(loop.step(), start, until_seven, cairn::online{3});
  auto const bytes = loop.record_bytes();
  auto const next = loop.step();
  CHECK(loop.records().empty());
  CHECK(loop.record_bytes() == bytes);
  CHECK_THROWS_AS(run.reverse(seed, back), cairn::invalid_call);
  pendulum x = start;
  CHECK_THROWS_AS(next(x, 1), cairn::invalid_call);
  next(x, 0);
  next(x, 1);
  CHECK(loop.records().size() == 2);
  auto const last = loop.step();
  last(x, 0);
  last(x, 1);
  CHECK_THROWS_AS(next(x, 1), cairn::invalid_call);  // not the record of another loop
  auto const recording =
      cairn::recorded{loop.with_record([](pendulum&, chosen const&) { return 0; }), [](int, adjoint_numbers&) {}};
  CHECK_THROWS_AS(cairn::gradient(loop.step(), start, cairn::revolve{1, 1}, seed, recording), cairn::invalid_call);
}

TEST_CASE("a step that has run a loop refuses a second one, and repeats its own as often as it is asked") {
  auto const refuses = [](auto call) {
    try {
      call();
    } catch (cairn::invalid_call const& e) {
      return std::string{e.what()}.find(
                 "a second loop begins with this step, and would repeat what the first one chose") !=
                 std::string::npos &&
             std::string{e.advice()}.starts_with("call step() for each loop");
    }
    return false;
  };
  controller control;
  cairn::adaptive loop{[&](pendulum const& x) { return control.choose(x); }, &repeat};
  auto const back =
      loop.with_record([](pendulum const& x, adjoint_numbers& bar, chosen const& c) { heun_back(x, bar, c.h); });
  auto const step = loop.step();
  auto run = cairn::checkpointed_while(step, start, until_seven, cairn::online{3});
  auto const g = run.reverse(seed, back);
  auto const records = loop.records().size();
  auto const n = run.steps();
  pendulum other = start;
  other[2] += 0.25;
  auto copy = step;
  CHECK(refuses([&] { (void)cairn::checkpointed_while(step, other, until_seven, cairn::online{3}); }));
  CHECK(refuses([&] { (void)cairn::checkpointed_loop(std::move(copy), other, n); }));
  CHECK(refuses([&] { (void)cairn::checkpointed_loop(cairn::in_place(step), other, n); }));
  CHECK(refuses([&] { (void)cairn::gradient(step, other, n, seed, back); }));
  CHECK(loop.records().size() == records);
  CHECK(run.reverse(seed, back) == g);
  CHECK(run.at(n / 2) == stored{}.states[std::size_t(n / 2)]);
  CHECK(run.reverse(seed, back) == g);
  control = {};
  auto again = cairn::checkpointed_while(loop.step(), start, until_seven, cairn::online{2});
  CHECK(again.reverse(seed, back) == g);
  auto const given = loop.step(std::vector<chosen>(loop.records()));
  CHECK_THROWS_WITH(cairn::gradient(step, start, n, seed, back),
                    Catch::Matchers::ContainsSubstring("another loop has begun with these records"));
  CHECK(cairn::gradient(given, start, n, seed, back) == g);  // what it was given is still there
  (void)loop.step(std::vector<chosen>(loop.records()));  // does not begin, and is forgotten
  control = {};
  auto const anew = loop.step();
  CHECK(cairn::gradient(anew, start, n, seed, back) == g);
  CHECK(refuses([&] { (void)cairn::gradient(anew, start, n, seed, back); }));
  auto const height = cairn::at_end([](pendulum const& x) { return x[0]; },
                                    [](pendulum const&, adjoint_numbers& bar) { bar[0] += 1; });
  CHECK(refuses([&] { (void)cairn::differentiate(cairn::model{anew, back}, start, n, height); }));
  cairn::nested inner{cairn::revolve{2, 1}, loop.step(), back};
  auto const twice = [&] { return cairn::gradient(inner.step, start, cairn::revolve{3, 1}, seed, inner.adjoint); };
  (void)twice();
  CHECK(loop.records().size() == 6);
  CHECK(refuses(twice));
}

TEST_CASE("a second adaptive loop of the same length allocates nothing, and reserve makes the first one grow nothing") {
  controller control;
  cairn::adaptive loop{[&](pendulum const& x) { return control.choose(x); }, &repeat};
  auto const back =
      loop.with_record([](pendulum const& x, adjoint_numbers& bar, chosen const& c) { heun_back(x, bar, c.h); });
  cairn::online const plan{3};
  auto work = cairn::workspace_for<pendulum>(plan);
  auto const sweep = [&] {
    control = {};
    return cairn::checkpointed_while(loop.step(), start, until_seven, plan, work).reverse(seed, back);
  };
  auto const first = sweep();
  heap::mark const before;
  auto const second = sweep();
  std::size_t const asked = before.allocated();
  CHECK(asked == 0);
  CHECK(first == second);
  cairn::adaptive roomy{[&](pendulum const& x) { return control.choose(x); }, &repeat};
  roomy.reserve(1000);
  CHECK(roomy.record_bytes() == 1000 * sizeof(chosen));
  control = {};
  CHECK(cairn::checkpointed_while(roomy.step(), start, until_seven, plan, work).final_state() ==
        stored{}.states.back());
  CHECK(roomy.record_bytes() == 1000 * sizeof(chosen));
}

TEST_CASE("what first throws leaves the records of the steps before") {
  controller control;
  step_index fails = 9;
  cairn::adaptive loop{[&](pendulum const& x, step_index i) {
                         if (i == fails) throw 3;
                         return control.choose(x);
                       },
                       &repeat};
  cairn::online const plan{3};
  auto work = cairn::workspace_for<pendulum>(plan);
  CHECK_THROWS_AS(cairn::checkpointed_while(loop.step(), start, until_seven, plan, work), int);
  CHECK(work.failure().step == 9);
  CHECK(loop.records().size() == 9);
  fails = -1;
  control = {};
  auto run = cairn::checkpointed_while(loop.step(), start, until_seven, plan, work);
  CHECK(run.reverse(seed, loop.with_record([](pendulum const& x, adjoint_numbers& bar, chosen const& c) {
    heun_back(x, bar, c.h);
  })) == stored{}.gradient);
}

TEST_CASE("an adjoint with a record may return the new bar, and none that changes bar returns anything") {
  cairn::adaptive loop{[](double& x) {
                         double const h = 0.5 + 0.01 * x;
                         x *= h;
                         return h;
                       },
                       [](double& x, double h) { x *= h; }};
  auto const place = loop.with_record([](double, double& bar, double h) { bar *= h; });
  auto const value = loop.with_record([](double, double bar, double h) { return bar * h; });
  auto const next = loop.with_record(
      [](double, double x1, double bar, cairn::step_index, double h) { return x1 > 0 ? bar * h : bar; });
  auto const code = loop.with_record([](double, double& bar, double h) { bar *= h; return 0; });
  CHECK_FALSE(cairn::adjoint_of<decltype(code), double, double>);
  constexpr auto with_p = cairn::detail::shape_of_adjoint_with<decltype(place), double, double, double, double>();
  static_assert(with_p.form == cairn::adjoint_form::none);  // it takes none
  auto run = cairn::checkpointed_loop(loop.step(), 1.0, 9);
  double const expected = run.reverse(1.0, place);
  CHECK(run.reverse(1.0, value) == expected);
  CHECK(run.reverse(1.0, next) == expected);
}

namespace {
/// An oscillator up to a time of its own, with steps that grow; the last one is cut to end there.
struct timed {
  double u, v, t, end;
};
struct cut_step {
  double h;
  bool last;
};
timed moved(timed const& x, cut_step const& c) {
  return {x.u + c.h * x.v, x.v - c.h * std::sin(x.u), c.last ? x.end : x.t + c.h, x.end};
}
/// The adjoint; `by_end` is what it makes of the derivative by the end time.
timed pulled(timed const& x, timed bar, cut_step const& c, double by_end) {
  double const of_size = bar.u * x.v - bar.v * std::sin(x.u);
  timed out{bar.u - bar.v * c.h * std::cos(x.u), bar.v + bar.u * c.h, bar.t, bar.end};
  if (c.last) {  // h = end - t, and the time after the step is `end`
    out.t = -by_end * of_size;
    out.end += by_end * of_size + bar.t;
  }
  return out;
}
}  // namespace
TEST_CASE("check_adjoint passes the derivative by the end time to which the last step is cut, and no wrong one") {
  timed const start{1, 0.3, 0, 2.17};
  auto const report_of = [&](double by_end, bool only_chooses) {
    auto const choose = [](timed const& x) {
      double const h = 0.05 * (1 + x.t);
      return x.t + h >= x.end ? cut_step{x.end - x.t, true} : cut_step{h, false};
    };
    step_index n = 0;
    for (timed x = start; x.t < x.end; ++n) x = moved(x, choose(x));
    auto const check = [&](auto first) {
      cairn::adaptive loop{first, [](timed& x, cut_step const& c) { x = moved(x, c); }};
      auto const adjoint = loop.with_record(
          [&](timed const& x, timed& bar, cut_step const& c) { bar = pulled(x, bar, c, by_end); });
      return cairn::check_adjoint(loop.step(), adjoint, cairn::with_constants{start}, n);
    };
    if (only_chooses) return check([&](timed const& x) { return choose(x); });
    return check([&](timed& x) {
      cut_step const c = choose(x);
      x = moved(x, c);
      return c;
    });
  };
  for (bool const only_chooses : {false, true}) {
    auto const right = report_of(1, only_chooses), half = report_of(0.5, only_chooses);
    INFO(right.text());
    CHECK(right.passed());
    CHECK(right.slope > 1.5);
    CHECK(half.fault == cairn::adjoint_fault::wrong_adjoint);
    CHECK(half.step == right.steps - 1);
  }
}
