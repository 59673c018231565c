// SPDX-License-Identifier: Apache-2.0
// A run that is kept: final state, checkpoints, states by number, walking backwards, repeated reverse sweeps and what
// they cost.
#include <algorithm>
#include <utility>
#include <vector>
#include <cairn/cairn.hpp>
#include <cairn/plan/loop/savings.hpp>
#include "support/catch.hpp"
#include "support/pendulum.hpp"
#include "support/stops.hpp"
#include "support/toy_stores.hpp"

using cairn::step_index;
namespace {

template <class Step>
void check_run(cairn::any_schedule const& plan) {
  pendulum::stored const all{plan.steps()};
  step_index const n = plan.steps();
  int const outside = pendulum::state::alive;
  {
    pendulum::step_calls = 0;
    auto run = cairn::checkpointed_loop(Step{}, pendulum::start(), plan);
    CAPTURE(n, plan.slots(), plan.leaf());
    CHECK(run.final_state().v == all.states.back());
    CHECK(run.reverse(pendulum::seed, pendulum::leaf{}) == all.gradient);
    CHECK(cairn::wide(pendulum::step_calls) == cairn::verify(plan).advances + cairn::verify(plan).turned);
    CHECK(run.step_calls() == cairn::wide(pendulum::step_calls));
    auto twice = run.final_state().v;
    for (double& value : twice) value *= 2;
    auto const second = run.reverse(twice, pendulum::leaf{});
    CHECK(run.step_calls() == cairn::wide(pendulum::step_calls));  // those of states that were given up, too
    for (std::size_t k = 0; k < 2; ++k) CHECK(second[k] == 2 * all.gradient[k]);
    if (plan.leaf() == 1) {
      CHECK(run.reverse(pendulum::seed, pendulum::with_next{}) == all.gradient);
      CHECK(run.reverse(pendulum::seed, pendulum::recorded()) == all.gradient);
      step_index expected = n;
      for (auto [i, x] : run.backward()) {
        CHECK(i == expected--);
        CHECK(x.v == all.states[std::size_t(i)]);
        if (i % 7 == 0) CHECK(run.at(i / 2).v == all.states[std::size_t(i / 2)]);
      }
      CHECK(expected == -1);
    }
    for (step_index i = 0; i <= n; i += 3) CHECK(run.at(i).v == all.states[std::size_t(i)]);
    CHECK(run.step_calls() == cairn::wide(pendulum::step_calls));
    auto moved = std::move(run);
    CHECK(moved.reverse(pendulum::seed, pendulum::leaf{}) == all.gradient);
  }
  CHECK(pendulum::state::alive == outside);
}

/// Steps that a second reverse runs beyond what its plan says.
long extra_steps_of_second_reverse(cairn::any_schedule const& plan) {
  auto run = cairn::checkpointed_loop(pendulum::in_place{}, pendulum::start(), plan);
  pendulum::step_calls = 0;
  (void)run.reverse(pendulum::seed, pendulum::one_step{});
  long const first = pendulum::step_calls;
  pendulum::step_calls = 0;
  (void)run.reverse(pendulum::seed, pendulum::one_step{});
  return pendulum::step_calls - first;
}

}  // namespace

TEST_CASE("a run gives final state, gradients and any state, once and again, for every plan") {
  for (step_index const n : {0, 1, 2, 3, 7, 40}) {
    for (cairn::any_schedule const& plan :
         {cairn::any_schedule{cairn::store_all(n)}, cairn::any_schedule{cairn::uniform{n}},
          cairn::any_schedule{cairn::uniform{n, {.block = 3}}}, cairn::any_schedule{cairn::revolve{n, 1}},
          cairn::any_schedule{cairn::revolve{n, 4}}, cairn::any_schedule{cairn::revolve{n, 3, {.free_initial = true}}},
          cairn::any_schedule{cairn::leaves{n, 3, cairn::revolve{(n + 2) / 3, 2}}}}) {
      check_run<pendulum::in_place>(plan);
      check_run<pendulum::by_value>(plan);
      check_run<pendulum::out_of_place>(plan);
    }
  }
}

TEST_CASE("a second reverse costs the steps whose states were given up, and no more") {
  CHECK(extra_steps_of_second_reverse(cairn::store_all(1000)) == 0);
  CHECK(extra_steps_of_second_reverse(cairn::uniform{1000, {.block = 10}}) <= 9);
  CHECK(extra_steps_of_second_reverse(cairn::uniform{1000}) <= 42);
  CHECK(extra_steps_of_second_reverse(cairn::revolve{1000, 10}) <= 999);
}

