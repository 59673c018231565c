// SPDX-License-Identifier: Apache-2.0
// Parameters of a loop in steps and adjoints that are made of others: nested loops, jumps, chosen steps, hooks, several
// bars. Each has the bits of the same loop written by hand with all states stored.
#include <array>
#include <cmath>
#include <string>
#include <utility>
#include <vector>
#include <cairn/cairn.hpp>
#include <cairn/run/check/check_model.hpp>
#include <cairn/run/with/adaptive.hpp>
#include <cairn/run/with/each_bar.hpp>
#include <cairn/run/with/jumps.hpp>
#include <cairn/run/with/nested.hpp>
#include <cairn/schedule/leaves.hpp>
#include <cairn/schedule/mixed.hpp>
#include "support/catch.hpp"
#include "support/plans.hpp"

using cairn::step_index;
using cairn::wrt;
using Catch::Matchers::ContainsSubstring;

namespace {

using params = std::array<double, 2>;
params const p0{0.9, 0.3};

[[gnu::noinline]] void move(double& x, params const& p, step_index i) {
  x = std::sin(p[0] * x + p[1]) + 0.01 * double(i);
}
[[gnu::noinline]] void pull(double x, double& bar, params const& p, params& dp, step_index) {
  double const c = bar * std::cos(p[0] * x + p[1]);
  dp[0] += c * x;
  dp[1] += c;
  bar = c * p[0];
}
// The same in all forms.
auto const step = [](double& x, params const& p, step_index i) { move(x, p, i); };
auto const step_value = [](double const& x, params const& p, step_index i) {
  double y = x;
  move(y, p, i);
  return y;
};
auto const step_out = [](double const& x, double& x1, params const& p, step_index i) {
  x1 = x;
  move(x1, p, i);
};
auto const back = [](double x, double& bar, params const& p, params& dp, step_index i) { pull(x, bar, p, dp, i); };
auto const back_next = [](double const& x, double const& x1, double& bar, params const& p, params& dp, step_index i) {
  double y = x;
  move(y, p, i);
  if (y != x1) throw std::string{"another next state"};
  pull(x, bar, p, dp, i);
};
auto const back_leaf = [](double const& x, double& bar, params const& p, params& dp, step_index first,
                          step_index last) {
  std::vector<double> all{x};
  for (step_index i = first; i + 1 < last; ++i) {
    all.push_back(all.back());
    move(all.back(), p, i);
  }
  for (step_index i = last; i-- > first;) pull(all[std::size_t(i - first)], bar, p, dp, i);
};
struct tape {
  double before, after;
};
auto const record = [](double& x, params const& p, step_index i) {
  tape t{x, 0};
  move(x, p, i);
  t.after = x;
  return t;
};
auto const reverse = [](tape& t, double& bar, params const& p, params& dp, step_index i) {
  pull(t.before, bar, p, dp, i);
};
auto const restart = [](tape const& t) { return t.after; };

struct found {
  double bar;
  params dp;
  bool operator==(found const&) const = default;
};
/// Stored states, reversed by hand.   \param after  called with each adjoint, for hooks
template <class After>
found by_hand(step_index n, double seed, After after) {
  std::vector<double> x{2.1};
  for (step_index i = 0; i < n; ++i) {
    x.push_back(x.back());
    move(x.back(), p0, i);
  }
  found sum{seed, {0, 0}};
  for (step_index i = n; i-- > 0;) {
    pull(x[std::size_t(i)], sum.bar, p0, sum.dp, i);
    after(x[std::size_t(i)], sum, i);
  }
  return sum;
}
found by_hand(step_index n, double seed = 1) {
  return by_hand(n, seed, [](double, found&, step_index) {});
}
template <class Step, class Plan, class Adjoint, class... Last>
found swept(Step&& run, Plan const& plan, Adjoint&& pulls, Last&&... last) {
  params dp{7, 7};
  double const bar = cairn::gradient(run, 2.1, plan, 1.0, pulls, wrt{p0, dp}, last...);
  return {bar, dp};
}

}  // namespace

