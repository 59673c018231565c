// SPDX-License-Identifier: Apache-2.0
// Parameters of a loop, and the sum of their gradient, as one of the last arguments of a verb.
#include <cmath>
#include <string>
#include <utility>
#include <vector>
#include <cairn/cairn.hpp>
#include <cairn/run/with/each_bar.hpp>
#include <cairn/schedule/two_level.hpp>
#include "support/catch.hpp"

using cairn::step_index;
using cairn::wrt;
using Catch::Matchers::ContainsSubstring;

namespace {

auto const step = [](double& x, double p) { x = std::sin(p * x); };
auto const back = [](double x, double& bar, double p, double& dp) {
  double const c = bar * std::cos(p * x);
  dp += c * x;
  bar = c * p;
};
constexpr double p0 = 0.9;

struct both {
  double x, p;
  bool operator==(both const&) const = default;
};
/// Stored states, reversed by hand.
both by_hand(step_index n, double seed = 1, double dp = 0) {
  std::vector<double> x{2.1};
  for (step_index i = 0; i < n; ++i) {
    x.push_back(x.back());
    step(x.back(), p0);
  }
  both sum{seed, dp};
  for (step_index i = n; i-- > 0;) back(x[std::size_t(i)], sum.x, p0, sum.p);
  return sum;
}

}  // namespace

TEST_CASE("gradient with parameters has the bits of storing all, and sets dp to zero first") {
  for (step_index const n : {0, 1, 2, 50}) {
    double dp = 77;
    double const g = cairn::gradient(step, 2.1, cairn::revolve{n, 3}, 1.0, back, wrt{p0, dp});
    CHECK(both{g, dp} == by_hand(n));
  }
}

TEST_CASE("a seed may take p and dp") {
  double dp = 0;
  auto const seed = [](double x, double p, double& d) {
    d += x;
    return p;
  };
  double const g = cairn::gradient(step, 2.1, 20, seed, back, wrt{p0, dp});
  double x = 2.1;
  for (int i = 0; i < 20; ++i) step(x, p0);
  CHECK(both{g, dp} == by_hand(20, p0, x));
}

TEST_CASE("the last arguments may come in any order") {
  cairn::revolve const plan{30, 3};
  auto work = cairn::workspace_for<double>(plan, cairn::sweep_options{});
  long seen = 0;
  auto const watch = [&](cairn::event const&) { ++seen; };
  cairn::sweep_options const options{.verify = cairn::replay_check::checkpoints};
  both const right = by_hand(30);
  double dp = 0;
  cairn::sweep_report report;
  CHECK(both{cairn::gradient(step, 2.1, plan, 1.0, back, work, watch, options, wrt{p0, dp}, report), dp} == right);
  long const once = seen;
  CHECK(both{cairn::gradient(step, 2.1, plan, 1.0, back, wrt{p0, dp}, report, options, watch, work), dp} == right);
  CHECK(seen == 2 * once);
  CHECK(both{cairn::gradient(step, 2.1, plan, 1.0, back, options, wrt{p0, dp}, work), dp} == right);
  CHECK(both{cairn::gradient(step, 2.1, plan, 1.0, back, watch, wrt{p0, dp}), dp} == right);
}

TEST_CASE("a kept run with parameters is reversed again, with another seed and another dp") {
  double dp = 5, other = 5;
  auto run = cairn::checkpointed_loop(step, 2.1, cairn::revolve{30, 3}, wrt{p0, dp});
  CHECK(both{run.reverse(1.0, back), dp} == by_hand(30));
  CHECK(both{run.reverse(2.0, back, other), other} == by_hand(30, 2.0));
  CHECK(both{run.reverse(1.0, back), dp} == by_hand(30));
}

TEST_CASE("a loop of unknown length with parameters has the bits of storing all") {
  double dp = 5;
  auto const more = [](double x, double p, step_index i) { return x > 0 && p > 0 && i < 37; };
  auto run = cairn::checkpointed_while(step, 2.1, more, cairn::online{4}, wrt{p0, dp});
  CHECK(run.steps() == 37);
  CHECK(both{run.reverse(1.0, back), dp} == by_hand(37));
}

