// SPDX-License-Identifier: Apache-2.0
// Chains of stages that differ: the same bits as storing everything for every plan and every form of stages, and plans
// obeyed action by action.
#include <cairn/run/chain.hpp>

#include <array>
#include <chrono>
#include <cmath>
#include <cstring>
#include <initializer_list>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <span>
#include <stdexcept>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include <cairn/plan/chain/replay.hpp>

#include "support/asked_state.hpp"
#include "support/catch.hpp"
#include "support/chain_stages.hpp"

using namespace chain_stages;
using cairn::step_index;
using namespace cairn::chain_actions;

namespace {

using actions = std::vector<action>;

/// Counts what is run, and compares each state with the one that storing everything makes.
struct observed_counts {
  step_index forward = 0, recompute = 0, reverse = 0;
  void operator()(cairn::event const& e) {
    if (e.moment() == cairn::moment::before) return;
    bool const runs = e.what().kind == cairn::action_kind::advance || e.what().kind == cairn::action_kind::record;
    if (runs) ++(e.phase() == cairn::phase::forward ? forward : recompute);
    if (e.what().kind == cairn::action_kind::reverse) ++reverse;
  }
};

/// Plans for one chain: storing everything, splits and wild ones.
std::vector<actions> some_plans(step_index stages, int count, std::uint64_t from, bool self_contained) {
  std::vector<actions> plans{store_all(stages)};
  for (int k = 0; k < count; ++k) {
    plans.push_back(split_plan{stages, from + std::uint64_t(k), self_contained}.actions);
    plans.push_back(wild_plan(stages, from + std::uint64_t(k), int(8 * stages), self_contained));
  }
  return plans;
}

template <class Stages>
std::vector<double> derivatives(Stages& net) {
  std::vector<double> all;
  for (auto& stage : net) all.push_back(stage.w_bar);
  return all;
}

}  // namespace

TEMPLATE_TEST_CASE("a chain has the bits of storing everything, for all plans and forms of its stages",
                   "[run][chain]", by_value, in_place, with_output, taped, self_contained) {
  constexpr bool alone = std::is_same_v<TestType, self_contained>;
  std::mt19937_64 numbers{7};
  int plans = 0;
  for (int const stages : {0, 1, 2, 3, 5, 8, 13})
    for (int repeat = 0; repeat < 3; ++repeat) {
      auto const lengths = random_lengths(stages, 9, numbers);
      stored const expected{lengths};
      for (auto const& plan : some_plans(stages, 10, numbers(), alone)) {
        CAPTURE(stages, repeat, plans);
        auto all = net<TestType>(lengths);
        observed_counts seen;
        REQUIRE(cairn::chain_gradient(all, start(lengths[0]), plan, seed, seen) == expected.gradient);
        CHECK(derivatives(all) == expected.by_w);
        CHECK(seen.reverse == stages);
        // As many stage runs as the judge of plans says.
        std::vector<std::int64_t> const ones(std::size_t(stages), 1);
        cairn::chain const c{
            .x = std::vector<std::int64_t>(ones.size() + 1, 1), .s = ones, .u = ones, .self_contained_tape = alone};
        CHECK(seen.forward + seen.recompute == cairn::replay(c, plan).stage_runs);
        // The same by a vector of any stages.
        std::vector<cairn::any_stage> any;
        for (auto const& stage : net<TestType>(lengths)) any.emplace_back(stage);
        auto const bar = cairn::chain_gradient(any, start(lengths[0]), plan, seed);
        REQUIRE(bar.template get<vec>() == expected.gradient);
        for (std::size_t i = 0; i < any.size(); ++i) CHECK(any[i].template get<TestType>().w_bar == expected.by_w[i]);
        ++plans;
      }
    }
  CHECK(plans >= 400);
}

TEST_CASE("stages that take their number form a chain by index, taped or not", "[run][chain]") {
  std::mt19937_64 numbers{11};
  for (int const stages : {0, 1, 4, 9})
    for (int repeat = 0; repeat < 4; ++repeat) {
      auto const lengths = random_lengths(stages, 6, numbers);
      stored const expected{lengths};
      std::vector<double> by_w(lengths.size() - 1);
      auto const forward = [&](vec const& x, step_index i) {
        return run(x, lengths[std::size_t(i) + 1], weight(std::size_t(i)));
      };
      auto const back = [&](vec const& x, vec const& bar, step_index i) {
        return pull(x, bar, weight(std::size_t(i)), by_w[std::size_t(i)]);
      };
      auto const record = [&](vec const& x, step_index i) { return whole_tape{x, forward(x, i)}; };
      auto const output = [](whole_tape const& kept) -> vec const& { return kept.output; };
      auto const check = [&](auto stage, auto const& plan) {
        CAPTURE(stages, repeat);
        by_w.assign(by_w.size(), 0);
        CHECK(cairn::chain_gradient(cairn::indexed_stages{stages, stage}, start(lengths[0]), plan, seed) ==
              expected.gradient);
        CHECK(by_w == expected.by_w);
      };
      for (auto const& plan : some_plans(stages, 8, numbers(), false)) {
        check(cairn::stage{forward, back}, plan);
        check(cairn::stage{[&](auto const& x, auto i) { return forward(x, i); },
                           [&](auto const& x, auto& bar, auto i) { bar = back(x, bar, i); }},
              plan);
        check(cairn::stage{forward, [&](vec const& x, vec const& y, vec const& bar,
                                        step_index i) { return back(x, y == forward(x, i) ? bar : y, i); }},
              plan);
        check(cairn::taped_stage{forward, record, output,
                                 [&](vec const& x, whole_tape const& kept, vec const& bar, step_index i) {
                                   return back(x == kept.input ? x : bar, bar, i);
                                 }},
              plan);
      }
      auto const alone = [&](whole_tape const& kept, vec const& bar, step_index i) { return back(kept.input, bar, i); };
      for (auto const& plan : some_plans(stages, 8, numbers(), true))
        check(cairn::taped_stage{forward, record, output, alone}, plan);
    }
}

