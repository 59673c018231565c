// SPDX-License-Identifier: Apache-2.0
// The judge of chain plans: it charges what the model says, and refuses what no machine could do.
#include <cairn/plan/chain/detail/chain_model.hpp>
#include <cairn/plan/chain/replay.hpp>

#include <initializer_list>
#include <limits>
#include <string>
#include <vector>

#include "support/catch.hpp"
#include "support/chain_kinds.hpp"
#include "support/chain_oracles.hpp"
#include "support/chain_search.hpp"

using cairn::chain;
using cairn::action;
using namespace cairn::chain_actions;

namespace {

std::vector<action> store_all(std::int64_t stages) {
  std::vector<action> plan;
  for (std::int64_t i = 0; i < stages; ++i) plan.push_back(record(i));
  plan.push_back(turn(stages));
  for (std::int64_t i = stages; i-- > 0;) plan.push_back(reverse(i));
  return plan;
}

}  // namespace

TEST_CASE("storing every tape costs what the oracles say", "[plan][chain][oracle]") {
  for (auto const& known : chains::oracles()) {
    CAPTURE(known.name);
    auto const cost = cairn::replay(known.chain, store_all(known.chain.stages()));
    CHECK(cost.makespan == known.no_checkpoint_makespan);
    CHECK(cost.peak == known.store_all_peak);
    CHECK(cost.extra_forward == 0);
    CHECK(cost.stage_runs == known.chain.stages());
    cairn::detail::chain_model const model{known.chain, "test"};
    CHECK(model.store_all_time() == known.no_checkpoint_makespan);
    CHECK(model.store_all_peak() == known.store_all_peak);
  }
}

TEST_CASE("the search over all schedules agrees with that of the oracles", "[plan][chain][oracle]") {
  int rows = 0;
  for (auto const& known : chains::oracles())
    for (auto const& row : known.rows) {
      if (!row.opt_any_schedule || known.chain.stages() > 5) continue;
      CAPTURE(known.name, row.budget);
      brute::chain_search search{known.chain};
      CHECK(search.makespan(row.budget) == row.opt_any_schedule);
      ++rows;
    }
  CHECK(rows > 100);
}

TEST_CASE("a chain of no stages has only a loss", "[plan][chain]") {
  chain const c{.x = {7}, .s = {}, .b = {5}, .u = {}, .v = {3}};
  auto const cost = cairn::replay(c, store_all(0));
  CHECK(cost == cairn::chain_cost{.peak = 5, .makespan = 3});
}

TEST_CASE("recomputing, dropping and tiers are charged action by action", "[plan][chain]") {
  chain const c{
      .x = {9, 4, 2}, .g = {9, 5, 3}, .s = {6, 7}, .f = {1, 2}, .b = {3, 2, 1}, .u = {10, 20}, .v = {30, 40, 50}};
  // State 1 goes to the disk, comes back for the recorded run, and stage 0 is run again.
  std::vector<action> const plan{advance(0),
                                 save(1, cairn::tier::disk),
                                 advance(1),
                                 drop(1),
                                 turn(2),
                                 load(1, cairn::tier::disk),
                                 drop(1, cairn::tier::disk),
                                 record(1),
                                 reverse(1),
                                 drop(1),
                                 record(0),
                                 reverse(0)};
  cairn::chain_tier const disk{.where = cairn::tier::disk, .bytes = 4, .write = {0, 100, 0}, .read = {0, 200, 0}};
  auto const cost = cairn::replay(c, plan, {&disk, 1});
  // Recorded run of stage 1: state 1, adjoint 2, tape 1, working bytes of its adjoint.
  CHECK(cost.peak == 4 + 3 + 7 + 2);
  CHECK(cost.stage_runs == 4);
  CHECK(cost.transfer == 300);
  CHECK(cost.extra_forward == 30);
  CHECK(cost.makespan == 60 + 120 + 300);
  cairn::chain_tier const small{.where = cairn::tier::disk, .bytes = 3};
  CHECK_THROWS_AS(cairn::replay(c, plan, {&small, 1}), cairn::invalid_schedule);
  CHECK_THROWS_AS(cairn::replay(c, plan), cairn::invalid_schedule);
}

TEST_CASE("a self-contained tape outlives the state it was made from", "[plan][chain]") {
  chain c{.x = {1, 1, 1}, .s = {1, 1}, .u = {1, 1}};
  std::vector<action> const plan{advance(0), record(1), drop(1), turn(2), reverse(1), record(0), reverse(0)};
  CHECK_THROWS_AS(cairn::replay(c, plan), cairn::invalid_schedule);
  c.self_contained_tape = true;
  CHECK(cairn::replay(c, plan).extra_forward == 1);
}