TEST_CASE("a nested loop with parameters has the bits of one loop, in all forms") {
  for (step_index const inner : {1, 3})
    for (step_index const n : {0, 1, 4}) {
      found const right = by_hand(inner * n);
      cairn::revolve const plan{n, 2}, within{inner, 1};
      auto const check = [&](auto const& run, auto const& pulls) {
        cairn::nested const loop{within, run, pulls};
        CHECK(swept(loop.step, plan, loop.adjoint) == right);
      };
      cairn::nested const loop{within, step, back};
      CHECK(swept(loop.step, plan, loop.adjoint) == right);
      cairn::nested const checked{within, step, back,
                                  cairn::sweep_options{.verify = cairn::replay_check::checkpoints}};
      CHECK(swept(checked.step, plan, checked.adjoint,
                  cairn::sweep_options{.verify = cairn::replay_check::every_step}) == right);
      params unused{};
      auto kept = cairn::checkpointed_loop(loop.step, 2.1, plan, wrt{p0, unused});
      params other{5, 5};
      CHECK(found{kept.reverse(1.0, loop.adjoint, other), other} == right);
      cairn::nested const twice{cairn::revolve{1, 1}, loop.step, loop.adjoint};  // levels nest
      CHECK(swept(twice.step, plan, twice.adjoint) == right);
      check(step_value, back_next);
      check(step_out, back);
      check(step, cairn::recorded{record, reverse});
    }
}

TEST_CASE("a loop with jumps that take parameters has the bits of the loop written by hand") {
  auto const jump = [](double& x, params const& p) { x *= p[1]; };
  auto const jump_back = [](double x, double& bar, params const& p, params& dp) {
    dp[1] += bar * x;
    bar *= p[1];
  };
  auto const plain = [](double& x) { x += 0.25; };
  auto const plain_back = [](double, double&) {};
  auto const high = [](double x, params const& p) { return x > p[0]; };
  for (step_index const n : {1, 2, 9}) {
    step_index const at = n / 2;
    std::vector<std::pair<int, double>> all;  // 0: the step, 1: the jump with p, 2: the one without
    double x = 2.1;
    std::vector<step_index> number;
    auto const note = [&](int what, step_index i) {
      all.push_back({what, x});
      number.push_back(i);
    };
    for (step_index i = 0; i < n; ++i) {
      if (i == at) note(1, i), jump(x, p0);
      if (high(x, p0)) note(2, i), plain(x);
      note(0, i), move(x, p0, i);
      if (i == at) note(1, i), jump(x, p0);
    }
    found right{1, {0, 0}};
    for (std::size_t k = all.size(); k-- > 0;) {
      if (all[k].first == 0) pull(all[k].second, right.bar, p0, right.dp, number[k]);
      if (all[k].first == 1) jump_back(all[k].second, right.bar, p0, right.dp);
    }
    auto const check = [&](auto const& run, auto const& pulls, auto const& plan) {
      cairn::with_jumps const loop{run, pulls, cairn::jump_at(at, jump, jump_back),
                                   cairn::jump_when(high, plain, plain_back), cairn::jump_after(at, jump, jump_back)};
      for (int again = 0; again < 2; ++again)  // memory is used again
        CHECK(swept(loop.step, plan, loop.adjoint) == right);
    };
    check(step, back, cairn::revolve{n, 2});
    check(step_value, back, cairn::revolve{n, 2});
    check(step_out, back_next, cairn::revolve{n, 2});
    check(step, back_leaf, cairn::leaves{n, 3, cairn::store_all((n + 2) / 3)});
    check(step, cairn::recorded{record, reverse}, cairn::revolve{n, 2});
    check(step, cairn::recorded{record, reverse, restart}, cairn::mixed{n, 3, {.tapes_restart = true}});
  }
}