namespace {

// A chain of four types of states and three types of adjoints: a vector, a pair of numbers, nothing at all, a number
// that cannot be copied.
struct pair {
  double a, b;
};
struct nothing {};
struct single {
  std::unique_ptr<double> value;
};

struct to_pair {
  double w_bar = 0;
  [[nodiscard]] pair forward(vec const& x) const {
    vec const y = run(x, 2, 0.4);
    return {y[0], y[1]};
  }
  [[nodiscard]] vec backward(vec const& x, pair const& bar) { return pull(x, {bar.a, bar.b}, 0.4, w_bar); }
};
struct on_pair {
  struct tape {
    pair before, after;
  };
  [[nodiscard]] pair forward(pair const& x) const { return {x.a * x.b, std::sin(x.b)}; }
  [[nodiscard]] tape record(pair const& x) const { return {x, forward(x)}; }
  [[nodiscard]] pair const& output(tape const& kept) const { return kept.after; }
  void backward(tape const& kept, pair& bar) const {
    bar = {bar.a * kept.before.b, bar.a * kept.before.a + bar.b * std::cos(kept.before.b)};
  }
};
struct to_single {
  [[nodiscard]] single forward(pair const& x) const { return {std::make_unique<double>(x.a + x.b * x.b)}; }
  [[nodiscard]] pair backward(pair const& x, double bar) const { return {bar, 2 * bar * x.b}; }
};
struct on_single {
  [[nodiscard]] single forward(single const& x) const { return {std::make_unique<double>(*x.value * *x.value)}; }
  double backward(single const& x, single const& y, double bar) const {
    return *y.value == *x.value * *x.value ? 2 * *x.value * bar : 1e300;
  }
};
/// Forgets everything: the adjoint before it is zero.
struct to_nothing {
  [[nodiscard]] nothing forward(single const&) const { return {}; }
  [[nodiscard]] double backward(single const&, nothing) const { return 0; }
};
struct to_vector {
  [[nodiscard]] vec forward(nothing const&) const { return {1, 2}; }
  [[nodiscard]] nothing backward(nothing const&, vec const&) const { return {}; }
};

}  // namespace

TEST_CASE("a tuple of stages has states, tapes and adjoints of types of its own", "[run][chain]") {
  vec const x0{0.3, -0.8, 1.1};
  auto const chain = [] { return std::tuple{to_pair{}, on_pair{}, on_pair{}, to_single{}, on_single{}}; };
  auto const last_seed = [](single const& x) { return 3 * *x.value; };
  auto all = chain();
  vec const expected = cairn::chain_gradient(all, x0, store_all(5), last_seed);
  // By differences of the square of the last state, times 3/2.
  auto const value = [&](vec const& x) {
    auto [a, b, c, d, e] = chain();
    double const last = *e.forward(d.forward(c.forward(b.forward(a.forward(x))))).value;
    return 1.5 * last * last;
  };
  for (std::size_t k = 0; k < x0.size(); ++k) {
    vec up = x0, down = x0;
    up[k] += 1e-6, down[k] -= 1e-6;
    CHECK(expected[k] == Approx((value(up) - value(down)) / 2e-6).epsilon(1e-7));
  }
  for (std::uint64_t k = 0; k < 150; ++k) {
    auto again = chain();
    auto const check = [&](actions const& plan) {
      std::get<0>(again).w_bar = 0;
      CHECK(cairn::chain_gradient(again, x0, plan, last_seed) == expected);
      CHECK(std::get<0>(again).w_bar == std::get<0>(all).w_bar);
    };
    check(split_plan{5, k, false}.actions);
    check(wild_plan(5, k, 60, false));
    // Of references, with what is summed up in the user's own objects.
    auto& [a, b, c, d, e] = again;
    CHECK(cairn::chain_gradient(std::tie(a, b, c, d, e), x0, split_plan{5, k, false}.actions, last_seed) == expected);
    // As any stages, of which one does not say what it takes.
    std::vector<cairn::any_stage> any;
    any.emplace_back(to_pair{});
    any.emplace_back(on_pair{});
    any.push_back(cairn::any_stage::taking<pair>(cairn::stage{[](auto const& x) { return on_pair{}.forward(x); },
                                                              [](auto const& x, auto& bar) {
                                                                on_pair{}.backward(on_pair::tape{x, {}}, bar);
                                                              }}));
    any.emplace_back(to_single{});
    any.emplace_back(on_single{});
    CHECK(cairn::chain_gradient(any, x0, wild_plan(5, k, 60, false), last_seed).get<vec>() == expected);
    CHECK(cairn::chain_gradient(any, x0, wild_plan(5, k, 60, false), [](cairn::stage_view x) {
            return 3 * *x.get<single>().value;
          }).get<vec>() == expected);
  }
  for (std::uint64_t k = 0; k < 20; ++k)
    CHECK(cairn::chain_gradient(std::tuple{to_pair{}, to_single{}, to_nothing{}, to_vector{}}, x0,
                                wild_plan(4, k, 60, false), vec{1, 1}) == vec{0, 0, 0});
  CHECK(cairn::chain_gradient(std::tuple<>{}, x0, store_all(0), vec{4}) == vec{4});
  CHECK(cairn::chain_gradient(std::tuple<>{}, x0, store_all(0), [](vec const& x) { return x[1]; }) == -0.8);
}