TEST_CASE("parameters that change are an error wherever that can be seen") {
  double p = p0, dp = 0;
  auto const check = [&](auto call) {
    p = p0;
    CHECK_THROWS_WITH(call(), ContainsSubstring("have changed"));
  };
  int calls = 0;
  auto const changing_step = [&](double& x, double q) {
    step(x, q);
    if (++calls == 3) p = 0.8;
  };
  auto const changing_back = [&](double x, double& bar, double q, double& dq) {
    back(x, bar, q, dq);
    p = 0.8;
  };
  double at_seed = 0.8;
  auto const changing_seed = [&](double) {
    p = at_seed;
    return 1.0;
  };
  check([&] { return cairn::gradient(changing_step, 2.1, 20, 1.0, back, wrt{p, dp}); });
  check([&] { return cairn::gradient(step, 2.1, 20, 1.0, changing_back, wrt{p, dp}); });
  check([&] { return cairn::gradient(changing_step, 2.1, 20, changing_seed, back, wrt{p, dp}); });
  calls = 0, at_seed = p0;  // seen at the seed, too: p is what it was again at the end
  check([&] { return cairn::gradient(changing_step, 2.1, 20, changing_seed, back, wrt{p, dp}); });
  calls = 0, at_seed = 0.8;
  check([&] { return cairn::checkpointed_loop(changing_step, 2.1, 20, wrt{p, dp}); });
  p = p0;
  auto run = cairn::checkpointed_loop(step, 2.1, 20, wrt{p, dp});
  check([&] { return run.reverse(1.0, changing_back); });
  check([&] { return run.reverse(changing_seed, back); });
  check([&] {
    p = 0.8;
    return run.reverse(1.0, back);
  });
  p = p0;
  CHECK(run.reverse(1.0, back) == by_hand(20).x);  // the run can still be used
  auto const more = [](double, step_index i) { return i < 20; };
  auto open = cairn::checkpointed_while(step, 2.1, more, cairn::online{4}, wrt{p, dp});
  check([&] { return open.reverse(1.0, changing_back); });
}

TEST_CASE("every part of the parameters is watched") {
  struct nested {
    std::vector<double> all;
    std::pair<int, float> two;
    std::string name;
  };
  nested p{{1, 2}, {3, 4}, "k"}, dp;
  auto const check = [&](auto change) {
    p = {{1, 2}, {3, 4}, "k"};
    auto const run_step = [&](double& x, nested const&) {
      x *= 2;
      change();
    };
    auto const run_back = [](double, double& bar, nested const&, nested&) { bar *= 2; };
    CHECK_THROWS_WITH(cairn::gradient(run_step, 1.0, 1, 1.0, run_back, wrt{p, dp}), ContainsSubstring("have changed"));
  };
  check([&] { p.all[1] = 5; });
  check([&] { p.all.pop_back(); });
  check([&] { p.two.first = 9; });
  check([&] { p.two.second = -4; });
  check([&] { p.name = "l"; });
}

TEST_CASE("dp takes the sizes of p, or keeps its own if it has another type") {
  std::vector<double> const p{0.3, 0.6};
  auto const run_step = [](double& x, std::vector<double> const& q) { x = std::sin(q[0] * x + q[1]); };
  auto const run_back = [](double x, double& bar, std::vector<double> const& q, auto& dq) {
    double const c = bar * std::cos(q[0] * x + q[1]);
    dq[0] += c * x;
    dq[1] += c;
    bar = c * q[0];
  };
  std::vector<double> dp;  // empty
  std::array<double, 2> other{7, 7};
  double const g = cairn::gradient(run_step, 0.1, cairn::revolve{20, 2}, 1.0, run_back, wrt{p, dp});
  double const h = cairn::gradient(run_step, 0.1, cairn::revolve{20, 2}, 1.0, run_back, wrt{p, other});
  CHECK(g == h);
  REQUIRE(dp.size() == 2);
  CHECK(dp[0] == other[0]);
  CHECK(dp[1] == other[1]);
}