TEST_CASE("the seed document's shape works: a final state and checkpoints by position") {
  auto const step = [](std::vector<double> const& x) {
    auto x1 = x;
    for (double& value : x1) value = std::tanh(value * 1.1 + 0.1);
    return x1;
  };
  auto [final_state, checkpoints] = cairn::checkpointed_loop(step, std::vector<double>(8), 1000);
  CHECK(checkpoints.size() == 31);
  std::vector<double> x(8);
  std::size_t found = 0;
  for (int i = 0; i < 1000; ++i) {
    if (checkpoints.contains(i)) {
      CHECK(checkpoints.at(i) == x);
      ++found;
    }
    x = step(x);
  }
  CHECK(found == 31);
  CHECK(final_state == x);
  CHECK_FALSE(checkpoints.contains(0));
  CHECK_THROWS_AS(checkpoints.at(5), cairn::invalid_call);
  step_index last = 0;
  auto const expected = cairn::compute_checkpoint_positions(1000, 31);
  std::size_t k = 0;
  for (auto [position, state] : checkpoints) {
    CHECK(position > last);
    CHECK(position == expected[k++]);
    CHECK(state.size() == 8);
    last = position;
  }
}

TEST_CASE("every kind of plan says what its checkpoints are") {
  auto const count = [](auto const& plan) {
    return cairn::checkpointed_loop(pendulum::in_place{}, pendulum::start(), plan).checkpoints().size();
  };
  CHECK(count(cairn::uniform{100, {.block = 10}}) == 9);
  CHECK(count(cairn::uniform{100, {.checkpoints = 4}}) == 4);
  CHECK(count(cairn::revolve{100, 5}) == 4);
  CHECK(count(cairn::any_schedule{cairn::uniform{100, {.checkpoints = 4}}}) == 4);
}

TEST_CASE("at and backward say what they cannot do") {
  auto run =
      cairn::checkpointed_loop(pendulum::in_place{}, pendulum::start(), cairn::leaves{8, 2, cairn::revolve{4, 2}});
  CHECK_THROWS_AS(run.at(-1), cairn::invalid_call);
  CHECK_THROWS_AS(run.at(9), cairn::invalid_call);
  CHECK_THROWS_AS(run.backward(), cairn::invalid_plan);
  CHECK_THROWS_AS(run.reverse(pendulum::seed, pendulum::one_step{}), cairn::invalid_plan);
}

TEST_CASE("a walk backwards may be left early and started again") {
  auto run = cairn::checkpointed_loop(pendulum::in_place{}, pendulum::start(), cairn::revolve{50, 3});
  pendulum::stored const all{50};
  for (auto [i, x] : run.backward())
    if (i < 20) break;
  CHECK(run.reverse(pendulum::seed, pendulum::one_step{}) == all.gradient);
  step_index seen = 0;
  for (auto [i, x] : run.backward()) seen += x.v == all.states[std::size_t(i)];
  CHECK(seen == 51);
}

TEST_CASE("a workspace serves sweeps of one type of plan one after another, of any size") {
  auto work = cairn::workspace_for<pendulum::state>(cairn::revolve{1, 1});
  for (step_index const n : {40, 3, 97, 0, 97, 1}) {
    CHECK(cairn::gradient(pendulum::out_of_place{}, pendulum::start(), cairn::revolve{n, 1 + n / 7}, pendulum::seed,
                          pendulum::one_step{}, work) == pendulum::stored{n}.gradient);
    auto run = cairn::checkpointed_loop(pendulum::in_place{}, pendulum::start(), cairn::revolve{n, 2}, work);
    CHECK(run.reverse(pendulum::seed, pendulum::with_next{}) == pendulum::stored{n}.gradient);
  }
}