TEST_CASE("a stage may need its state in one place and only a tape in another", "[run][chain]") {
  // State 1 is dropped while tape 1 lives, which is self-contained; state 2 is not dropped before its adjoint.
  std::tuple<self_contained, self_contained, by_value> mixed{{{3, weight(0)}}, {{2, weight(1)}}, {{4, weight(2)}}};
  std::vector<std::size_t> const lengths{2, 3, 2, 4};
  actions const good{advance(0), record(1), drop(1), record(2), turn(3),
                     reverse(2), reverse(1), record(0), reverse(0)};
  CHECK(cairn::chain_gradient(mixed, start(2), good, seed) == stored{lengths}.gradient);
  std::tuple<self_contained, by_value, self_contained> other{{{3, weight(0)}}, {{2, weight(1)}}, {{4, weight(2)}}};
  CHECK_THROWS_AS(cairn::chain_gradient(other, start(2), good, seed), cairn::invalid_schedule);
  std::vector<cairn::any_stage> any;
  any.emplace_back(std::get<0>(mixed));
  any.emplace_back(std::get<1>(mixed));
  any.emplace_back(std::get<2>(mixed));
  CHECK(cairn::chain_gradient(any, start(2), good, seed).get<vec>() == stored{lengths}.gradient);
  any[1] = std::get<1>(other);
  CHECK_THROWS_AS(cairn::chain_gradient(any, start(2), good, seed), cairn::invalid_schedule);
}

namespace {

/// Neither copied nor moved: each object is made where it stays.
struct fixed {
  double value;
  inline static int alive = 0;
  explicit fixed(double v) : value{v} { ++alive; }
  fixed(fixed const&) = delete;
  ~fixed() { --alive; }
};

}  // namespace

TEST_CASE("states and tapes that can be neither copied nor moved are chained, and none is left", "[run][chain]") {
  auto const step = cairn::stage{[](fixed const& x) { return fixed{std::sin(x.value)}; },
                                 [](fixed const& x, double bar) { return bar * std::cos(x.value); }};
  fixed const x0{2.1};
  auto const seed_of = [](fixed const& x) { return x.value; };
  double const expected = cairn::chain_gradient(std::vector(9, step), x0, store_all(9), seed_of);
  for (std::uint64_t k = 0; k < 50; ++k) {
    CHECK(cairn::chain_gradient(std::vector(9, step), x0, wild_plan(9, k, 100, false), seed_of) == expected);
    CHECK(cairn::chain_gradient(std::tuple{step, step, step, step, step, step, step, step, step}, x0,
                                wild_plan(9, k, 100, false), seed_of) == expected);
    std::vector<cairn::any_stage> any;
    for (int i = 0; i < 9; ++i) any.emplace_back(step);
    CHECK(cairn::chain_gradient(any, x0, wild_plan(9, k, 100, false), seed_of).get<double>() == expected);
    CHECK(fixed::alive == 1);
  }
}

TEST_CASE("a chain of 2000 stages that grow by index has the bits of storing everything", "[run][chain]") {
  constexpr step_index stages = 2000;
  std::vector<std::size_t> lengths;
  for (step_index i = 0; i <= stages; ++i) lengths.push_back(1 + std::size_t(i) / 100);
  stored const expected{lengths};
  std::vector<double> by_w(std::size_t(stages), 0.0);
  auto const grown =
      cairn::indexed_stages{stages, cairn::stage{[&](vec const& x, step_index i) {
                                                   return run(x, lengths[std::size_t(i) + 1], weight(std::size_t(i)));
                                                 },
                                                 [&](vec const& x, vec const& bar, step_index i) {
                                                   return pull(x, bar, weight(std::size_t(i)), by_w[std::size_t(i)]);
                                                 }}};
  for (std::uint64_t k = 0; k < 5; ++k) {
    by_w.assign(by_w.size(), 0);
    CHECK(cairn::chain_gradient(grown, start(1), split_plan{stages, k, false}.actions, seed) == expected.gradient);
    CHECK(by_w == expected.by_w);
  }
}

namespace {

/// Copies of states on any tier, of one type or of several.
struct shelf {
  std::map<std::pair<cairn::tier, step_index>, vec> kept = {};
  int most = 0, loads = 0;
  void save(cairn::tier where, step_index i, vec const& x) {
    kept.emplace(std::pair{where, i}, x);
    most = std::max(most, int(kept.size()));
  }
  void save(cairn::tier where, step_index i, pair const& x) { save(where, i, vec{x.a, x.b}); }
  void save(cairn::tier where, step_index i, cairn::stage_view x) { save(where, i, x.get<vec>()); }
  template <class State>
  State load(cairn::tier where, step_index i) {
    ++loads;
    vec const& x = kept.at({where, i});
    if constexpr (std::is_same_v<State, pair>) return {x[0], x[1]};
    else if constexpr (std::is_same_v<State, cairn::stage_value>) return cairn::stage_value{x};
    else return x;
  }
  void drop(cairn::tier where, step_index i) {
    if (kept.erase({where, i}) == 1) return;
    ++not_held;
    throw std::logic_error{"dropped twice"};
  }
  int not_held = 0;
};
struct plain_shelf {
  shelf inside = {};
  void save(cairn::tier where, step_index i, vec const& x) { inside.save(where, i, x); }
  vec load(cairn::tier where, step_index i) { return inside.load<vec>(where, i); }
  void drop(cairn::tier where, step_index i) { inside.drop(where, i); }
};

}  // namespace