TEST_CASE("p and dp that are one object are refused") {
  double p = p0;
  CHECK_THROWS_WITH((wrt{p, p}), ContainsSubstring("one object"));
}

TEST_CASE("a step that throws leaves workspace and parameters usable") {
  cairn::revolve const plan{30, 3};
  auto work = cairn::workspace_for<double>(plan);
  double dp = 0;
  int calls = 0;
  auto const throwing = [&](double& x, double p) {
    if (++calls == 40) throw std::string{"stop"};
    step(x, p);
  };
  CHECK_THROWS_AS(cairn::gradient(throwing, 2.1, plan, 1.0, back, work, wrt{p0, dp}), std::string);
  CHECK(both{cairn::gradient(step, 2.1, plan, 1.0, back, work, wrt{p0, dp}), dp} == by_hand(30));
}

TEST_CASE("a sweep that stops anywhere goes on with its dp, and refuses another p") {
  step_index const n = 40;
  cairn::revolve const plan{n, 4};
  both const right = by_hand(n);
  for (int stop = 1; stop < 160; stop += 7) {
    auto work = cairn::workspace_for<double>(plan);
    double p = p0, dp = 0;
    cairn::resume_point<double> noted{-1, 0.0};
    double noted_dp = 0;
    int calls = 0;
    auto const stops = [&] {
      if (++calls == stop) throw std::string{"stop"};
    };
    auto const run = [&](double& x, double q) {
      stops();
      step(x, q);
    };
    bool changes = false;
    auto const note = [&](double, double& bar, double, double& sum, step_index i) {
      noted = {i, bar};
      noted_dp = sum;
      if (changes) p = 0.8;
    };
    auto const reverse = cairn::hooked(back, note);
    bool stopped = false;
    both found{};
    try {
      found.x = cairn::gradient(run, 2.1, plan, 1.0, reverse, work, wrt{p, dp});
      found.p = dp;
    } catch (std::string const&) {
      stopped = true;
    }
    if (stopped && noted.open < 0) {
      p = 0.8;
      CHECK_THROWS_WITH(cairn::resume(run, 2.1, plan, 1.0, reverse, work, wrt{p, dp}), ContainsSubstring("not those"));
      p = p0;
      found.x = cairn::resume(run, 2.1, plan, 1.0, reverse, work, wrt{p, dp});
      found.p = dp;
      changes = true;
      CHECK_THROWS_WITH(cairn::resume(run, 2.1, plan, 1.0, reverse, work, wrt{p, dp}), ContainsSubstring("changed"));
    } else if (stopped) {
      auto const position = noted;
      dp = noted_dp;
      p = 0.8;
      CHECK_THROWS_WITH(cairn::resume(run, 2.1, plan, noted, reverse, work, wrt{p, dp}), ContainsSubstring("not those"));
      p = p0;
      found.x = cairn::resume(run, 2.1, plan, noted, reverse, work, wrt{p, dp});
      found.p = dp;
      changes = position.open > 0;
      if (changes)
        CHECK_THROWS_WITH(cairn::resume(run, 2.1, plan, position, reverse, work, wrt{p, dp}),
                          ContainsSubstring("changed"));
    }
    CHECK(found == right);
  }
}

