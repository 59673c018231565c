// SPDX-License-Identifier: Apache-2.0
// One suite for every store: toys that could not differ more, one of them with a thread, the store in memory, and some
// of them losing checkpoints.
#include <stdexcept>
#include <cairn/cairn.hpp>
#include "support/catch.hpp"
#include "support/toy_stores.hpp"

using cairn::step_index;

namespace {
template <class Store>
inline constexpr bool lossy = cairn::detail::may_lose<Store>;

/// Has no room left when a sweep ends.
struct full : toys::late {
  bool ends = false;
  void drop(auto& frames, cairn::place where) {
    toys::late::drop(frames, where);
    ends = true;
  }
  void settle(auto& frames) {
    toys::late::settle(frames);
    if (ends) throw std::runtime_error{"disk full"};
  }
};
}

#define STORES                                                                                          \
  cairn::memory_store, toys::keeping, toys::serialising, toys::late, toys::threaded,                    \
      toys::losing<cairn::memory_store>, toys::losing<toys::keeping>, toys::losing<toys::serialising>,  \
      toys::losing<toys::threaded>

TEMPLATE_TEST_CASE("a gradient has the bits of storing everything with any store", "[store]", STORES) {
  STATIC_REQUIRE(cairn::store_of<TestType, pendulum::state>);
  TestType store;
  for (step_index const n : {0, 1, 2, 7, 60}) {
    auto const expected = pendulum::stored{n}.gradient;
    auto const check = [&](cairn::any_schedule const& plan) {
      CHECK(cairn::gradient(pendulum::in_place{}, pendulum::start(), plan, pendulum::seed, pendulum::one_step{},
                            store) == expected);
      CHECK(cairn::gradient(pendulum::by_value{}, pendulum::start(), plan, pendulum::seed, pendulum::with_next{},
                            store) == expected);
      CHECK(cairn::gradient(pendulum::out_of_place{}, pendulum::start(), plan, pendulum::seed, pendulum::recorded(),
                            store) == expected);
    };
    for (step_index const slots : {1, 2, 4, 60}) {
      check(cairn::revolve{n, slots});
      check(cairn::revolve{n, slots, {.free_initial = true}});
    }
    check(cairn::uniform{n});
    check(cairn::store_all(n));
    CHECK(cairn::gradient(pendulum::in_place{}, pendulum::start(), cairn::leaves{n, 3, cairn::revolve{(n + 2) / 3, 2}},
                          pendulum::seed, pendulum::leaf{}, store) == expected);
  }
}

TEMPLATE_TEST_CASE("a store that loses nothing costs no step", "[store]", STORES) {
  TestType store;
  cairn::revolve const plan{60, 4};
  pendulum::step_calls = 0;
  (void)cairn::gradient(pendulum::in_place{}, pendulum::start(), plan, pendulum::seed, pendulum::one_step{}, store);
  auto const predicted = cairn::estimate(plan).step_calls;
  if (lossy<TestType>) CHECK(cairn::wide(pendulum::step_calls) > predicted);
  else CHECK(cairn::wide(pendulum::step_calls) == predicted);
}

TEMPLATE_TEST_CASE("a run over any store can be reversed twice, walked backwards and asked for states", "[store]",
                   STORES) {
  TestType store;
  for (step_index const n : {0, 1, 2, 33}) {
    pendulum::stored const all{n};
    auto run = cairn::checkpointed_loop(pendulum::in_place{}, pendulum::start(), cairn::revolve{n, 3}, store);
    CHECK(run.final_state().v == all.states.back());
    for (int repeat = 0; repeat < 2; ++repeat) {
      CHECK(run.reverse(pendulum::seed, pendulum::one_step{}) == all.gradient);
      CHECK(run.reverse(pendulum::seed, pendulum::with_next{}) == all.gradient);
      step_index expected = n;
      for (auto [i, x] : run.backward()) {
        CHECK(i == expected--);
        CHECK(x.v == all.states[std::size_t(i)]);
      }
      CHECK(expected == -1);
      for (step_index i = 0; i <= n; ++i) CHECK(run.at(i).v == all.states[std::size_t(i)]);
    }
  }
}

TEMPLATE_TEST_CASE("a store can be used again after a sweep that threw, and nothing stays behind", "[store]", STORES) {
  int const outside = pendulum::state::alive;
  {
    TestType store;
    auto const expected = pendulum::stored{40}.gradient;
    for (int at = 0; at < 150; at += 7) {
      int left = at;
      auto const step = [&](pendulum::state& x, step_index i) {
        if (left-- == 0) throw at;
        pendulum::in_place{}(x, i);
      };
      try {
        (void)cairn::gradient(step, pendulum::start(), cairn::revolve{40, 3}, pendulum::seed, pendulum::one_step{},
                              store);
      } catch (int thrown) {
        CHECK(thrown == at);
      }
      CHECK(cairn::gradient(pendulum::in_place{}, pendulum::start(), cairn::revolve{40, 3}, pendulum::seed,
                            pendulum::one_step{}, store) == expected);
    }
  }
  CHECK(pendulum::state::alive == outside);
}

