// SPDX-License-Identifier: Apache-2.0
// Parameters of a chain as one argument: every form of stage and of chain has the bits of a sweep by hand.
#include <array>
#include <chrono>
#include <cmath>
#include <string>
#include <tuple>
#include <utility>
#include <vector>
#include <cairn/chains.hpp>
#include <cairn/door/wrt.hpp>
#include <cairn/run/sweep/sweep_report.hpp>
#include "support/catch.hpp"

using cairn::step_index;
using cairn::wrt;
using Catch::Matchers::ContainsSubstring;

namespace {

using params = std::array<double, 3>;
params const p0{0.9, 0.4, 1.1};

[[gnu::noinline]] double run(double x, double w) { return std::sin(w * x) + 0.5; }
[[gnu::noinline]] double pull(double x, double bar, double w, double& dw) {
  double const c = bar * std::cos(w * x);
  dw += c * x;
  return c * w;
}
struct found {
  double bar;
  params dp;
  bool operator==(found const&) const = default;
};
found by_hand(step_index n, double seed = 1) {
  std::vector<double> x{0.7};
  for (step_index i = 0; i < n; ++i) x.push_back(run(x.back(), p0[std::size_t(i) % 3]));
  found sum{seed, {}};
  for (step_index i = n; i-- > 0;)
    sum.bar = pull(x[std::size_t(i)], sum.bar, p0[std::size_t(i) % 3], sum.dp[std::size_t(i) % 3]);
  return sum;
}

// Stages in all forms; each uses the parameter of its number.
struct layer {
  std::size_t k;
  [[nodiscard]] double forward(double x, params const& p) const { return run(x, p[k]); }
};
struct by_value : layer {
  [[nodiscard]] double backward(double x, double bar, params const& p, params& dp) const {
    return pull(x, bar, p[k], dp[k]);
  }
};
struct in_place : layer {
  void backward(double x, double& bar, params const& p, params& dp) const { bar = pull(x, bar, p[k], dp[k]); }
};
struct with_output : layer {
  void backward(double x, double y, double& bar, params const& p, params& dp) const {
    bar = y == run(x, p[k]) ? pull(x, bar, p[k], dp[k]) : 1e300;
  }
};
struct taped : layer {
  struct tape {
    double x, y;
  };
  [[nodiscard]] tape record(double x, params const& p) const { return {x, run(x, p[k])}; }
  [[nodiscard]] double const& output(tape const& t) const { return t.y; }
  [[nodiscard]] double backward(tape& t, double bar, params const& p, params& dp) const {
    return pull(t.x, bar, p[k], dp[k]);
  }
};
struct taped_with_state : taped {
  void backward(double x, tape& t, double& bar, params const& p, params& dp) const {
    bar = x == t.x ? pull(x, bar, p[k], dp[k]) : 1e300;
  }
};
/// Plans: all states recomputed from state 0, or all stages recorded.
std::vector<cairn::action> plan_of(step_index n, bool records) {
  namespace act = cairn::chain_actions;
  std::vector<cairn::action> plan;
  if (records) {
    for (step_index i = 0; i < n; ++i) plan.push_back(act::record(i));
    plan.push_back(act::turn(n));
    for (step_index i = n; i-- > 0;) plan.push_back(act::reverse(i));
  } else {
    for (step_index i = 0; i < n; ++i) {
      plan.push_back(act::advance(i));
      if (i > 0) plan.push_back(act::drop(i));
    }
    plan.push_back(act::turn(n));
    for (step_index i = n; i-- > 0;) {
      for (step_index k = 0; k < i; ++k) {
        plan.push_back(act::advance(k));
        if (k > 0) plan.push_back(act::drop(k));
      }
      plan.push_back(act::record(i));
      plan.push_back(act::reverse(i));
    }
  }
  return plan;
}
template <class Stages, class... Last>
found swept(Stages&& stages, std::vector<cairn::action> const& plan, Last&&... last) {
  params dp{7, 7, 7};
  double const bar = cairn::chain_gradient(stages, 0.7, plan, 1.0, wrt{p0, dp}, last...);
  return {bar, dp};
}

}  // namespace