TEST_CASE("the position of a stopped sweep carries its parameters to another workspace") {
  step_index const n = 40;
  cairn::revolve const plan{n, 4};
  auto work = cairn::workspace_for<double>(plan);
  double p = p0, dp = 0, noted_dp = 0;
  cairn::resume_point<double> noted{-1, 0.0};
  auto const note = [&](double, double& bar, double, double& sum, step_index i) {
    noted = {i, bar, n, {}, work.params_hash()};
    noted_dp = sum;
    if (i == 17) throw std::string{"stop"};
  };
  auto const reverse = cairn::hooked(back, note);
  CHECK_THROWS_AS(cairn::gradient(step, 2.1, plan, 1.0, reverse, work, wrt{p, dp}), std::string);
  CHECK(noted.params != 0);
  auto const position = noted;
  auto other = cairn::workspace_for<double>(plan);
  dp = noted_dp;
  p = 0.8;
  CHECK_THROWS_WITH(cairn::resume(step, 2.1, plan, position, back, other, wrt{p, dp}), ContainsSubstring("not those"));
  p = p0;
  auto const captured = [&](double& x) { step(x, p); };
  auto const captured_back = [&](double x, double& bar) { back(x, bar, p, dp); };
  CHECK_THROWS_WITH(cairn::resume(captured, 2.1, plan, position, captured_back, other),
                    ContainsSubstring("had parameters"));
  CHECK_THROWS_WITH(cairn::resume(captured, 2.1, plan, 1.0, captured_back, work), ContainsSubstring("had parameters"));
  cairn::sweep_report report;
  CHECK(both{cairn::resume(step, 2.1, plan, position, back, other, report, wrt{p, dp}), dp} == by_hand(n));
  CHECK(report.steps == n);
  CHECK(report.slots == 4);
  CHECK(report.step_calls == other.step_calls());
  CHECK(report.state_bytes > 0);
  // A sweep that has ended says nothing about the next one.
  p = 0.8;
  double const g = cairn::gradient(step, 2.1, plan, 1.0, back, work, wrt{p, dp});
  p = p0, dp = noted_dp;
  CHECK(both{cairn::resume(step, 2.1, plan, position, back, work, wrt{p, dp}), dp} == by_hand(n));
  CHECK(g != 0);
}

TEST_CASE("a kept run compares its parameters wherever it makes states again") {
  auto const check = [](auto const& plan, auto options) {
    step_index const n = plan.steps();
    double p = p0, dp = 0;
    long again = 0;  // steps that run with another p
    auto const counted = [&](double& x, double q) { again += q != p0, step(x, q); };
    auto run = cairn::checkpointed_loop(counted, 2.1, plan, wrt{p, dp}, options);
    double const right = run.at(10);
    p = 0.8;
    CHECK_THROWS_WITH(run.at(10), ContainsSubstring("cairn::at: the parameters p of cairn::wrt have changed"));
    CHECK_THROWS_WITH(run.backward().begin(), ContainsSubstring("cairn::backward: the parameters p"));
    CHECK_THROWS_WITH(run.reverse(1.0, back), ContainsSubstring("cairn::reverse: the parameters p"));
    CHECK_THROWS_WITH(run.reverse(std::vector{1.0, 2.0}, cairn::each_bar(back)),
                      ContainsSubstring("cairn::reverse: the parameters p"));
    p = p0;
    CHECK(run.at(10) == right);
    CHECK(again == 0);
    for (step_index change = n; change > 0; --change) {  // p changes where a walk shows this state
      auto walk = run.backward().begin();
      bool wrong = false, told = false;
      while (!(walk == typename decltype(run)::end_of_walk{})) {
        if (auto const [i, x] = *walk; i == 10) wrong = x != right;
        if ((*walk).index == change) p = 0.8;
        try {
          ++walk;
        } catch (cairn::invalid_call const&) {
          told = true;
          CHECK_THROWS_WITH(*walk, ContainsSubstring("the walk has thrown"));
          break;
        }
      }
      p = p0;
      CHECK_FALSE(wrong);
      CHECK(told == (std::exchange(again, 0) > 0));
      CHECK(run.at(10) == right);  // no state of the other p is left
    }
    CHECK(both{run.reverse(1.0, back), dp} == by_hand(n));
  };
  check(cairn::revolve{20, 3}, cairn::sweep_options{});
  check(cairn::revolve{20, 3}, cairn::sweep_options{.verify = cairn::replay_check::checkpoints});
  check(cairn::uniform{20}, cairn::sweep_options{.verify = cairn::replay_check::every_step});
  check(cairn::store_all(20), cairn::sweep_options{});
}