TEST_CASE("states go to other tiers and come back with their bits, and none is left there", "[run][chain]") {
  std::mt19937_64 numbers{3};
  int loads = 0;
  for (std::uint64_t k = 0; k < 60; ++k) {
    auto const lengths = random_lengths(7, 5, numbers);
    stored const expected{lengths};
    auto const plan = wild_plan(7, k, 300, false, true);
    auto all = net<by_value>(lengths);
    plain_shelf plain;
    CHECK(cairn::chain_gradient(all, start(lengths[0]), plan, seed, plain) == expected.gradient);
    CHECK(derivatives(all) == expected.by_w);
    loads += plain.inside.loads;
    shelf any;
    std::vector<cairn::any_stage> erased;
    for (auto const& stage : net<taped>(lengths)) erased.emplace_back(stage);
    CHECK(cairn::chain_gradient(erased, start(lengths[0]), plan, seed, any).get<vec>() == expected.gradient);
    CHECK(plain.inside.kept.empty());
    CHECK(any.kept.empty());
    CHECK(plain.inside.not_held + any.not_held == 0);
  }
  CHECK(loads > 100);
  for (std::uint64_t k = 0; k < 60; ++k) {
    shelf several;
    std::tuple const all{to_pair{}, on_pair{}, on_pair{}};
    auto const seed_of = [](pair const& x) { return x; };
    auto once = all, again = all;
    CHECK(cairn::chain_gradient(again, start(3), wild_plan(3, k, 60, false, true), seed_of, several) ==
          cairn::chain_gradient(once, start(3), store_all(3), seed_of));
    CHECK(several.kept.empty());
  }
}

TEST_CASE("however many stages a chain has, its store is asked at the end to drop what it holds, and no more",
          "[run][chain]") {
  for (step_index stages = 1; stages <= 40; ++stages) {
    CAPTURE(stages);
    std::vector<std::size_t> const lengths(std::size_t(stages) + 1, 1);
    auto plan = store_all(stages);
    plan.insert(plan.begin() + stages, save(stages, cairn::tier::host));
    plan.insert(plan.begin(), save(0, cairn::tier::disk));
    auto all = net<by_value>(lengths);
    plain_shelf store;
    CHECK(cairn::chain_gradient(all, start(1), plan, seed, store) == stored{lengths}.gradient);
    CHECK(store.inside.most == 2);
    CHECK(store.inside.kept.empty());
    CHECK(store.inside.not_held == 0);
  }
}

TEST_CASE("a plan that cannot be obeyed is refused before any stage runs", "[run][chain]") {
  int calls = 0;
  cairn::stage const counting{[&](double x) { return ++calls, x; }, [&](double, double bar) { return ++calls, bar; }};
  std::vector const stages(2, counting);
  auto const refused = [&](actions const& plan) -> std::string {
    try {
      (void)cairn::chain_gradient(stages, 1.0, plan, 1.0);
    } catch (cairn::invalid_schedule const& e) {
      return e.what();
    } catch (cairn::invalid_plan const& e) {
      return e.what();
    }
    return "";
  };
  using Catch::Matchers::ContainsSubstring;
  CHECK_THAT(refused({advance(1)}),
             ContainsSubstring("cairn::chain_gradient: a stage is run on a state that is not at hand (action = 0, "
                               "stage = 1)"));
  CHECK_THAT(refused({advance(2)}), ContainsSubstring("a stage that is not there"));
  CHECK_THAT(refused({record(-1)}), ContainsSubstring("a stage that is not there"));
  CHECK_THAT(refused({reverse(-1)}), ContainsSubstring("a stage that is not there"));
  CHECK_THAT(refused({reverse(7)}), ContainsSubstring("a stage that is not there"));
  CHECK_THAT(refused({turn(1)}), ContainsSubstring("the loss is not the last stage"));
  CHECK_THAT(refused({turn(2)}), ContainsSubstring("without its state"));
  CHECK_THAT(refused({record(1)}), ContainsSubstring("is recorded on a state"));
  CHECK_THAT(refused({record(0), record(0)}), ContainsSubstring("whose tape is kept"));
  CHECK_THAT(refused({drop(0)}), ContainsSubstring("state 0"));
  CHECK_THAT(refused({drop(1)}), ContainsSubstring("not kept"));
  CHECK_THAT(refused({drop_tape(1)}), ContainsSubstring("a tape is dropped"));
  CHECK_THAT(refused({record(0), reverse(0)}), ContainsSubstring("out of order"));
  CHECK_THAT(refused({record(0), record(1), turn(2), turn(2)}), ContainsSubstring("run twice"));
  CHECK_THAT(refused({record(0), advance(1), turn(2), reverse(1)}), ContainsSubstring("without its tape"));
  CHECK_THAT(refused({advance(0), record(1), drop(1), turn(2), reverse(1)}), ContainsSubstring("without its state"));
  CHECK_THAT(refused({load(0, cairn::tier::disk)}), ContainsSubstring("not kept on that tier"));
  CHECK_THAT(refused({save(0, cairn::tier::memory)}), ContainsSubstring("a tier that is not there"));
  CHECK_THAT(refused({save(0, cairn::tier(200))}), ContainsSubstring("a tier that is not there"));
  CHECK_THAT(refused({save(0, cairn::tier::disk)}),
             ContainsSubstring("there is no store for them (action = 0, state = 0, tier = 3)"));
  CHECK_THAT(refused({record(0), record(1), turn(2)}), ContainsSubstring("the plan ends before"));
  // Actions of a loop that no chain has: of two steps at once, in another place, from a state alone, and the end.
  using cairn::action_kind;
  auto const in_other_slot = [](action a) { return ++a.slot, a; };
  action const of_two{action_kind::advance, {}, {}, cairn::no_slot, 0, 2},
      from_state{action_kind::reverse, {}, {}, cairn::no_slot, 0, 1};
  for (action const& a :
       {of_two, from_state, in_other_slot(record(0)), in_other_slot(drop(1)), in_other_slot(turn(0)), action{}})
    CHECK_THAT(refused({a}), ContainsSubstring("an action is not one that a chain has"));
  CHECK_THAT(refused({}), ContainsSubstring("the plan ends before"));
  CHECK_THAT(refused(store_all(1)), ContainsSubstring("the loss is not the last stage"));
  CHECK_THAT(refused(store_all(3)), ContainsSubstring("a stage that is not there"));
  CHECK(calls == 0);
  CHECK(refused(store_all(2)) == "");
  CHECK(calls == 4);
  auto const by_number =
      cairn::stage{[](double x, step_index) { return x; }, [](double, double bar, step_index) { return bar; }};
  CHECK_THROWS_AS(cairn::chain_gradient(cairn::indexed_stages{-1, by_number}, 1.0, actions{}, 1.0),
                  cairn::invalid_plan);
}