TEST_CASE("steps that choose with parameters are repeated in every verb") {
  auto const choose = [](double& x, params const& p, step_index i) {
    double const h = x > p[1] ? 0.5 : 0.25;
    move(x, p, i);
    x *= h;
    return h;
  };
  auto const again = [](double& x, params const& p, step_index i, double h) {
    move(x, p, i);
    x *= h;
  };
  auto const pulls = [](double x, double& bar, params const& p, params& dp, step_index i, double h) {
    bar *= h;
    pull(x, bar, p, dp, i);
  };
  auto const next = [&](double x, double const&, double& bar, params const& p, params& dp, step_index i, double h) {
    pulls(x, bar, p, dp, i, h);
  };
  struct taken {
    double x, h;
  };
  auto const taped = [&](double& x, params const& p, step_index i, double h) {
    taken t{x, h};
    again(x, p, i, h);
    return t;
  };
  auto const untaped = [&](taken& t, double& bar, params const& p, params& dp, step_index i) {
    pulls(t.x, bar, p, dp, i, t.h);
  };
  for (step_index const n : {0, 1, 20}) {
    std::vector<double> x{2.1}, h;
    for (step_index i = 0; i < n; ++i) {
      x.push_back(x.back());
      h.push_back(choose(x.back(), p0, i));
    }
    found right{1, {0, 0}};
    for (step_index i = n; i-- > 0;) pulls(x[std::size_t(i)], right.bar, p0, right.dp, i, h[std::size_t(i)]);

    cairn::adaptive loop{choose, again};
    cairn::revolve const plan{n, 3};
    CHECK(swept(loop.step(), plan, loop.with_record(pulls)) == right);
    CHECK(loop.records() == h);
    CHECK(swept(loop.step(), plan, loop.with_record(next)) == right);
    params sum{};
    auto kept = cairn::checkpointed_loop(loop.step(), 2.1, plan, wrt{p0, sum});
    CHECK(found{kept.reverse(1.0, cairn::recorded{loop.with_record(taped), untaped}), sum} == right);
    cairn::adaptive only{[&](double const& y, params const& p) { return y > p[1] ? 0.5 : 0.25; }, again};
    CHECK(swept(only.step(), plan, only.with_record(pulls)) == right);
    params dp{};
    auto const more = [n](double, step_index i) { return i < n; };
    auto open = cairn::checkpointed_while(loop.step(), 2.1, more, cairn::online{3}, wrt{p0, dp});
    CHECK(found{open.reverse(1.0, loop.with_record(pulls)), dp} == right);
    CHECK(found{open.reverse(1.0, loop.with_record(pulls)), dp} == right);
  }
}

TEST_CASE("a stopped sweep of chosen steps goes on with its choices, its p and its dp") {
  auto const choose = [](double& x, params const& p, step_index i) {
    move(x, p, i);
    return x;
  };
  step_index const n = 20;
  cairn::revolve const plan{n, 3};
  found const right = by_hand(n);
  for (int const stop : {1, 13, 25, 38}) {
    int calls = 0;
    auto const stops = [&](double& x, params const& p, step_index i, double) {
      if (++calls == stop) throw std::string{"stop"};
      move(x, p, i);
    };
    auto const pulls = [&](double x, double& bar, params const& p, params& dp, step_index i) {
      if (++calls == stop) throw std::string{"stop"};
      pull(x, bar, p, dp, i);
    };
    cairn::adaptive loop{choose, stops};
    auto run = loop.step();
    auto work = cairn::workspace_for<double>(plan);
    cairn::resume_point<double> noted{-1, 0.0};
    params dp{}, noted_dp{};
    auto const hook = cairn::hooked(pulls, [&](double, double& bar, params const&, params& sum, step_index i) {
      noted = {i, bar};
      noted_dp = sum;
    });
    CHECK_THROWS_AS(cairn::gradient(run, 2.1, plan, 1.0, hook, work, wrt{p0, dp}), std::string);
    auto again = loop.step(std::vector<double>(loop.records()));
    double bar = 0;
    if (noted.open < 0) bar = cairn::resume(again, 2.1, plan, 1.0, hook, work, wrt{p0, dp});
    else {
      dp = noted_dp;
      bar = cairn::resume(again, 2.1, plan, noted, hook, work, wrt{p0, dp});
    }
    CHECK(found{bar, dp} == right);
  }
}

