// SPDX-License-Identifier: Apache-2.0
// A budget is said in the same way to every planner: a size in words, or a number.
#include <concepts>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <cairn/core/byte_budget.hpp>
#include <cairn/plan/block/block_planner.hpp>
#include <cairn/plan/chain/chain_planner.hpp>
#include <cairn/plan/graph/graph_planner.hpp>
#include "support/catch.hpp"

using cairn::byte_budget;
using namespace cairn::literals;

static_assert(byte_budget{"512MiB"}.count() == std::int64_t{1} << 29 && byte_budget{4_GB}.count() == 4'000'000'000);
static_assert(!std::constructible_from<byte_budget, double> && !std::constructible_from<byte_budget, bool> &&
              !std::constructible_from<byte_budget, std::optional<std::int64_t>>);

namespace {

constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max();

/// Four stages of a MiB each.
cairn::chain megabytes() {
  std::int64_t const mib = 1 << 20;
  return {.x = {mib, mib, mib, mib, 8}, .s = {mib, mib, mib, mib}, .f = {}, .b = {}, .u = {1, 1, 1, 1}, .v = {}};
}

}  // namespace

TEST_CASE("a budget is a size in words or a number, which may be one that no plan keeps within", "[bytes]") {
  CHECK(byte_budget{std::string{"1.5 GB"}}.count() == 1'500'000'000);
  CHECK(byte_budget{0}.count() == 0);
  CHECK(byte_budget{-7}.count() == -7);
  CHECK(byte_budget{most}.count() == most);
  CHECK(byte_budget{~std::uint64_t{0}}.count() == most);
  CHECK(byte_budget{std::uint64_t{1} << 63}.count() == most);
  CHECK(byte_budget{cairn::wide{1} << 100}.count() == most);
  CHECK(byte_budget{16_EB}.count() == most);
  CHECK(byte_budget{std::uint8_t{200}}.count() == 200);
  CHECK_THROWS_AS(byte_budget{"4G"}, cairn::invalid_size);
  CHECK_THROWS_AS(byte_budget{"-1"}, cairn::invalid_size);
}

TEST_CASE("planners of chains, graphs and blocks take budgets in words", "[bytes][plan]") {
  auto const chain = megabytes();
  cairn::chain_planner planner{chain};
  auto const plan = planner.plan("4MiB"), same = planner.plan(std::int64_t{4} << 20);
  CHECK(plan.budget == 4 << 20);
  CHECK(plan.cost == same.cost);
  CHECK(plan.actions.size() == same.actions.size());
  CHECK(planner.plan(4_MiB).cost == same.cost);
  CHECK(planner.why_infeasible("1MiB")->budget == 1 << 20);
  CHECK_THROWS_AS(planner.plan("100kB"), cairn::infeasible_budget);
  CHECK_THROWS_AS(planner.plan("4M"), cairn::invalid_size);
  CHECK(planner.plan("15EiB").cost.makespan == planner.store_all_time());

  auto const blocks = cairn::plan_blocks(chain, {.budget = "6MiB"});
  auto const by_number = cairn::plan_blocks(chain, {.budget = 6 << 20});
  CHECK(blocks.meta().peak_bytes == by_number.meta().peak_bytes);
  CHECK(blocks.meta().num_blocks == by_number.meta().num_blocks);
  CHECK_THROWS_AS(cairn::plan_blocks(chain, {.budget = 100_kB}), cairn::infeasible_budget);
  cairn::block_planner const of_blocks = [](byte_budget budget, cairn::chain const& work) {
    return cairn::plan_blocks(work, {.budget = budget});
  };
  CHECK(of_blocks("6MiB", chain).meta().sizes == blocks.meta().sizes);
  CHECK(of_blocks(6 << 20, chain).meta().sizes == blocks.meta().sizes);
  CHECK(of_blocks(cairn::block_planner::no_budget, chain).meta().num_blocks == 1);

  cairn::operation_graph graph;
  for (int v = 0; v < 6; ++v) {
    graph.operations.push_back({.bytes = 1000, .time = 1, .adjoint_time = 1});
    if (v > 0) graph.operations.back().inputs = {v - 1};
  }
  cairn::graph_planner of_graph{graph};
  CHECK(of_graph.plan("8 kB").cost.makespan == of_graph.plan(8000).cost.makespan);
  CHECK(of_graph.plan(8_kB).budget == 8000);
  CHECK_THROWS_AS(of_graph.plan("1kB"), cairn::infeasible_budget);
}