TEST_CASE("the rules of a walk are those of the judge of plans, to the action and the word", "[run][chain]") {
  std::mt19937_64 numbers{5};
  int refusals = 0;
  for (int k = 0; k < 20'000; ++k) {
    step_index const stages = step_index(numbers() % 4);
    bool const alone = numbers() % 2 == 0;
    std::vector<std::int64_t> const ones(std::size_t(stages), 1);
    cairn::chain const c{
        .x = std::vector<std::int64_t>(ones.size() + 1, 1), .s = ones, .u = ones, .self_contained_tape = alone};
    cairn::chain_tier const disk{.where = cairn::tier::disk};
    actions plan = wild_plan(stages, numbers(), 25, alone, false);
    if (numbers() % 4 == 0) plan.push_back(save(0, cairn::tier::disk));
    for (int spoilt = int(numbers() % 3); spoilt > 0; --spoilt) {
      action& a = plan[numbers() % plan.size()];
      std::size_t const kind = numbers() % 8;
      auto const where = cairn::tier(numbers() % 4);
      a = all_actions[kind](step_index(numbers() % 6) - 1, where);
    }
    cairn::detail::named_tiers far;
    far.add(cairn::tier::disk);
    std::string by_walk, by_replay;
    try {
      cairn::detail::chain_walk walk{stages, far, "cairn::replay"};
      for (auto const& a : plan) {
        walk.check(a);
        if (!alone) walk.check_state(a);
        walk.apply(a);
      }
      walk.finish();
    } catch (cairn::invalid_schedule const& e) {
      by_walk = e.what();
      ++refusals;
    }
    try {
      (void)cairn::replay(c, plan, {&disk, 1});
    } catch (cairn::invalid_schedule const& e) {
      by_replay = e.what();
    }
    REQUIRE(by_walk == by_replay);
  }
  CHECK(refusals > 2000);
}

TEST_CASE("any stages that do not fit one another are refused before any of them runs", "[run][chain]") {
  int calls = 0;
  auto const counted = [&](auto stage) {
    return cairn::stage{
        [&calls, stage](auto const& x) { return ++calls, stage.forward(x); },
        [&calls, stage](auto const& x, auto const& bar) mutable { return ++calls, stage.backward(x, bar); }};
  };
  auto const pairwise = [&] { return cairn::any_stage::taking<vec, pair>(counted(to_pair{})); };
  auto const numbers = [&] { return cairn::any_stage::taking<pair, double>(counted(to_single{})); };
  auto const said = [&](auto& net, auto const& x0, auto&& what) -> std::string {
    try {
      (void)cairn::chain_gradient(net, x0, store_all(step_index(net.size())), what);
    } catch (cairn::invalid_plan const& e) {
      return e.what();
    }
    return "";
  };
  using Catch::Matchers::ContainsSubstring;
  std::vector<cairn::any_stage> net;
  net.push_back(pairwise());
  net.push_back(numbers());
  CHECK(said(net, vec{1, 2}, 1.0) == "");
  CHECK(calls == 4);
  CHECK_THAT(said(net, std::array<double, 2>{}, 1.0), ContainsSubstring("a different type of state") &&
             ContainsSubstring("stage = 0"));
  CHECK_THAT(said(net, vec{1, 2}, 1.0f), ContainsSubstring("a different type of adjoint") &&
             ContainsSubstring("stage = 1"));
  net.push_back(pairwise());
  CHECK_THAT(said(net, vec{1, 2}, pair{}), ContainsSubstring("a different type of state") &&
             ContainsSubstring("stage = 2"));
  net.pop_back();
  net[0] = cairn::any_stage::taking<vec, double>(
      cairn::stage{[](vec const&) { return pair{}; }, [](vec const& x, double) { return x; }});
  CHECK_THAT(said(net, vec{1, 2}, 1.0),
             ContainsSubstring("a different type of adjoint") && ContainsSubstring("stage = 0"));
  CHECK(calls == 4);
  // What the types do not show is reported when it is there.
  net[0] = pairwise();
  CHECK_THROWS_AS(
      cairn::chain_gradient(net, vec{1, 2}, store_all(2), [](cairn::stage_view) { return cairn::stage_value{1.0f}; }),
      cairn::invalid_call);
  CHECK(cairn::chain_gradient(net, vec{1, 2}, store_all(2), cairn::stage_value{1.0}).holds<vec>());
  CHECK_THROWS_AS(cairn::chain_gradient(net, vec{1, 2}, store_all(2), [](pair const&) { return 1.0; }),
                  cairn::invalid_call);
  CHECK_THROWS_AS(net[0].get<to_pair>(), cairn::invalid_call);
  std::vector<cairn::any_stage> none;
  CHECK(cairn::chain_gradient(none, 2.0, store_all(0), [](double x) { return x; }).get<double>() == 2.0);
}