TEST_CASE("runs over any schedule are assigned, swapped and erased from vectors, and none loses its states") {
  auto const run_with = [](double factor) {  // a step that captures cannot be assigned itself
    auto step = [factor](pendulum::state& x, step_index i) {
      pendulum::swing(x.v, x.v, i);
      x.v[0] *= factor;
    };
    auto adjoint = [factor](pendulum::state const& x, pendulum::numbers& bar, step_index) {
      bar[0] *= factor;
      pendulum::swing_back(x.v, bar);
    };
    cairn::any_schedule const plan = factor < 1 ? cairn::any_schedule{cairn::revolve{30, 3}} : cairn::uniform{30};
    return std::pair{cairn::checkpointed_loop(step, pendulum::start(), plan), adjoint};
  };
  auto const gradient_of = [](auto& one) { return one.first.reverse(pendulum::seed, one.second); };
  std::vector<pendulum::numbers> expected;
  std::vector<decltype(run_with(1).first)> runs;
  std::vector<decltype(run_with(1).second)> adjoints;
  for (double const factor : {0.9, 1.0, 1.1, 0.8}) {
    auto one = run_with(factor);
    expected.push_back(gradient_of(one));
    runs.push_back(std::move(one.first));
    adjoints.push_back(one.second);
  }
  int const alive = pendulum::state::alive;
  std::swap(runs[0], runs[3]);
  CHECK(pendulum::state::alive == alive);
  CHECK(runs[0].reverse(pendulum::seed, adjoints[3]) == expected[3]);
  CHECK(runs[3].reverse(pendulum::seed, adjoints[0]) == expected[0]);
  runs.erase(runs.begin());
  CHECK(pendulum::state::alive < alive);
  CHECK(runs.size() == 3);
  CHECK(runs[0].reverse(pendulum::seed, adjoints[1]) == expected[1]);
  CHECK(runs[1].final_state().v.size() == 2);
  CHECK(runs[1].reverse(pendulum::seed, adjoints[2]) == expected[2]);
  CHECK(runs[2].reverse(pendulum::seed, adjoints[0]) == expected[0]);
  CHECK_THROWS_AS((runs[0] = std::move(runs[1]), runs[1].reverse(pendulum::seed, adjoints[1])), cairn::invalid_call);
  CHECK(runs[0].reverse(pendulum::seed, adjoints[2]) == expected[2]);
}

TEST_CASE("a run that takes over another one is as far as that one was, and walks over either end") {
  auto const start = [] {
    return cairn::checkpointed_loop(pendulum::in_place{}, pendulum::start(), cairn::any_schedule{cairn::uniform{9}});
  };
  auto const expected = pendulum::stored{9}.gradient;
  auto const reverse = [](auto& run) { return run.reverse(pendulum::seed, pendulum::one_step{}); };
  auto run = start(), other = start();
  auto walk = run.backward().begin(), other_walk = other.backward().begin();
  run = std::move(other);
  CHECK_THROWS_AS(++walk, cairn::invalid_call);
  other = start();
  CHECK_THROWS_AS(++other_walk, cairn::invalid_call);
  auto fresh = start(), reversed = start();
  CHECK(reverse(reversed) == expected);
  fresh = std::move(reversed);
  CHECK(reverse(fresh) == expected);
  auto once = start();
  CHECK(reverse(once) == expected);
  auto const whole = once.step_calls();
  once = start();
  CHECK(reverse(once) == expected);
  CHECK(once.step_calls() == whole);  // nothing was given up yet
}

TEST_CASE("a workspace is assigned and swapped, and a run that was kept there says that it is gone") {
  cairn::any_schedule const plan = cairn::revolve{30, 3};
  auto const expected = pendulum::stored{30}.gradient;
  using work_type = decltype(cairn::workspace_for<pendulum::state>(plan));
  work_type one, other;
  auto kept = cairn::checkpointed_loop(pendulum::in_place{}, pendulum::start(), plan, one);
  auto kept_too = cairn::checkpointed_loop(pendulum::in_place{}, pendulum::start(), plan, other);
  SECTION("assigned") { one = std::move(other); }
  SECTION("swapped") { std::swap(one, other); }
  CHECK_THROWS_AS(kept.reverse(pendulum::seed, pendulum::one_step{}), cairn::invalid_call);
  CHECK_THROWS_AS(kept_too.reverse(pendulum::seed, pendulum::one_step{}), cairn::invalid_call);
  for (work_type* work : {&one, &other})
    CHECK(cairn::gradient(pendulum::in_place{}, pendulum::start(), plan, pendulum::seed, pendulum::one_step{},
                          *work) == expected);
  std::vector<work_type> many(3);
  many.erase(many.begin());
  CHECK(many.size() == 2);
  auto again = cairn::checkpointed_loop(pendulum::in_place{}, pendulum::start(), plan, many[0]);
  auto last = cairn::checkpointed_loop(pendulum::in_place{}, pendulum::start(), plan, many[1]);
  again = std::move(last);  // refers to the other workspace from now on
  CHECK(again.reverse(pendulum::seed, pendulum::one_step{}) == expected);
  again = std::move(kept);
  CHECK_THROWS_AS(again.reverse(pendulum::seed, pendulum::one_step{}), cairn::invalid_call);
}