TEST_CASE("hooks take parameters after adjoints of every form") {
  for (step_index const n : {0, 1, 12}) {
    found const right = by_hand(n, 1, [](double, found& sum, step_index i) {
      sum.bar += p0[1];
      sum.dp[1] += double(i);
    });
    auto const add = [](double& bar, params const& p, params& dp, step_index i) {
      bar += p[1];
      dp[1] += double(i);
    };
    auto const hook = [&](double, double& bar, params const& p, params& dp, step_index i) { add(bar, p, dp, i); };
    CHECK(swept(step, cairn::revolve{n, 3}, cairn::hooked(back, hook)) == right);
    CHECK(swept(step, cairn::revolve{n, 3}, cairn::hooked(back_next, hook)) == right);
    cairn::recorded const taped{record, reverse};
    auto const of_tape = [&](tape&, double& bar, params const& p, params& dp, step_index i) { add(bar, p, dp, i); };
    CHECK(swept(step, cairn::revolve{n, 3}, cairn::hooked(taped, of_tape)) == right);
    CHECK(swept(step, cairn::revolve{n, 3}, cairn::hooked(taped, add)) == right);
    CHECK(swept(step, cairn::revolve{n, 3}, cairn::hooked(taped, [](double&, step_index) {})) == by_hand(n));
    auto const of_leaf = [&](double, double& bar, params const& p, params& dp, step_index first, step_index last) {
      if (last - first == 1) add(bar, p, dp, first);
    };
    CHECK(swept(step, cairn::leaves{n, 1, cairn::revolve{n, 2}}, cairn::hooked(cairn::leaf(back_leaf), of_leaf)) ==
          right);
    auto const plain_leaf = [](double, double&, step_index, step_index) {};
    CHECK(swept(step, cairn::leaves{n, 4, cairn::store_all((n + 3) / 4)},
                cairn::hooked(cairn::leaf(back_leaf), plain_leaf)) == by_hand(n));
  }
}

TEST_CASE("several bars with parameters: dp is the sum over all of them, in order") {
  step_index const n = 12;
  std::vector<double> x{2.1};
  for (step_index i = 0; i < n; ++i) {
    x.push_back(x.back());
    move(x.back(), p0, i);
  }
  std::vector<double> right{1, 2};
  params sum{};
  for (step_index i = n; i-- > 0;)
    for (double& bar : right) pull(x[std::size_t(i)], bar, p0, sum, i);
  auto const check = [&](auto const& pulls) {
    params dp{3, 3};
    auto const bars = cairn::gradient(step, 2.1, cairn::revolve{n, 3}, std::vector<double>{1, 2},
                                      cairn::each_bar(pulls), wrt{p0, dp});
    CHECK(bars == right);
    CHECK(dp == sum);
  };
  check(back);
  check(back_next);
  check(cairn::recorded{record, reverse});
}

namespace {

/// An object that cannot be copied; its adjoint moves it.
struct solver {
  explicit solver(double start) : x{start} {}
  solver(solver const&) = delete;
  double x, bar = 0;
  [[nodiscard]] double save() const { return x; }
  void restore(double saved) { x = saved; }
  void step(params const& p, step_index i) { move(x, p, i); }
  void adjoint(params const& p, params& dp, step_index i) {
    pull(x, bar, p, dp, i);
    x = -99;
  }
};

}  // namespace