namespace {

using support::asked_state;
struct asking_stage {
  [[nodiscard]] asked_state forward(asked_state const& x) const { return {0.5 * x.v}; }
  void backward(asked_state const&, double& bar) const { bar *= 0.5; }
};

}  // namespace

TEST_CASE("an observer of a chain asks a few states for their bytes after an action, however many are held",
          "[run][chain]") {
  for (std::size_t const count : {20u, 400u}) {
    std::vector<asking_stage> all(count);
    long actions = 0;
    std::size_t most = 0;
    asked_state::asked = 0;
    auto const watch = [&](cairn::event const& e) {
      ++actions;
      most = std::max(most, e.bytes_held());
    };
    (void)cairn::chain_gradient(all, asked_state{1}, store_all(step_index(count)), 1.0, watch);
    CHECK(most > count * sizeof(asked_state));
    CHECK(asked_state::asked <= 4 * actions);
  }
}

TEST_CASE("an observer sees every action with its phase, the bytes held and the state", "[run][chain]") {
  std::vector<std::size_t> const lengths{2, 3, 4, 1};
  auto all = net<taped>(lengths);
  actions const plan{advance(0), advance(1), drop(1), record(2), turn(3), reverse(2), advance(0), drop_tape(2)};
  actions const whole{advance(0), advance(1), drop(1), record(2), turn(3), reverse(2),
                      drop(2), record(0), record(1), reverse(1), reverse(0)};
  struct seen {
    cairn::action what;
    cairn::phase where;
    std::size_t before, after;
    vec live;
  };
  struct look {
    std::vector<seen> all = {};
    static std::int64_t clock_now() { return 42; }
    void operator()(cairn::event const& e) {
      CHECK(e.now() == 42);
      if (e.moment() == cairn::moment::before) all.push_back({e.what(), e.phase(), e.bytes_held(), 0, {}});
      else {
        CHECK(all.back().what == e.what());
        all.back().after = e.bytes_held();
        (void)e.each_buffer([&](void const* bytes, std::size_t size) {
          all.back().live.resize(size / sizeof(double));
          std::memcpy(all.back().live.data(), bytes, size);
        });
      }
    }
  } watching;
  (void)cairn::chain_gradient(all, start(2), whole, seed, watching);
  using cairn::action_kind;
  using cairn::phase;
  auto const& e = watching.all;
  REQUIRE(e.size() == whole.size() + 1);  // and done
  auto const bytes = [](std::size_t length) { return sizeof(vec) + 8 * length; };
  auto const tape_bytes = [](std::size_t length) { return 2 * sizeof(vec) + 8 * length + 8 * (length / 2); };
  CHECK(e[0].what == cairn::action{action_kind::advance, {}, {}, cairn::no_slot, 0, 1});
  CHECK(e[0].before == 0);
  CHECK(e[0].after == bytes(3));
  CHECK(e[0].live == run(start(2), 3, weight(0)));
  CHECK(e[1].after == bytes(3) + bytes(4));
  CHECK(e[2].what == cairn::action{action_kind::drop, {}, cairn::content::state, 1, 1, 0});
  CHECK(e[3].what == cairn::action{action_kind::record, {}, cairn::content::tape, 2, 2, 3});
  CHECK(e[3].after == bytes(4) + tape_bytes(1));
  CHECK(e[3].live == run(e[1].live, 1, weight(2)));
  CHECK(e[4].what == cairn::action{action_kind::turn, {}, {}, cairn::no_slot, 3, 3});
  CHECK(e[4].where == phase::forward);
  CHECK(e[4].after == bytes(4) + tape_bytes(1) + bytes(1));
  CHECK(e[5].what == cairn::action{action_kind::reverse, {}, cairn::content::tape, 2, 2, 3});
  CHECK(e[5].where == phase::reverse);
  CHECK(e[5].after == bytes(4) + bytes(4));
  CHECK(e[7].where == phase::recompute);
  CHECK(e[7].live == e[0].live);
  CHECK(e[10].after == bytes(2));
  CHECK(e[11].what == cairn::action{});
  CHECK(e[11].before == bytes(2));
  CHECK_THROWS_AS(cairn::chain_gradient(all, start(2), plan, seed, watching), cairn::invalid_schedule);
  // The same through a tuple, and through any stages, each of whose values takes a few bytes more.
  std::tuple<taped, taped, taped> three{all[0], all[1], all[2]};
  look again;
  (void)cairn::chain_gradient(three, start(2), whole, seed, again);
  std::vector<cairn::any_stage> any;
  for (auto const& stage : all) any.emplace_back(stage);
  look erased;
  (void)cairn::chain_gradient(any, start(2), whole, seed, erased);
  REQUIRE(again.all.size() == e.size());
  REQUIRE(erased.all.size() == e.size());
  for (std::size_t k = 0; k < e.size(); ++k) {
    CHECK(again.all[k].what == e[k].what);
    CHECK(erased.all[k].what == e[k].what);
    CHECK(again.all[k].after == e[k].after);
    CHECK(again.all[k].live == e[k].live);
    CHECK(erased.all[k].live == e[k].live);
  }
}