namespace {

/// An object that stays where it is.
struct swinging {
  struct snapshot : pendulum::state {
    snapshot(pendulum::state x = {{}}) : state{std::move(x)} {}
  };
  swinging() = default;
  swinging(swinging const&) = delete;
  [[nodiscard]] snapshot save() const { return pendulum::state{v}; }
  void restore(snapshot const& kept) { v = kept.v; }
  pendulum::numbers v = pendulum::start().v;
};

/// Stops a run and its reverse at each call of step and adjoint in turn. Another process goes on, which has the store
/// alone: it runs no step before the last state there, and none before the reverse if that had begun. Not always are
/// the final state, the record of the reverse and the states whole.
/// \param begin  begin(step, x0, store) keeps all states   \param adjoint  adjoint(tick) calls tick() first
/// \param most_again  steps that a second reverse runs in that process at most
void goes_on_everywhere(auto make, auto begin, auto adjoint, step_index const n, long most_again) {
  using state = decltype(make());
  pendulum::stored const all{n};
  auto const seed = [](state const& x) { return x.v; };
  for (long at = 0; at < 2 * n; ++at) {
    CAPTURE(at);
    long left = at, calls = 0;
    auto const tick = [&] { left-- == 0 ? throw stops::stop{} : 0; };
    auto const step = [&](state& x, step_index i) { tick(), ++calls, pendulum::swing(x.v, x.v, i); };
    auto const back = adjoint(tick);
    bool const was_back = at > n;
    toys::carried_on store;
    state x0 = make(), x = make();
    CHECK_THROWS_AS(begin(step, x0, store).reverse(seed, back), stops::stop);
    store.final_is_whole = at % 3 != 0;
    store.record_is_whole = at % 5 != 3;
    if (at % 7 == 4) store.slots.clear();
    step_index last = 0;
    for (auto const& [slot, held] : store.slots) last = std::max(last, held.at);
    bool const turned = was_back && store.final_is_whole;
    calls = store.finals = 0;
    auto run = begin(step, x, store);
    CHECK(calls == (turned ? 0 : n - last));
    CHECK(store.finals == (turned ? 0 : 1));
    CHECK(run.final_state().v == all.states.back());
    CHECK(run.at(n).v == all.states.back());
    if (cairn::copied_state<state>) CHECK(calls == (turned ? 0 : n - last));
    if (at % 2 == 0)
      for (auto const [i, seen] : run.backward()) CHECK(seen.v == all.states[std::size_t(i)]);
    if (last > 0 && (!turned || at % 2 == 0)) CHECK(store.looked_at == all.states[0]);
    CHECK(run.reverse(seed, back) == all.gradient);
    if (cairn::copied_state<state> && turned && at % 2 == 1) CHECK(calls <= n);
    CHECK(run.step_calls() == cairn::wide(calls));
    CHECK(store.calls == run.step_calls());
    long const before = calls;
    CHECK(run.reverse(seed, back) == all.gradient);
    CHECK(calls - before <= most_again);
    CHECK(run.step_calls() == cairn::wide(calls));
  }
}

}  // namespace

TEST_CASE("a run that is stopped goes on in another process with the states, the end and the reverse that it left") {
  step_index const n = 8;
  auto const value = [] { return pendulum::start(); };
  auto const object = [] { return swinging{}; };
  auto const by_plan = [](auto const& step, auto& x0, auto& store) {
    return cairn::checkpointed_loop(step, x0, cairn::store_all(n), store);
  };
  auto const by_end = [](auto const& step, auto& x0, auto& store) {
    auto const more = [](auto const&, step_index i) { return i < n; };
    return cairn::checkpointed_while(step, x0, more, cairn::online{n}, store);
  };
  auto const one_step = [](auto const& tick) {
    return [&](auto const& x, pendulum::numbers& bar) { tick(), pendulum::swing_back(x.v, bar); };
  };
  auto const with_next = [](auto const& tick) {
    return [&](pendulum::state const& x, pendulum::state const& x1, pendulum::numbers& bar, step_index i) {
      tick(), pendulum::with_next{}(x, x1, bar, i);
    };
  };
  goes_on_everywhere(value, by_plan, with_next, n, n - 1);
  goes_on_everywhere(object, by_plan, one_step, n, n);  // and the turn
  goes_on_everywhere(value, by_end, one_step, n, 2 * (n - 1));
  goes_on_everywhere(object, by_end, one_step, n, 2 * (n - 1) + 1);
}