TEST_CASE("parameters that change and change back are found by a replay check where a state is made again") {
  step_index const n = 40;
  double p = p0, dp = 0;
  step_index from = -1, to = -1;  // the adjoints of steps `from` to `to`, in the order of the way back, leave another p
  auto const after = [&](step_index i) { p = i <= from && i > to ? 0.8 : p0; };
  auto const one = [&](double x, double& bar, double q, double& dq, step_index i) { back(x, bar, q, dq), after(i); };
  auto const next = [&](double x, double, double& bar, double q, double& dq, step_index i) {
    back(x, bar, q, dq), after(i);
  };
  cairn::recorded const tape{[](double& x, double q) {
                               double const before = x;
                               step(x, q);
                               return before;
                             },
                             [&](double x, double& bar, double q, double& dq, step_index i) {
                               back(x, bar, q, dq), after(i);
                             }};
  int found = 0, unsaid = 0;
  auto const check = [&](auto const& adjoint, auto const& plan, cairn::replay_check verify) {
    for (from = n - 1; from > 1; from -= 3)
      for (to = from - 1; to >= 0; to -= 5) {
        p = p0;
        long again = 0;  // steps that run with the other p
        auto const run = [&](double& x, double q) { again += q != p0, step(x, q); };
        try {
          double const bar = cairn::gradient(run, 2.1, plan, 1.0, adjoint, wrt{p, dp},
                                             cairn::sweep_options{.verify = verify});
          CHECK(again == 0);
          unsaid += both{bar, dp} != by_hand(n);  // only the adjoint has read another p
        } catch (cairn::invalid_call const& e) {
          CHECK_THAT(e.what(), ContainsSubstring("the parameters p of cairn::wrt have changed"));
          CHECK((again > 0 || verify == cairn::replay_check::every_step));
          ++found;
        }
      }
  };
  for (auto const verify : {cairn::replay_check::checkpoints, cairn::replay_check::every_step}) {
    check(one, cairn::revolve{n, 3}, verify);
    check(next, cairn::revolve{n, 3}, verify);
    check(tape, cairn::revolve{n, 3}, verify);
    check(one, cairn::uniform{n}, verify);
  }
  CHECK(found > 300);
  CHECK(unsaid > 0);
  unsaid = 0;
  check(tape, cairn::store_all(n), cairn::replay_check::every_step);
  CHECK(unsaid == 0);  // `record` makes every state again
}

TEST_CASE("a run that takes over another one has its parameters, and sums into its gradient") {
  double p[] = {p0, 0.7}, dp[] = {0, 0};
  auto const start = [&](int k) {
    return cairn::checkpointed_loop(step, 2.1, cairn::any_schedule{cairn::revolve{20, 3}}, wrt{p[k], dp[k]});
  };
  auto run = start(1), other = start(0);
  run = std::move(other);
  double const bar = run.reverse(1.0, back);
  CHECK(both{bar, dp[0]} == by_hand(20));
  CHECK(dp[1] == 0);
}

TEST_CASE("a kept run whose reverse stopped is resumed with its parameters only") {
  step_index const n = 20;
  cairn::revolve const plan{n, 3};
  auto work = cairn::workspace_for<double>(plan);
  double p = p0, dp = 0;
  cairn::resume_point<double> noted{-1, 0.0};
  double noted_dp = 0;
  auto run = cairn::checkpointed_loop(step, 2.1, plan, work, wrt{p, dp});
  auto const reverse = cairn::hooked(back, [&](double, double& bar, double, double& sum, step_index i) {
    noted = {i, bar};
    noted_dp = sum;
    if (i == 9) throw std::string{"stop"};
  });
  CHECK_THROWS_AS(run.reverse(1.0, reverse), std::string);
  dp = noted_dp;
  p = 0.8;
  CHECK_THROWS_WITH(cairn::resume(step, 2.1, plan, noted, back, work, wrt{p, dp}), ContainsSubstring("not those"));
  p = p0;
  CHECK(both{cairn::resume(step, 2.1, plan, noted, back, work, wrt{p, dp}), dp} == by_hand(n));
}