TEST_CASE("an observer sees a state on another tier only while it is here", "[run][chain]") {
  auto const disk = cairn::tier::disk;
  actions const plan{advance(0), save(1, disk), advance(1), drop(1), record(2), turn(3), reverse(2), drop(2),
                     load(1, disk), drop(1, disk), record(1), record(0), reverse(1), reverse(0)};
  auto const check = [&](auto stages, auto const& x0, auto const& seed_of) {
    std::vector<bool> seen;
    shelf kept;
    (void)cairn::chain_gradient(stages, x0, plan, seed_of, kept, [&](cairn::event const& e) {
      bool const here = e.each_buffer([](void const*, std::size_t) {});
      if (e.what().kind == cairn::action_kind::load || e.what().from == 0) seen.push_back(here);
    });
    CHECK(seen == std::vector<bool>{true, true, false, true, true, true, true, true, true, true});
  };
  check(net<by_value>({2, 3, 4, 1}), start(2), seed);
  std::vector<cairn::any_stage> any;
  for (auto const& stage : net<by_value>({2, 3, 4, 1})) any.emplace_back(stage);
  check(std::move(any), start(2), seed);
  check(std::tuple{to_pair{}, on_pair{}, on_pair{}}, start(3), [](pair const& x) { return x; });
}

TEST_CASE("a plan is anything with a list of actions", "[run][chain]") {
  struct planned {
    std::vector<action> actions;
    int other = 0;
  };
  std::array<action, 3> const list{{record(0), turn(1), reverse(0)}};
  auto const chain = std::tuple{on_single{}};
  single const x0{std::make_unique<double>(3)};
  CHECK(cairn::chain_gradient(chain, x0, planned{{list.begin(), list.end()}}, 1.0) == 6);
  CHECK(cairn::chain_gradient(chain, x0, list, 1.0) == 6);
  CHECK(cairn::chain_gradient(chain, x0, std::span{list}, 1.0, cairn::no_observer{}) == 6);
}

namespace {

/// One tick per reading: nothing that is measured takes longer than the reading itself.
struct ticking_clock {
  using duration = std::chrono::nanoseconds;
  static std::chrono::time_point<ticking_clock, duration> now() {
    return std::chrono::time_point<ticking_clock, duration>{duration{ticks += 10}};
  }
  using rep = duration::rep;
  using period = duration::period;
  using time_point = std::chrono::time_point<ticking_clock, duration>;
  inline static long long ticks = 0;
};
/// Goes on where a stage says so.
struct slow_clock {
  using duration = std::chrono::microseconds;
  using rep = duration::rep;
  using period = duration::period;
  using time_point = std::chrono::time_point<slow_clock, duration>;
  static time_point now() { return time_point{duration{at}}; }
  inline static long long at = 0;
};

}  // namespace

TEST_CASE("a probe measures the sizes of a chain exactly, and what planners need of it", "[run][chain][probe]") {
  std::vector<std::size_t> const lengths{2, 3, 4, 1, 0, 6};
  auto const bytes = [](std::size_t length) { return std::int64_t(sizeof(vec) + 8 * length); };
  std::vector<std::int64_t> x;
  for (auto const length : lengths) x.push_back(bytes(length));
  auto with = net<taped>(lengths);
  auto const c = cairn::chain_probe<ticking_clock>(with, start(2), seed);
  CHECK(c.x == x);
  CHECK(c.g == x);
  CHECK(c.s == std::vector<std::int64_t>{bytes(3) + bytes(1), bytes(4) + bytes(2), bytes(1) + bytes(0),
                                         bytes(0) + bytes(0), bytes(6) + bytes(3)});
  CHECK(c.f == std::vector<std::int64_t>(5));
  CHECK(c.b == x);  // the new adjoint, or that of the loss
  CHECK(!c.self_contained_tape);
  CHECK(c.u == std::vector<std::int64_t>(5));
  CHECK(cairn::replay(c, store_all(5)).stage_runs == 5);
  auto alone = net<self_contained>(lengths);
  CHECK(cairn::chain_probe<std::chrono::steady_clock>(alone, start(2), vec(6, 1.0), 1).self_contained_tape);
  auto changed = net<in_place>(lengths);
  CHECK(cairn::chain_probe<std::chrono::steady_clock>(changed, start(2), seed).b ==
        std::vector<std::int64_t>{0, 0, 24, 8, 0, bytes(6)});
  // What a stage takes for itself.
  struct busy : by_value {
    [[nodiscard]] std::int64_t work_bytes() const { return 100; }
  };
  auto working = net<busy>(lengths);
  auto const w = cairn::chain_probe<std::chrono::steady_clock>(working, start(2), seed);
  CHECK(w.f == std::vector<std::int64_t>(5, 100));
  CHECK(w.b[1] == bytes(3) + 100);
  CHECK(w.b[5] == bytes(6));
  std::vector<cairn::any_stage> any;
  for (auto const& stage : working) any.emplace_back(stage);
  auto const erased = cairn::chain_probe<std::chrono::steady_clock>(any, start(2), seed);
  CHECK(erased.f == w.f);
  CHECK(erased.x[1] ==
        std::int64_t(sizeof(cairn::stage_value) + sizeof(void*)) + w.x[1]);  // in a box with a table of functions
  struct by_number {
    vec forward(vec const& x, step_index i) const { return vec(x.size() + 1, double(i)); }
    vec backward(vec const& x, vec const&, step_index) const { return x; }
    std::int64_t work_bytes(step_index i) const { return 7 * i; }
  };
  auto const n = cairn::chain_probe<std::chrono::steady_clock>(cairn::indexed_stages{4, by_number{}}, vec{}, seed);
  CHECK(n.f == std::vector<std::int64_t>{0, 7, 14, 21});
  CHECK(n.x[4] == bytes(4));
  CHECK(cairn::chain_probe<std::chrono::steady_clock>(std::tuple<>{}, vec{1}, seed).x ==
        std::vector<std::int64_t>{bytes(1)});
  std::tuple const several{to_pair{}, on_pair{}, to_single{}, to_nothing{}, to_vector{}};
  auto again = several;
  auto const t = cairn::chain_probe<std::chrono::steady_clock>(std::tie(std::get<0>(again), std::get<1>(again)),
                                                               start(3), [](pair const& p) { return p; });
  CHECK(t.x == std::vector<std::int64_t>{bytes(3), sizeof(pair), sizeof(pair)});
  CHECK(t.s == std::vector<std::int64_t>{sizeof(pair), 2 * sizeof(pair)});
  CHECK(t.b == std::vector<std::int64_t>{bytes(3), 0, sizeof(pair)});
  CHECK_THROWS_AS(cairn::chain_probe<std::chrono::steady_clock>(with, start(2), seed, 0), cairn::invalid_plan);
}