TEST_CASE("objects whose library has the bar: nested, with jumps and hooks, with parameters") {
  step_index const n = 6;
  auto const run = [](solver& s, params const& p, step_index i) { s.step(p, i); };
  params changed = p0;
  bool changes = false;
  auto const pulls = [&](solver& s, params const& p, params& dp, step_index i) {
    s.adjoint(p, dp, i);
    if (changes) changed[1] = 0.5;
  };
  auto const seed = [](solver& s) { s.bar = 1; };
  auto const check = [&](auto const& forward, auto const& backward, step_index steps) {
    solver s{2.1};
    params dp{4, 4};
    cairn::gradient(forward, s, cairn::revolve{steps, 2}, seed, backward, wrt{p0, dp});
    CHECK(found{s.bar, dp} == by_hand(n));
  };
  check(run, pulls, n);
  changes = true;
  solver x{2.1};
  params sum{};
  CHECK_THROWS_WITH(cairn::gradient(run, x, cairn::revolve{n, 2}, seed, pulls, wrt{changed, sum}),
                    ContainsSubstring("have changed"));
  changes = false;
  std::vector<double> seen;
  auto const hook = [&](solver& s, params const&, params&, step_index) { seen.push_back(s.x); };
  check(run, cairn::hooked(pulls, hook), n);
  REQUIRE(seen.size() == std::size_t(n));
  CHECK(seen.back() == 2.1);
  auto const leaf = [&](solver& s, params const& p, params& dp, step_index i, step_index) { pulls(s, p, dp, i); };
  auto const leaf_hook = [&](solver& s, params const&, params&, step_index, step_index) { seen.push_back(s.x); };
  check(run, cairn::hooked(leaf, leaf_hook), n);
  CHECK(seen.size() == std::size_t(2 * n));
  seen.resize(std::size_t(n));
  solver one{2.1};
  auto const taped = [](solver& s, params const& p, step_index i) {
    double const from = s.x;
    s.step(p, i);
    return from;
  };
  cairn::recorded const tapes{taped, [&one](double from, params const& p, params& dp, step_index i) {
                                pull(from, one.bar, p, dp, i);
                              }};
  std::vector<double> taped_states;
  step_index left = n;
  bool in_order = true;
  auto const of_tapes = [&](auto const& after) {
    one.x = 2.1;
    params dp{4, 4};
    cairn::gradient(run, one, cairn::revolve{n, 2}, seed, cairn::hooked(tapes, after), wrt{p0, dp});
    CHECK(found{one.bar, dp} == by_hand(n));
  };
  of_tapes([&](double& from, params const&, params&, step_index) { taped_states.push_back(from); });
  CHECK(taped_states == seen);
  of_tapes([&](params const&, params&, step_index i) { in_order = i == --left && in_order; });
  of_tapes([&](step_index i) { left += i; });
  CHECK(in_order);
  CHECK(left == n * (n - 1) / 2);
  cairn::nested const loop{cairn::revolve{3, 1}, run, pulls};
  check(loop.step, loop.adjoint, n / 3);
  auto const pulls_leaf = [](solver& s, double& bar, params const& p, params& dp, step_index first, step_index last) {
    back_leaf(s.x, bar, p, dp, first, last);
    s.x = -99;
  };
  auto const leaf_in_library = [&](solver& s, params const& p, params& dp, step_index first, step_index last) {
    pulls_leaf(s, s.bar, p, dp, first, last);
  };
  cairn::leaves const of_leaves{3, 2, cairn::revolve{2, 1}};
  cairn::nested const leafy_library{of_leaves, run, leaf_in_library};
  check(leafy_library.step, leafy_library.adjoint, n / 3);
  cairn::nested const leafy{of_leaves, run, pulls_leaf};
  solver with_bar{2.1};
  params dp{4, 4};
  double const bar =
      cairn::gradient(leafy.step, with_bar, cairn::revolve{n / 3, 1}, 1.0, leafy.adjoint, wrt{p0, dp});
  CHECK(found{bar, dp} == by_hand(n));
  auto const nothing = [](solver&) {};
  cairn::with_jumps const jumps{run, pulls, cairn::jump_at(2, nothing, nothing)};
  check(jumps.step, jumps.adjoint, n);
}

