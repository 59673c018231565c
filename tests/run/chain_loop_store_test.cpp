// SPDX-License-Identifier: Apache-2.0
// The states of a chain in the stores of loops.
#include <cairn/run/chain.hpp>

#include <stdexcept>
#include <vector>

#include <cairn/store/memory.hpp>

#include "support/catch.hpp"
#include "support/chain_stages.hpp"
#include "support/toy_stores.hpp"

using cairn::step_index;

namespace {

/// The steps of the pendulum as stages of a chain.
auto pendulum_stages(std::size_t count) {
  cairn::stage const one{[](pendulum::state const& x) { return pendulum::by_value{}(x, 0); },
                         [](pendulum::state const& x, pendulum::numbers const& bar) {
                           pendulum::numbers made = bar;
                           pendulum::swing_back(x.v, made);
                           return made;
                         }};
  return std::vector(count, one);
}

/// Loses every state.
struct forgetful : toys::serialising {
  static constexpr bool may_lose = true;
  cairn::frame_id load(auto&, cairn::place, step_index) { return cairn::no_frame; }
};

/// Notes what it is told and where states go.
struct told : toys::serialising {
  cairn::sweep_shape shape;
  std::vector<cairn::place> used;
  void begin(cairn::sweep_shape const& of) { shape = of; }
  void save(auto& frames, cairn::place where, step_index i, cairn::frame_id frame) {
    used.push_back(where);
    serialising::save(frames, where, i, frame);
  }
};
constexpr cairn::tier other_tiers[]{cairn::tier::device, cairn::tier::host, cairn::tier::disk};

/// Cannot write.
struct full : toys::serialising {
  static constexpr bool may_lose = true;
  bool save(auto&, cairn::place, step_index, cairn::frame_id) { return false; }
};

}  // namespace

TEMPLATE_TEST_CASE("a chain keeps its states in any store of loops", "[run][chain]", cairn::memory_store, toys::keeping,
                   toys::serialising, toys::late, toys::threaded, toys::slow) {
  auto const stages = pendulum_stages(7);
  auto const expected = cairn::chain_gradient(stages, pendulum::start(), chain_stages::store_all(7), pendulum::seed);
  for (std::uint64_t k = 0; k < 40; ++k) {
    TestType store;
    auto kept = cairn::chain_store_over<pendulum::state>(store, 7);
    auto const plan = chain_stages::wild_plan(7, k, 300, false, true);
    CHECK(cairn::chain_gradient(stages, pendulum::start(), plan, pendulum::seed, kept) == expected);
  }
  CHECK(pendulum::state::alive == 0);
}

TEST_CASE("a store of loops is told as many slots as a chain uses, and which tier each is on", "[run][chain]") {
  auto const stages = pendulum_stages(3);
  auto plan = chain_stages::store_all(3);
  for (step_index i = 0; i <= 3; ++i)
    for (cairn::tier const where : other_tiers)
      plan.insert(plan.begin() + 3, cairn::chain_actions::save(i, where));  // before the turn
  told store;
  {
    auto kept = cairn::chain_store_over<pendulum::state>(store, 3);
    (void)cairn::chain_gradient(stages, pendulum::start(), plan, pendulum::seed, kept);
  }
  CHECK(store.shape.slots == 4 * cairn::slot_index(cairn::tier_count));
  CHECK(store.shape.steps == 3);
  CHECK(store.slots.empty());
  CHECK(store.used.size() == 4 * std::size(other_tiers));
  for (cairn::place const& one : store.used) {
    CHECK(one.slot < store.shape.slots);
    CHECK(store.shape.tier_of(one.slot) == one.where);
  }
}

TEST_CASE("a chain says which state its store has lost, or cannot write", "[run][chain]") {
  using Catch::Matchers::ContainsSubstring;
  using namespace cairn::chain_actions;
  auto const stages = pendulum_stages(2);
  std::vector<cairn::action> const plan{advance(0), save(1, cairn::tier::disk),
                                        drop(1),    load(1, cairn::tier::disk),
                                        record(1),  turn(2),
                                        reverse(1), drop(1, cairn::tier::disk),
                                        record(0),  reverse(0)};
  auto const run = [&](auto store) {
    auto kept = cairn::chain_store_over<pendulum::state>(store, 2);
    return cairn::chain_gradient(stages, pendulum::start(), plan, pendulum::seed, kept);
  };
  CHECK_NOTHROW(run(toys::serialising{}));
  CHECK_THROWS_WITH(run(forgetful{}), ContainsSubstring("the store has lost a state (state = 1, tier = 3)"));
  CHECK_THROWS_WITH(run(full{}), ContainsSubstring("the store cannot write a state (state = 1, tier = 3)"));
}