namespace {

/// Counts instructions that stages add themselves, moves by 1000 of them at once, and takes some to be read.
template <long Tick, long Reading>
struct coarse_clock {
  using duration = std::chrono::duration<long, std::nano>;
  static duration now() {
    instructions += Reading;
    return duration{instructions / Tick * Tick};
  }
  inline static long instructions = 0;
};

/// Of so many instructions each. A state counts the stages before it, so that a call on any other one is noticed.
template <class Clock>
struct short_stage {
  struct tape {
    long at;
    vec kept;
  };
  long place = 0, run = 0, recorded = 0, back = 0;
  long* wrong = nullptr;
  vec forward(vec const& x) const { return Clock::instructions += run, see(x), vec{x[0] + 1}; }
  tape record(vec const& x) const { return Clock::instructions += recorded, see(x), tape{place, vec{x[0] + 1}}; }
  vec const& output(tape const& kept) const { return kept.kept; }
  vec backward(tape& kept, vec const& bar) const {
    Clock::instructions += back;
    *wrong += kept.at != place || long(bar[0]) != place + 1;
    kept.at = -1;
    return vec{bar[0] - 1};
  }
  void see(vec const& x) const { *wrong += long(x[0]) != place; }
};

template <class Clock>
void check_short_stages(double share) {
  long wrong = 0;
  std::vector<short_stage<Clock>> const stages{
      {0, 3, 8, 11, &wrong}, {1, 5, 5, 2, &wrong}, {2, 30, 40, 50, &wrong}, {3, 7, 9, 4, &wrong}};
  auto const c =
      cairn::chain_probe<Clock>(stages, vec{0.0}, [](vec const& x) { return Clock::instructions += 6, vec{x[0]}; });
  CHECK(wrong == 0);
  double mean = 6.0 / 13;
  for (auto const& one : stages) mean += double(one.run + one.recorded + one.back) / 13;
  for (std::size_t i = 0; i < stages.size(); ++i) {
    auto const& one = stages[i];
    CHECK(std::abs(double(c.u[i] - one.run)) <= share * mean + 0.5);  // in whole nanoseconds
    CHECK(std::abs(double(c.v[i] - (one.back + one.recorded - one.run))) <= 3 * share * mean + 0.5);
  }
  CHECK(std::abs(double(c.v[4] - 6)) <= share * mean + 0.5);
}

}  // namespace

TEST_CASE(
    "stages far shorter than the clock's resolution have the right ratio, each called on a state and a tape of its own",
    "[run][chain][probe][long]") {
  check_short_stages<coarse_clock<1000, 0>>(1.0 / 64);
  check_short_stages<coarse_clock<1, 40>>(0);
  check_short_stages<coarse_clock<1000, 40>>(1.0 / 64);
}

TEST_CASE("a probe charges recording to the backward pass, and a stage for its time", "[run][chain][probe]") {
  struct timed {
    double forward(double x) const { return slow_clock::at += 5, x; }
    std::pair<double, double> record(double x) const { return slow_clock::at += 7, std::pair{x, x}; }
    double const& output(std::pair<double, double> const& kept) const { return kept.first; }
    double backward(std::pair<double, double> const&, double bar) const { return slow_clock::at += 11, bar; }
  };
  auto const c =
      cairn::chain_probe<slow_clock>(std::vector<timed>(3), 1.0, [](double x) { return slow_clock::at += 2, x; });
  CHECK(c.u == std::vector<std::int64_t>(3, 5000));
  CHECK(c.v == std::vector<std::int64_t>{13'000, 13'000, 13'000, 2000});
}