TEST_CASE("what no machine could do is refused with the action", "[plan][chain]") {
  chain const c{.x = {1, 1, 1}, .s = {1, 1}, .u = {1, 1}};
  auto const refusal = [&](std::initializer_list<action> plan) -> std::string {
    try {
      (void)cairn::replay(c, std::vector<action>{plan});
    } catch (cairn::invalid_schedule const& e) {
      return e.what();
    }
    return "";
  };
  using Catch::Matchers::ContainsSubstring;
  CHECK_THAT(refusal({advance(1)}),
             ContainsSubstring("a stage is run on a state that is not at hand (action = 0, stage = 1)"));
  CHECK_THAT(refusal({advance(2)}), ContainsSubstring("a stage that is not there"));
  CHECK_THAT(refusal({advance(-1)}), ContainsSubstring("a stage that is not there"));
  CHECK_THAT(refusal({turn(1)}), ContainsSubstring("the loss is not the last stage"));
  CHECK_THAT(refusal({turn(2)}), ContainsSubstring("without its state"));
  CHECK_THAT(refusal({record(1)}), ContainsSubstring("is recorded on a state"));
  CHECK_THAT(refusal({record(0), record(0)}), ContainsSubstring("whose tape is kept"));
  CHECK_THAT(refusal({drop(0)}), ContainsSubstring("state 0"));
  CHECK_THAT(refusal({drop(1)}), ContainsSubstring("not kept"));
  CHECK_THAT(refusal({drop_tape(1)}), ContainsSubstring("a tape is dropped"));
  CHECK_THAT(refusal({record(0), reverse(0)}), ContainsSubstring("out of order"));
  CHECK_THAT(refusal({record(0), record(1), turn(2), turn(2)}), ContainsSubstring("run twice"));
  CHECK_THAT(refusal({record(0), record(1), drop_tape(1), advance(1), turn(2), reverse(1)}),
             ContainsSubstring("without its tape"));
  CHECK_THAT(refusal({save(0, cairn::tier::disk)}), ContainsSubstring("a tier that is not there"));
  CHECK_THAT(refusal({record(0), record(1), turn(2)}), ContainsSubstring("the plan ends before"));
  CHECK_THAT(refusal({}), ContainsSubstring("the plan ends before"));
}

TEST_CASE("chains that cannot be are refused before anything is planned", "[plan][chain]") {
  chain const good{.x = {1, 1, 1}, .s = {1, 1}, .f = {0, 0}, .b = {0, 0, 0}, .u = {1, 1}, .v = {1, 1, 1}};
  CHECK_NOTHROW(cairn::replay(good, store_all(2)));
  auto const refused = [&](auto spoil) {
    chain c = good;
    spoil(c);
    CHECK_THROWS_AS(cairn::replay(c, store_all(2)), cairn::invalid_plan);
  };
  refused([](chain& c) { c.x.clear(); });
  refused([](chain& c) { c.x.pop_back(); });
  refused([](chain& c) { c.g = {1}; });
  refused([](chain& c) { c.s.pop_back(); });
  refused([](chain& c) { c.f.push_back(0); });
  refused([](chain& c) { c.b.pop_back(); });
  refused([](chain& c) { c.u.clear(); });
  refused([](chain& c) { c.v.pop_back(); });
  refused([](chain& c) { c.x[1] = -1; });
  refused([](chain& c) { c.g = {0, -1, 0}; });
  refused([](chain& c) { c.s[1] = 0; });
  refused([](chain& c) { c.f[0] = -1; });
  refused([](chain& c) { c.b[2] = -1; });
  refused([](chain& c) { c.u[0] = -1; });
  refused([](chain& c) { c.v[2] = -1; });
  chain c = good;
  c.u[0] = std::numeric_limits<std::int64_t>::max();
  CHECK_THROWS_AS(cairn::replay(c, store_all(2)), cairn::overflow_error);
  c = good;
  c.x[0] = c.x[1] = c.x[2] = c.s[0] = c.s[1] = std::int64_t{1} << 61;
  CHECK_THROWS_AS(cairn::replay(c, store_all(2)), cairn::overflow_error);
  c = good;
  c.u[0] = c.u[1] = std::int64_t{1} << 59;  // three times both is below 2^62
  CHECK(cairn::replay(c, store_all(2)).makespan == (std::int64_t{1} << 60) + 3);
}

TEST_CASE("a tier's times and names are checked", "[plan][chain]") {
  chain const c{.x = {1, 1}, .s = {1}, .u = {1}};
  cairn::chain_tier const wrong[]{{.where = cairn::tier::disk, .write = {1}},
                                  {.where = cairn::tier::disk, .read = {1, -1}},
                                  {.where = cairn::tier::memory}};
  for (auto const& tier : wrong) CHECK_THROWS_AS(cairn::replay(c, store_all(1), {&tier, 1}), cairn::invalid_plan);
  cairn::chain_tier const twice[]{{.where = cairn::tier::host}, {.where = cairn::tier::host}};
  CHECK_THROWS_AS(cairn::replay(c, store_all(1), twice), cairn::invalid_plan);
}