TEST_CASE("stages of every form take p and dp") {
  for (bool const records : {true, false}) {
    auto const plan = plan_of(3, records);
    auto const check = [&](auto const& all) { CHECK(swept(all, plan) == by_hand(3)); };
    check(std::tuple{by_value{{0}}, in_place{{1}}, with_output{{2}}});
    check(std::tuple{taped{{0}}, taped_with_state{{{1}}}, by_value{{2}}});
    check(std::vector{by_value{{0}}, by_value{{1}}, by_value{{2}}});
    check(std::vector{taped_with_state{{{0}}}, taped_with_state{{{1}}}, taped_with_state{{{2}}}});
    by_value first{{0}};
    in_place second{{1}};
    check(std::tuple<by_value&, in_place&, taped>{first, second, taped{{2}}});
    CHECK(swept(std::tuple{by_value{{0}}, in_place{{1}}, taped{{2}}}, plan,
                cairn::sweep_options{.verify = cairn::replay_check::every_step}) == by_hand(3));
  }
}

TEST_CASE("indexed stages take p before their number, chains of no and of one stage too") {
  cairn::stage const numbered{
      [](double x, params const& p, step_index i) { return run(x, p[std::size_t(i) % 3]); },
      [](double x, double bar, params const& p, params& dp, step_index i) {
        return pull(x, bar, p[std::size_t(i) % 3], dp[std::size_t(i) % 3]);
      }};
  cairn::stage const generic{[](auto const& x, auto const& p, auto i) { return run(x, p[std::size_t(i) % 3]); },
                             [](auto const& x, auto bar, auto const& p, auto& dp, auto i) {
                               return pull(x, bar, p[std::size_t(i) % 3], dp[std::size_t(i) % 3]);
                             }};
  for (bool const records : {true, false})
    for (step_index const n : {0, 1, 7}) {
      CHECK(swept(cairn::indexed_stages{n, numbered}, plan_of(n, records)) == by_hand(n));
      CHECK(swept(cairn::indexed_stages{n, generic}, plan_of(n, records)) == by_hand(n));
    }
}

TEST_CASE("stages of a run-time list take p and dp in every form") {
  cairn::stage const generic{[](auto const& x, auto const& p) { return run(x, p[2]); },
                             [](auto const& x, auto bar, auto const& p, auto& dp) {
                               return pull(x, bar, p[2], dp[2]);
                             }};
  using list = std::vector<cairn::any_stage>;
  auto const all = [&](int of) -> list {
    list made;
    if (of == 0) made.emplace_back(by_value{{0}}), made.emplace_back(in_place{{1}}), made.emplace_back(taped{{2}});
    else if (of == 1) made.emplace_back(with_output{{0}}), made.emplace_back(taped_with_state{{{1}}});
    else made.emplace_back(taped{{0}}), made.emplace_back(by_value{{1}});
    if (of != 0) made.push_back(cairn::any_stage::taking<double, double, params>(generic));
    return made;
  };
  auto const check = [&](auto const& seed) {
    for (int const of : {0, 1, 2})
      for (bool const records : {true, false}) {
        auto stages = all(of);
        params dp{7, 7, 7};
        cairn::sweep_report report;
        auto const bar =
            cairn::chain_gradient(stages, 0.7, plan_of(3, records), seed, report, wrt{p0, dp},
                                  cairn::sweep_options{.verify = cairn::replay_check::every_step});
        CHECK(found{bar.template get<double>(), dp} == by_hand(3));
        CHECK(report.step_calls == (records ? 3 : 9));
      }
  };
  check(1.0);
  check([](double, params const&, params&) { return 1.0; });
  check([](double, params const&) { return 1.0; });
  check([](double) { return 1.0; });
  check([](cairn::stage_view x) { return x.get<double>() == 0 ? 0.0 : 1.0; });
  check([](cairn::stage_view, params const&, params&) { return 1.0; });
  list none;
  params dp{7, 7, 7};
  auto stages = all(0);
  auto const seed = [](double) { return 1.0; };
  auto const measured = cairn::chain_probe<std::chrono::steady_clock>(stages, 0.7, seed, wrt{p0, dp});
  CHECK(measured.f.size() == 3);
  CHECK(measured.self_contained_tape == false);
  CHECK(dp == params{7, 7, 7});  // a probe adds to a copy
  CHECK(cairn::chain_gradient(none, 0.7, plan_of(0, true), 2.0, wrt{p0, dp}).get<double>() == 2.0);
  CHECK(dp == params{});
}

