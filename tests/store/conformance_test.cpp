// SPDX-License-Identifier: Apache-2.0
// One suite for every store: toys that could not differ more, one of them with a thread, the store in memory, and some
// of them losing checkpoints.
#include <algorithm>
#include <stdexcept>
#include <utility>
#include <vector>
#include <cairn/cairn.hpp>
#include <cairn/store/behind.hpp>
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

/// Finishes its saves only when it is asked to, and has no room left then.
struct flushing : toys::serialising {
  int asked = 0, full_at = 0;
  void settle(auto&) {
    if (++asked == full_at) throw std::runtime_error{"disk full"};
  }
};
}

/// Behind and ahead of the sweep.
template <class Store, int Saves = 2, int Loads = 2>
struct behind_of : cairn::behind<pendulum::state, Store> {
  behind_of() : cairn::behind<pendulum::state, Store>{cairn::behind_options{Saves, Loads}} {}
};

#define STORES                                                                                          \
  cairn::memory_store, toys::keeping, toys::serialising, toys::late, toys::threaded,                    \
      toys::losing<toys::serialising>, toys::losing<toys::threaded>, toys::slow,                        \
      toys::failing<toys::serialising>, toys::losing<toys::failing<toys::serialising>>,                   \
      behind_of<toys::serialising>, behind_of<toys::losing<toys::failing<toys::serialising>>>

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
    cairn::any_schedule const plan = cairn::leaves{n, 3, cairn::revolve{(n + 2) / 3, 2}};
    CHECK(cairn::gradient(pendulum::in_place{}, pendulum::start(), plan, pendulum::seed, pendulum::leaf{}, store) ==
          expected);
  }
}