TEST_CASE("parameters that change inside parts are an error in every verb, and a step that throws leaves all usable") {
  params p = p0, dp{};
  int calls = 0, change_at = 0, throw_at = 0;
  auto const tick = [&] {
    ++calls;
    if (calls == change_at) p[1] = 0.2;
    if (calls == throw_at) throw std::string{"stop"};
  };
  auto const run = [&](double& x, params const& q, step_index i) {
    tick();
    move(x, q, i);
  };
  auto const pulls = [&](double x, double& bar, params const& q, params& dq, step_index i) {
    tick();
    pull(x, bar, q, dq, i);
  };
  cairn::nested const inner{cairn::revolve{3, 1}, run, pulls};
  auto const jump = [&](double& x, params const& q) { x *= q[0]; };
  auto const jump_back = [&](double x, double& bar, params const& q, params& dq) { dq[0] += bar * x, bar *= q[0]; };
  cairn::with_jumps const jumps{run, pulls, cairn::jump_at(1, jump, jump_back)};
  auto const first = [&](double& x, params const& q, step_index i) {
    run(x, q, i);
    return 1;
  };
  cairn::adaptive chosen{first, [&](double& x, params const& q, step_index i, int) { run(x, q, i); }};
  auto const check = [&](auto call) {
    p = p0, calls = 0, change_at = throw_at = 0;
    double const right = call();
    params const sum = dp;
    int const all = calls;
    for (int k = 1; k <= all; ++k) {
      p = p0, calls = 0, change_at = k, throw_at = 0;
      CHECK_THROWS_WITH(call(), ContainsSubstring("have changed"));
      p = p0, calls = 0, change_at = 0, throw_at = k;
      CHECK_THROWS_AS(call(), std::string);
    }
    p = p0, calls = 0, change_at = throw_at = 0;
    CHECK(call() == right);
    CHECK(dp == sum);
  };
  auto const verbs = [&](auto const& make, auto const& adjoint) {
    check([&] { return cairn::gradient(make(), 2.1, cairn::revolve{4, 2}, 1.0, adjoint, wrt{p, dp}); });
    check([&] {
      return cairn::checkpointed_loop(make(), 2.1, cairn::revolve{4, 2}, wrt{p, dp}).reverse(1.0, adjoint);
    });
    check([&] {
      auto const more = [](double, step_index i) { return i < 4; };
      return cairn::checkpointed_while(make(), 2.1, more, cairn::online{2}, wrt{p, dp}).reverse(1.0, adjoint);
    });
  };
  verbs([&] { return inner.step; }, inner.adjoint);
  auto const one = [&](auto const& make, auto const& adjoint) {
    check([&] { return cairn::gradient(make(), 2.1, cairn::revolve{4, 2}, 1.0, adjoint, wrt{p, dp}); });
  };
  one([&] { return jumps.step; }, jumps.adjoint);
  auto const repeated = [&](double x, double& bar, params const& q, params& dq, step_index i, int) {
    pulls(x, bar, q, dq, i);
  };
  one([&] { return chosen.step(); }, chosen.with_record(repeated));
  auto const hook = [&](double, double&, params const&, params&, step_index) { tick(); };
  one([&] { return run; }, cairn::hooked(pulls, hook));
}

TEST_CASE("check of a model whose parts take parameters sees a sum that is forgotten") {
  bool forgets = false;
  auto const pulls = [&](double x, double& bar, params const& p, params& dp, step_index i) {
    params other = dp;
    pull(x, bar, p, forgets ? other : dp, i);
  };
  cairn::nested const inner{cairn::revolve{3, 1}, step, pulls};
  auto const passed = [&] { return cairn::check(cairn::model{inner.step, inner.adjoint}, 2.1, p0, 3).passed(); };
  CHECK(passed());
  forgets = true;
  CHECK_FALSE(passed());
}