TEMPLATE_TEST_CASE("a store that saves late owns no frame once a sweep has ended, has thrown, or lost its workspace",
                   "[store]", toys::late, toys::threaded) {
  TestType store;
  auto const owned = [&] {
    if constexpr (requires { store.owned(); }) return store.owned();
    else return store.under_way.size();
  };
  using cairn::uniform;
  uniform const plan{40, {.checkpoints = 10}};
  SECTION("a sweep has ended") {
    (void)cairn::gradient(pendulum::in_place{}, pendulum::start(), plan, pendulum::seed, pendulum::one_step{}, store);
  }
  SECTION("a sweep has thrown, forward or in reverse") {
    for (int at = 0; at < 60; ++at) {
      auto work = cairn::workspace_for<pendulum::state>(plan, store);
      int left = at;
      auto const step = [&](pendulum::state& x, step_index i) {
        if (left-- == 0) throw at;
        pendulum::in_place{}(x, i);
      };
      CHECK_THROWS_AS(cairn::gradient(step, pendulum::start(), plan, pendulum::seed, pendulum::one_step{}, work), int);
      CHECK(owned() == 0);
    }
  }
  SECTION("a forward run is kept") {
    auto run = cairn::checkpointed_loop(pendulum::in_place{}, pendulum::start(), plan, store);
    CHECK(owned() == 0);
  }
  SECTION("a walk backwards is left, and its workspace dies") {
    for (step_index const left_at : {36, 33, 20, 1}) {
      cairn::revolve const binomial{40, 4};  // saves on its way back, too
      auto run = cairn::checkpointed_loop(pendulum::in_place{}, pendulum::start(), binomial, store);
      for (auto [i, x] : run.backward())
        if (i == left_at) break;
    }
  }
  SECTION("a walk backwards is left, and the workspace is cleared, or runs another sweep") {
    cairn::revolve const binomial{40, 4};
    auto work = cairn::workspace_for<pendulum::state>(binomial, store);
    for (bool const clears : {true, false}) {
      auto run = cairn::checkpointed_loop(pendulum::in_place{}, pendulum::start(), binomial, work);
      for (auto [i, x] : run.backward())
        if (i == 37) break;
      if (clears) work.clear();
      CHECK(cairn::gradient(pendulum::in_place{}, pendulum::start(), binomial, pendulum::seed, pendulum::one_step{},
                            work) == pendulum::stored{40}.gradient);
    }
  }
  SECTION("a workspace takes over another one, and both die") {
    cairn::revolve const binomial{40, 4};
    auto work = cairn::workspace_for<pendulum::state>(binomial, store);
    {
      auto run = cairn::checkpointed_loop(pendulum::in_place{}, pendulum::start(), binomial, work);
      for (auto [i, x] : run.backward())
        if (i == 37) break;
    }
    TestType other;
    work = cairn::workspace_for<pendulum::state>(binomial, other);
    CHECK(owned() == 0);
    CHECK(cairn::gradient(pendulum::in_place{}, pendulum::start(), binomial, pendulum::seed, pendulum::one_step{},
                          work) == pendulum::stored{40}.gradient);
  }
  CHECK(owned() == 0);
}

TEST_CASE("what a store throws when it finishes its saves passes to the caller, and nothing is in use afterwards") {
  full store;
  CHECK_THROWS_WITH(cairn::gradient(pendulum::in_place{}, pendulum::start(), cairn::revolve{9, 3}, pendulum::seed,
                                    pendulum::one_step{}, store), "disk full");
  CHECK(store.under_way.empty());
}

TEST_CASE("a late store really completes late") {
  toys::late store;
  (void)cairn::gradient(pendulum::in_place{}, pendulum::start(), cairn::revolve{60, 5}, pendulum::seed,
                        pendulum::one_step{}, store);
  CHECK(store.completed_late > 10);
}

TEST_CASE("checkpoints that are lost at random do not change a bit") {
  auto const expected = pendulum::stored{80}.gradient;
  int lost = 0;
  for (unsigned round = 0; round < 300; ++round) {
    toys::losing<toys::serialising> store;
    store.random.seed(round);
    auto const slots = step_index(1 + round % 9);
    CHECK(cairn::gradient(pendulum::in_place{}, pendulum::start(), cairn::revolve{80, slots}, pendulum::seed,
                          pendulum::one_step{}, store) == expected);
    CHECK(cairn::gradient(pendulum::out_of_place{}, pendulum::start(), cairn::uniform{80}, pendulum::seed,
                          pendulum::with_next{}, store) == expected);
    lost += store.lost;
  }
  CHECK(lost > 1000);
}