TEMPLATE_TEST_CASE("a store that loses nothing costs no step", "[store]", STORES) {
  TestType store;
  cairn::any_schedule const plan = cairn::revolve{60, 4};
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
    cairn::any_schedule const plan = cairn::revolve{n, 3};
    auto run = cairn::checkpointed_loop(pendulum::in_place{}, pendulum::start(), plan, store);
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
    cairn::any_schedule const plan = cairn::revolve{40, 3};
    for (int at = 0; at < 150; at += 7) {
      int left = at;
      auto const step = [&](pendulum::state& x, step_index i) {
        if (left-- == 0) throw at;
        pendulum::in_place{}(x, i);
      };
      try {
        (void)cairn::gradient(step, pendulum::start(), plan, pendulum::seed, pendulum::one_step{}, store);
      } catch (int thrown) {
        CHECK(thrown == at);
      }
      CHECK(cairn::gradient(pendulum::in_place{}, pendulum::start(), plan, pendulum::seed, pendulum::one_step{},
                            store) == expected);
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
    for (step_index left_at = 0; left_at < 40; left_at += 3)
      for (int const what : {0, 1, 2}) {
        auto run = cairn::checkpointed_loop(pendulum::in_place{}, pendulum::start(), binomial, work);
        for (auto [i, x] : run.backward())
          if (i == left_at) break;
        if (what == 0) {
          work.clear();
          CHECK(owned() == 0);
        }
        auto const sweep = [&] {
          if (what < 2)
            return cairn::gradient(pendulum::in_place{}, pendulum::start(), binomial, pendulum::seed,
                                   pendulum::one_step{}, work);
          return cairn::resume(pendulum::in_place{}, pendulum::start(), binomial, pendulum::seed,
                               pendulum::one_step{}, work);
        };
        CHECK(sweep() == pendulum::stored{40}.gradient);
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
  cairn::revolve const plan{20, 3};
  cairn::online const open{3};
  auto const expected = pendulum::stored{20}.gradient;
  auto const back = [](auto&& run) { return run.reverse(pendulum::seed, pendulum::one_step{}); };
  auto const passes = [&](int times, auto use) {
    flushing never;
    CHECK(use(never) == expected);
    CHECK(never.asked == times);  // once for each part of a sweep
    for (int at = 1; at <= times; ++at) {
      flushing once;
      once.full_at = at;
      CHECK_THROWS_WITH(use(once), "disk full");
      CHECK(use(once) == expected);
    }
  };
  passes(1, [&](auto& in) {
    return cairn::gradient(pendulum::in_place{}, pendulum::start(), plan, pendulum::seed, pendulum::one_step{}, in);
  });
  passes(2, [&](auto& in) {
    return back(cairn::checkpointed_loop(pendulum::in_place{}, pendulum::start(), plan, in));
  });
  passes(3, [&](auto& in) {
    auto run = cairn::checkpointed_loop(pendulum::in_place{}, pendulum::start(), plan, in);
    for (auto [i, x] : run.backward())
      if (i == 3) break;
    return back(run);
  });
  passes(1, [&](auto& in) {
    auto work = cairn::workspace_for<pendulum::state>(plan, in);
    return cairn::resume(pendulum::in_place{}, pendulum::start(), plan, pendulum::seed, pendulum::one_step{}, work);
  });
  passes(1, [&](auto& in) {
    auto work = cairn::workspace_for<pendulum::state>(open, in);
    cairn::run_while const loop{[](pendulum::state const&, step_index i) { return i < 20; }, open};
    return cairn::resume(pendulum::in_place{}, pendulum::start(), loop, pendulum::seed, pendulum::one_step{}, work);
  });
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

namespace {

/// Notes what it is told, and what it sees coming.
struct attentive : toys::serialising {
  static constexpr bool looks_ahead = true;
  cairn::sweep_shape told;
  std::vector<step_index> loaded, seen;        // states that were loaded, and those that were to be loaded next
  std::vector<std::pair<step_index, pendulum::numbers>> open;

  void begin(cairn::sweep_shape const& shape) {
    told = shape;
    if (!shape.resumed) toys::serialising::begin(shape.slots);
  }
  cairn::frame_id load(auto& frames, cairn::place where, step_index i) {
    loaded.push_back(i);
    step_index next = -1;
    frames.coming_loads([&](cairn::place, step_index coming) {
      next = coming;
      return false;
    });
    seen.push_back(next);
    return toys::serialising::load(frames, where, i);
  }
  void reversed(step_index left, pendulum::numbers const& bar) { open.emplace_back(left, bar); }
  std::size_t bytes(cairn::tier where) const {
    std::size_t sum = 0;
    for (auto const& [slot, one] : slots) sum += one.bytes.size() * sizeof(double);
    return where == cairn::tier::disk ? sum : where == cairn::tier::memory ? tables : 0;
  }
  std::size_t tables = 0;  // in memory, besides states
};

}  // namespace

TEST_CASE("a store is told the tiers, the length and the size of a state", "[store]") {
  attentive store;
  cairn::two_level const plan{40, 10, 3};
  (void)cairn::gradient(pendulum::in_place{}, pendulum::start(), plan, pendulum::seed, pendulum::one_step{}, store);
  CHECK(store.told.steps == 40);
  CHECK(store.told.slots == plan.slots());
  CHECK(store.told.state_bytes == cairn::bytes_of(pendulum::start()));
  CHECK(!store.told.resumed);
  auto work = cairn::workspace_for<pendulum::state>(cairn::online{3}, store);
  auto const goes_on = [](pendulum::state const&, step_index i) { return i < 9; };
  (void)cairn::checkpointed_while(pendulum::in_place{}, pendulum::start(), goes_on, cairn::online{3}, work);
  CHECK(store.told.steps == -1);
  std::vector<cairn::tier> tiers;
  auto told_by = cairn::workspace_for<pendulum::state>(plan, store);
  (void)cairn::gradient(pendulum::in_place{}, pendulum::start(), plan, pendulum::seed, pendulum::one_step{}, told_by,
                        [&](cairn::event const& e) {
                          if (e.what().kind != cairn::action_kind::save || e.moment() != cairn::moment::after) return;
                          CHECK(store.told.tier_of(e.what().slot) == e.what().where);
                          tiers.push_back(e.what().where);
                        });
  CHECK(std::count(tiers.begin(), tiers.end(), cairn::tier::disk) == 4);
}

TEST_CASE("a store sees which state is loaded next", "[store]") {
  attentive store;
  (void)cairn::gradient(pendulum::in_place{}, pendulum::start(), cairn::revolve{60, 5}, pendulum::seed,
                        pendulum::one_step{}, store);
  REQUIRE(store.loaded.size() > 20);
  std::vector<step_index> const after{store.loaded.begin() + 1, store.loaded.end()};
  CHECK(store.seen == [&] {
    auto expected = after;
    expected.push_back(-1);
    return expected;
  }());
}

namespace {

/// Loses what is to be loaded as the k-th, once.
struct loses_one : attentive {
  static constexpr bool may_lose = true;
  std::size_t lose_at = ~std::size_t{0};
  cairn::frame_id load(auto& frames, cairn::place where, step_index i) {
    cairn::frame_id const k = attentive::load(frames, where, i);
    if (loaded.size() != lose_at + 1) return k;
    frames.release(k);
    return cairn::no_frame;
  }
};

}  // namespace

TEST_CASE("a store sees what its sweep loads next after a lost state was made again, and after a stop", "[store]") {
  cairn::revolve const plan{60, 5};
  loses_one whole;
  auto const all = cairn::gradient(pendulum::in_place{}, pendulum::start(), plan, pendulum::seed, pendulum::one_step{},
                                   whole);
  for (std::size_t k = 0; k < whole.loaded.size(); ++k) {
    CAPTURE(k);
    loses_one store;
    store.lose_at = k;
    CHECK(cairn::gradient(pendulum::in_place{}, pendulum::start(), plan, pendulum::seed, pendulum::one_step{}, store) ==
          all);
    if (store.loaded.size() > whole.loaded.size()) {  // it was run up from the next one
      CHECK(store.loaded.size() == whole.loaded.size() + 1);
      store.loaded.erase(store.loaded.begin() + std::ptrdiff_t(k) + 1);
      store.seen.erase(store.seen.begin() + std::ptrdiff_t(k) + 1);
    }
    CHECK(store.loaded == whole.loaded);
    CHECK(store.seen == whole.seen);
  }
  for (step_index stopped = 59; stopped > 0; --stopped) {
    CAPTURE(stopped);
    attentive store;
    cairn::resume_point<pendulum::numbers> noted{-1, {}};
    auto const stops =
        cairn::hooked(pendulum::one_step{}, [&](pendulum::state const&, pendulum::numbers const& bar, step_index i) {
          noted = {i, bar};
          if (i == stopped) throw i;
        });
    CHECK_THROWS_AS(cairn::gradient(pendulum::in_place{}, pendulum::start(), plan, pendulum::seed, stops, store),
                    step_index);
    store.loaded.clear(), store.seen.clear();
    auto work = cairn::workspace_for<pendulum::state>(plan, store);
    CHECK(cairn::resume(pendulum::in_place{}, pendulum::start(), plan, noted, pendulum::one_step{}, work) == all);
    REQUIRE(store.loaded.size() > 1);
    CHECK(store.loaded[0] == 0);  // by which the initial state is known, before the sweep begins
    for (std::size_t k = 1; k < store.loaded.size(); ++k)
      CHECK(store.seen[k] == (k + 1 < store.loaded.size() ? store.loaded[k + 1] : -1));
  }
}

TEST_CASE("a store is told after every reverse, for every form of adjoint", "[store]") {
  step_index const n = 30;
  pendulum::stored const all{n};
  std::vector<std::pair<step_index, pendulum::numbers>> expected{{n, all.states.back()}};
  for (step_index i = n; i-- > 0;) {
    expected.push_back({i, expected.back().second});
    pendulum::swing_back(all.states[std::size_t(i)], expected.back().second);
  }
  auto const told = [&](auto step, auto adjoint, auto const& plan) {
    attentive store;
    (void)cairn::gradient(step, pendulum::start(), plan, pendulum::seed, adjoint, store);
    return store.open;
  };
  cairn::revolve const plan{n, 3};
  CHECK(told(pendulum::in_place{}, pendulum::one_step{}, plan) == expected);
  CHECK(told(pendulum::by_value{}, pendulum::with_next{}, plan) == expected);
  CHECK(told(pendulum::in_place{}, pendulum::one_step_by_value{}, plan) == expected);
  CHECK(told(pendulum::out_of_place{}, pendulum::recorded(), plan) == expected);
  auto const leaves = told(pendulum::in_place{}, pendulum::leaf{}, cairn::leaves{n, 4, cairn::revolve{8, 2}});
  CHECK(leaves.size() == 9);
  for (auto const& [open, bar] : leaves) CHECK(bar == expected[std::size_t(n - open)].second);

  attentive store;
  auto run = cairn::checkpointed_loop(pendulum::in_place{}, pendulum::start(), plan, store);
  (void)run.reverse(pendulum::seed, pendulum::one_step{});
  CHECK(store.open == expected);
}

TEST_CASE("observers see what a store holds on each tier", "[store]") {
  auto const check = [](std::size_t tables, auto const&... options) {
    attentive store;
    store.tables = tables;
    std::size_t on_disk = 0, in_memory = 0;
    (void)cairn::gradient(pendulum::in_place{}, pendulum::start(), cairn::revolve{60, 5}, pendulum::seed,
                          pendulum::one_step{}, store, options..., [&](cairn::event const& e) {
                            on_disk = std::max(on_disk, e.bytes_held(cairn::tier::disk));
                            in_memory = std::max(in_memory, e.bytes_held(cairn::tier::memory));
                            CHECK(e.bytes_held() == e.bytes_held(cairn::tier::memory));
                          });
    CHECK(on_disk == 5 * 2 * sizeof(double));
    CHECK(in_memory >= cairn::bytes_of(pendulum::start()) + tables);
    CHECK(in_memory <= 2 * cairn::bytes_of(pendulum::start()) + tables);
  };
  check(0);
  check(1000);
  check(1000, cairn::sweep_options{cairn::replay_check::every_step});
}
