// SPDX-License-Identifier: Apache-2.0
// Random loops of loops with jumps and hooks, and of steps that choose, all with parameters: the bits of the same loop
// with all states stored by hand, also after a stop anywhere, in the same workspace or in another one.
#include <array>
#include <cmath>
#include <cstdlib>
#include <random>
#include <string>
#include <vector>
#include <cairn/cairn.hpp>
#include <cairn/run/with/adaptive.hpp>
#include <cairn/run/with/jumps.hpp>
#include <cairn/run/with/nested.hpp>
#include "support/catch.hpp"

using cairn::step_index;
using cairn::wrt;
using Catch::Matchers::ContainsSubstring;

namespace {

using params = std::array<double, 2>;

struct program {
  step_index outer = 0, inner = 1, jump = 0;
  cairn::slot_index slots = 1, inner_slots = 1;
  double start = 0;
  params p{};
};
program drawn(unsigned seed) {
  std::minstd_rand dice{seed};
  auto const upto = [&](int most) { return step_index(dice() % unsigned(most + 1)); };
  program made;
  made.outer = upto(7);
  made.inner = 1 + upto(3);
  made.jump = made.outer > 0 ? upto(int(made.outer) - 1) : 0;
  made.slots = cairn::slot_index(1 + upto(3));
  made.inner_slots = cairn::slot_index(1 + upto(2));
  made.start = 0.1 * double(upto(20)) - 1;
  made.p = {0.5 + 0.05 * double(upto(20)), 0.1 * double(upto(10))};
  return made;
}

[[gnu::noinline]] void move(double& x, params const& p, step_index i) {
  x = std::sin(p[0] * x + p[1]) + 0.01 * double(i % 5);
}
[[gnu::noinline]] void pull(double x, double& bar, params const& p, params& dp) {
  double const c = bar * std::cos(p[0] * x + p[1]);
  dp[0] += c * x;
  dp[1] += c;
  bar = c * p[0];
}
[[gnu::noinline]] void bend(double& x, params const& p) { x = x * x * p[1] + 0.25; }
[[gnu::noinline]] void bend_back(double x, double& bar, params const& p, params& dp) {
  dp[1] += bar * x * x;
  bar = 2 * bar * x * p[1];
}

struct found {
  double bar;
  params dp;
  bool operator==(found const&) const = default;
};
/// What the hook adds, after the adjoint of each outer step.
void observe(double x, double& bar, params const& p, params& dp) {
  bar += 0.1 * x * p[0];
  dp[0] += 0.05 * x * x;
}
found by_hand(program const& of) {
  std::vector<double> x, jumped;
  double now = of.start;
  for (step_index i = 0; i < of.outer; ++i) {
    jumped.push_back(now);
    if (i == of.jump) bend(now, of.p);
    for (step_index k = 0; k < of.inner; ++k) {
      x.push_back(now);
      move(now, of.p, i * of.inner + k);
    }
  }
  found sum{1, {}};
  for (step_index i = of.outer; i-- > 0;) {
    for (step_index k = of.inner; k-- > 0;) pull(x[std::size_t(i * of.inner + k)], sum.bar, of.p, sum.dp);
    if (i == of.jump) bend_back(jumped[std::size_t(i)], sum.bar, of.p, sum.dp);
    observe(jumped[std::size_t(i)], sum.bar, of.p, sum.dp);
  }
  return sum;
}

/// The loop, which stops at a call, and is then resumed.   \param stop  0: never
found run(program const& of, int stop, bool elsewhere, int& calls) {
  calls = 0;
  auto const tick = [&] {
    if (++calls == stop) throw std::string{"stop"};
  };
  auto const step = [&](double& x, params const& p, step_index i) {
    tick();
    move(x, p, i);
  };
  auto const back = [&](double x, double& bar, params const& p, params& dp) {
    tick();
    pull(x, bar, p, dp);
  };
  cairn::nested const inner{cairn::revolve{of.inner, of.inner_slots}, step, back};
  auto const never = [](double, params const& p) { return p[0] < 0; };
  cairn::with_jumps const loop{inner.step, inner.adjoint, cairn::jump_at(of.jump, bend, bend_back),
                               cairn::jump_when(never, bend, bend_back)};
  cairn::revolve const plan{of.outer, of.slots};
  auto work = cairn::workspace_for<double>(plan), other = cairn::workspace_for<double>(plan);
  params p = of.p, dp{7, 7}, noted_dp{};
  cairn::resume_point<double> noted{-1, 0.0};
  auto const hook = cairn::hooked(loop.adjoint, [&](double x, double& bar, params const& q, params& sum, step_index i) {
    observe(x, bar, q, sum);
    noted = {i, bar, of.outer, {}, work.params_hash()};
    noted_dp = sum;
  });
  try {
    double const bar = cairn::gradient(loop.step, of.start, plan, 1.0, hook, work, wrt{p, dp});
    return {bar, dp};
  } catch (std::string const&) {
  }
  auto const position = noted;
  auto const at_position = [&] {
    dp = noted_dp;
    return cairn::resume(loop.step, of.start, plan, position, hook, elsewhere ? other : work, wrt{p, dp});
  };
  auto const from_the_way = [&] { return cairn::resume(loop.step, of.start, plan, 1.0, hook, work, wrt{p, dp}); };
  auto const again = [&] { return position.open >= 0 ? at_position() : from_the_way(); };
  p[1] += 1e-9;
  CHECK_THROWS_WITH(again(), ContainsSubstring("not those"));
  p = of.p;
  double const bar = again();
  return {bar, dp};
}

// Steps that choose how far they go, by x and p; the choice is not differentiated.
double chosen(double x, params const& p) { return x > p[1] ? 0.5 : 0.25 + 0.01 * x; }
void go(double& x, params const& p, double h) { x += h * std::sin(p[0] * x + p[1]); }
void go_back(double x, double& bar, params const& p, params& dp, double h) {
  double const c = bar * h * std::cos(p[0] * x + p[1]);
  dp[0] += c * x;
  dp[1] += c;
  bar += c * p[0];
}
found by_hand_chosen(program const& of, step_index n) {
  std::vector<double> x{of.start}, h;
  for (step_index i = 0; i < n; ++i) {
    h.push_back(chosen(x.back(), of.p));
    x.push_back(x.back());
    go(x.back(), of.p, h.back());
  }
  found sum{1, {}};
  for (step_index i = n; i-- > 0;) go_back(x[std::size_t(i)], sum.bar, of.p, sum.dp, h[std::size_t(i)]);
  return sum;
}
found run_chosen(program const& of, step_index n, int stop, bool, int& calls) {
  calls = 0;
  auto const tick = [&] {
    if (++calls == stop) throw std::string{"stop"};
  };
  auto const choose = [&](double& x, params const& p, step_index) {
    tick();
    double const h = chosen(x, p);
    go(x, p, h);
    return h;
  };
  auto const again = [&](double& x, params const& p, step_index, double h) {
    tick();
    go(x, p, h);
  };
  cairn::adaptive loop{choose, again};
  auto const pulls = loop.with_record([&](double x, double& bar, params const& p, params& dp, step_index, double h) {
    tick();
    go_back(x, bar, p, dp, h);
  });
  cairn::revolve const plan{n, of.slots};
  auto work = cairn::workspace_for<double>(plan);
  cairn::resume_point<double> noted{-1, 0.0};
  params dp{7, 7}, noted_dp{};
  auto const hook = cairn::hooked(pulls, [&](double, double& bar, params const&, params& sum, step_index i) {
    noted = {i, bar};
    noted_dp = sum;
  });
  auto first = loop.step();
  try {
    double const bar = cairn::gradient(first, of.start, plan, 1.0, hook, work, wrt{of.p, dp});
    return {bar, dp};
  } catch (std::string const&) {
  }
  auto second = loop.step(std::vector<double>(loop.records()));
  if (noted.open < 0) {
    double const bar = cairn::resume(second, of.start, plan, 1.0, hook, work, wrt{of.p, dp});
    return {bar, dp};
  }
  auto const position = noted;
  dp = noted_dp;
  double const bar = cairn::resume(second, of.start, plan, position, hook, work, wrt{of.p, dp});
  return {bar, dp};
}

/// Runs a program as it is, and stopped at four of its calls.
template <class Run>
void stopped(unsigned seed, found const& right, Run const& one) {
  int calls = 0;
  INFO("program " << seed);
  CHECK(one(0, false, calls) == right);
  int const all = calls;
  for (int k = 0; k < 4; ++k) {
    int const stop = 1 + int((seed * 7919u + unsigned(k) * 104729u) % unsigned(all));
    CHECK(one(stop, k % 2 == 1, calls) == right);
  }
}
void run_all(unsigned first, unsigned count) {
  for (unsigned seed = first; seed < first + count; ++seed) {
    program const of = drawn(seed);
    if (of.outer == 0) continue;  // there is no step at which the jump would run
    stopped(seed, by_hand(of), [&](auto&&... how) { return run(of, how...); });
    step_index const n = of.outer * of.inner;
    stopped(seed, by_hand_chosen(of, n), [&](auto&&... how) { return run_chosen(of, n, how...); });
  }
}

}  // namespace

TEST_CASE("random loops of parts with parameters have the bits of storing all, also after a stop") { run_all(1, 150); }
TEST_CASE("random loops of parts with parameters, as many as are asked for", "[.soak]") {
  char const* const given = std::getenv("CAIRN_FUZZ_PROGRAMS");
  run_all(1'000, given ? unsigned(std::strtoul(given, nullptr, 10)) : 100'000);
}