TEST_CASE("a stage of a run-time list that needs other parameters, or none are given, is refused before any stage") {
  struct doubles {
    [[nodiscard]] double forward(double x) const { return 2 * x; }
    [[nodiscard]] double backward(double, double bar) const { return 2 * bar; }
  };
  int calls = 0;
  struct other {
    int* calls;
    [[nodiscard]] double forward(double x, float) const { return ++*calls, x; }
    [[nodiscard]] double backward(double, double bar, float, double&) const { return bar; }
  };
  std::vector<cairn::any_stage> stages;
  stages.emplace_back(other{&calls});
  stages.emplace_back(by_value{{1}});
  params dp{};
  auto const refused = ContainsSubstring("a stage takes parameters of a different type, or there are none");
  CHECK_THROWS_WITH(cairn::chain_gradient(stages, 0.7, plan_of(2, true), 1.0, wrt{p0, dp}),
                    refused && ContainsSubstring("stage = 0"));
  CHECK_THROWS_WITH(cairn::chain_gradient(stages, 0.7, plan_of(2, true), 1.0), refused);
  stages[0] = doubles{};
  auto const plan = plan_of(2, true);
  CHECK_THROWS_WITH(cairn::chain_gradient(stages, 0.7, plan, 1.0), refused && ContainsSubstring("stage = 1"));
  float const q = 1;
  double dq = 0;
  CHECK_THROWS_WITH(cairn::chain_gradient(stages, 0.7, plan_of(2, true), 1.0, wrt{q, dq}), refused);
  CHECK(calls == 0);
  CHECK_THROWS_AS(static_cast<void>(stages[1].forward(cairn::stage_view{q})), cairn::invalid_call);
  found right{1, {}};  // a stage without parameters among them
  right.bar = 2 * pull(1.4, 1, p0[1], right.dp[1]);
  CHECK(found{cairn::chain_gradient(stages, 0.7, plan_of(2, true), 1.0, wrt{p0, dp}).get<double>(), dp} == right);
}

TEST_CASE("a stage that takes no parameters, and seeds that take them") {
  struct doubles {
    [[nodiscard]] double forward(double x) const { return 2 * x; }
    [[nodiscard]] double backward(double, double bar) const { return 2 * bar; }
  };
  params dp{5, 5, 5};
  auto const seed = [](double x, params const& p, params& sum) {
    sum[2] += x;
    return p[2];
  };
  double const bar =
      cairn::chain_gradient(std::tuple{by_value{{0}}, doubles{}}, 0.7, plan_of(2, true), seed, wrt{p0, dp});
  params right{};
  double const x1 = run(0.7, p0[0]);
  right[2] = 2 * x1;
  CHECK(bar == pull(0.7, 2 * p0[2], p0[0], right[0]));
  CHECK(dp == right);
  params other{};
  CHECK(cairn::chain_gradient(std::tuple{by_value{{0}}, doubles{}}, 0.7, plan_of(2, true),
                              [](double, params const& p) { return p[2]; }, wrt{p0, other}) == bar);
}