namespace {

/// Stands for a folder that keeps runs: of a plan's slots only those in memory are here, and 1000 bytes for each.
struct keeper {
  struct keeps_runs {
    template <class Bar, class State, class... Given>
    static Bar sweep(keeper const&, Given const&...) { return 7; }
    static constexpr cairn::wide memory_bytes(keeper const&, cairn::slot_index slots, bool) { return 1000 * cairn::wide(slots); }
    static constexpr cairn::wide shown_bytes(keeper const&) { return 0; }
    static constexpr cairn::slot_index states_behind(keeper const&) { return 0; }
  };
};

}  // namespace

TEST_CASE("every verb of loops fills in a report") {
  step_index const n = 30;
  cairn::revolve const plan{n, 3};
  double dp = 0;
  cairn::sweep_report once, kept, open;
  long seen = 0;
  auto const watch = [&](cairn::event const&) { ++seen; };
  cairn::gradient(step, 2.1, cairn::revolve{n, 20}, 1.0, back, wrt{p0, dp}, once);
  cairn::wide const of_more = once.state_bytes;
  cairn::gradient(step, 2.1, plan, 1.0, back, wrt{p0, dp}, once);
  CHECK(once.state_bytes < of_more);  // each sweep fills it in anew
  auto run = cairn::checkpointed_loop(step, 2.1, plan, kept, wrt{p0, dp}, watch);
  CHECK(kept.steps == n);
  CHECK(kept.slots == 3);
  CHECK(kept.step_calls == n);
  CHECK(kept.predicted_bytes > 0);
  run.reverse(1.0, back);
  CHECK(kept.step_calls == run.step_calls());
  CHECK(kept.step_calls == once.step_calls);
  CHECK(kept.state_bytes >= once.state_bytes);
  CHECK(kept.state_bytes <= kept.predicted_bytes);
  CHECK(seen > 0);
  auto const more = [](double, step_index i) { return i < 30; };
  auto loop = cairn::checkpointed_while(step, 2.1, more, cairn::online{3}, wrt{p0, dp}, open);
  loop.reverse(1.0, back);
  CHECK(open.steps == n);
  CHECK(open.slots == 3);
  CHECK(open.step_calls == loop.step_calls());
  CHECK(open.predicted_bytes == cairn::unknown_bytes);
  CHECK(open.state_bytes > 0);
  auto const elsewhere = [&](auto const& of) {
    cairn::sweep_report report;
    CHECK(cairn::gradient(step, 2.1, of, 1.0, back, wrt{p0, dp}, report, keeper{}) == 7);
    return report.predicted_bytes;
  };
  CHECK(elsewhere(plan) == once.predicted_bytes + 3000);
  cairn::two_level const on_disk{n, 5, 2}, here{n, 5, 2, {.periods_on = cairn::tier::memory}};
  CHECK(elsewhere(here) >= elsewhere(on_disk) + 6 * sizeof(double));
  class untold {  // nobody knows its bytes: then those of the sweep are not known either
    std::vector<double> inside_;
  };
  auto const move = [](untold&) {};
  auto const pull = [](untold const&, double&) {};
  for (bool const any : {false, true}) {
    cairn::sweep_report report;
    if (any) (void)cairn::gradient(move, untold{}, cairn::any_schedule{plan}, 1.0, pull, report, keeper{});
    else (void)cairn::gradient(move, untold{}, plan, 1.0, pull, report, keeper{});
    CHECK(report.predicted_bytes == cairn::unknown_bytes);
  }
}