TEST_CASE("what follows the seed of a chain comes in any order, with a report of what was counted") {
  auto const all = std::tuple{by_value{{0}}, in_place{{1}}, taped{{2}}};
  auto const plan = plan_of(3, false);
  params dp{};
  long seen = 0;
  auto const watch = [&](cairn::event const&) { ++seen; };
  cairn::sweep_failure failure;
  cairn::sweep_report report;
  cairn::sweep_options const options{.verify = cairn::replay_check::checkpoints};
  found const right = by_hand(3);
  double bar = cairn::chain_gradient(all, 0.7, plan, 1.0, report, options, wrt{p0, dp}, failure, watch);
  CHECK(found{bar, dp} == right);
  long const once = seen;
  CHECK(once > 0);
  CHECK(report.steps == 3);
  CHECK(report.step_calls == 9);  // 3 forward, then 3, 2 and 1
  CHECK(report.state_bytes >= 2 * sizeof(double));
  CHECK(report.counted.states + report.counted.tapes + report.counted.adjoints == report.state_bytes);
  CHECK(report.predicted.tapes == cairn::unknown_bytes);
  CHECK(report.slots == 0);
  CHECK(report.predicted_bytes == cairn::unknown_bytes);  // the plan is a list of actions: it does not say
  bar = cairn::chain_gradient(all, 0.7, plan, 1.0, watch, failure, wrt{p0, dp}, options, report);
  CHECK(found{bar, dp} == right);
  CHECK(seen == 2 * once);
}

TEST_CASE("parameters of a chain that change are an error, and a stage that throws leaves all usable") {
  params p = p0, dp{};
  int calls = 0, change_at = 0, throw_at = 0;
  auto const tick = [&] {
    ++calls;
    if (calls == change_at) p[1] = 0.2;
    if (calls == throw_at) throw std::string{"stop"};
  };
  cairn::stage const one{[&](double x, params const& q) {
                           tick();
                           return run(x, q[0]);
                         },
                         [&](double x, double bar, params const& q, params& dq) {
                           tick();
                           return pull(x, bar, q[0], dq[0]);
                         }};
  auto const seed = [&](double) {
    tick();
    return 1.0;
  };
  std::vector<cairn::any_stage> list;
  list.emplace_back(one), list.emplace_back(one);
  for (bool const at_run_time : {false, true}) {
    auto const call = [&] {
      p = p0, calls = 0;
      auto const plan = plan_of(2, false);
      if (at_run_time) return cairn::chain_gradient(list, 0.7, plan, seed, wrt{p, dp}).get<double>();
      return cairn::chain_gradient(std::tuple{one, one}, 0.7, plan, seed, wrt{p, dp});
    };
    double const right = call();
    params const sum = dp;
    int const all = calls;
    CHECK(all == 8);
    for (int k = 1; k <= all; ++k) {
      change_at = k, throw_at = 0;
      CHECK_THROWS_WITH(call(), ContainsSubstring("have changed"));
      change_at = 0, throw_at = k;
      CHECK_THROWS_AS(call(), std::string);
    }
    change_at = throw_at = 0;
    CHECK(call() == right);
    CHECK(dp == sum);
  }
  // Seen at the seed, too: p is what it was again at the end.
  auto const restores = [&](double) {
    p = p0;
    return 1.0;
  };
  change_at = 1;
  p = p0, calls = 0;
  CHECK_THROWS_WITH(cairn::chain_gradient(std::tuple{one}, 0.7, plan_of(1, true), restores, wrt{p, dp}),
                    ContainsSubstring("have changed"));
  cairn::stage const restored{[&](double x, params const& q) { return p[1] = 0.2, run(x, q[0]); },
                              [&](double, double bar, params const&, params&) { return p = p0, bar; }};
  p = p0;
  CHECK_THROWS_WITH(cairn::chain_gradient(std::tuple{restored}, 0.7, plan_of(1, true), 1.0, wrt{p, dp}),
                    ContainsSubstring("have changed"));
}
