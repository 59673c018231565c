// SPDX-License-Identifier: Apache-2.0
// When values are read, and what it takes to make them again.
#include <cairn/plan/graph/detail/run_order.hpp>
#include <cairn/plan/graph/liveness.hpp>

#include <algorithm>
#include <vector>

#include <cairn/plan/graph/replay.hpp>

#include "support/catch.hpp"
#include "support/graph_kinds.hpp"

using cairn::operation_graph;
using cairn::value_liveness;

TEST_CASE("the liveness of a residual block is what one counts by hand", "[plan][graph]") {
  // 0 -> 1 -> 2 -> 3 = 0 + 2; the sum's adjoint reads nothing, so that ranks 4..8 are loss, 3, 2, 1, 0.
  operation_graph const graph{.operations = {{.bytes = 10, .time = 1, .adjoint_time = 10},
                                             {.inputs = {0}, .bytes = 20, .time = 2, .work = 6, .adjoint_time = 20},
                                             {.inputs = {1}, .bytes = 30, .time = 4, .adjoint_time = 40},
                                             {.inputs = {0, 2},
                                              .bytes = 40,
                                              .time = 8,
                                              .adjoint_time = 80,
                                              .adjoint_needs_inputs = false,
                                              .adjoint_needs_output = false}},
                              .loss_time = 100};
  auto const values = cairn::liveness_of(graph);
  CHECK(values[0] == value_liveness{.bytes = 10,
                                    .created = 0,
                                    .last_forward_use = 3,
                                    .first_backward_use = 7,
                                    .last_backward_use = 8,
                                    .inactive_time = 100 + 80 + 40,
                                    .recompute_time = 1,
                                    .recompute_bytes = 10});
  CHECK(values[1] == value_liveness{.bytes = 20,
                                    .created = 1,
                                    .last_forward_use = 2,
                                    .first_backward_use = 6,
                                    .last_backward_use = 7,
                                    .inactive_time = 8 + 100 + 80,
                                    .recompute_time = 2,
                                    .recompute_bytes = 26});
  CHECK(values[2].recompute_time == 4);
  CHECK_FALSE(values[3].first_backward_use);
  CHECK(values[3].last_forward_use == 4);
  CHECK(values[1].ratio() == 10);
  // Without value 1, value 2 takes both; and so it does without value 0, which is read again only later.
  std::vector<cairn::step_index> dropped{1};
  CHECK(cairn::liveness_of(graph, dropped)[2].recompute_time == 2 + 4);
  CHECK(cairn::liveness_of(graph, dropped)[2].recompute_bytes == 20 + 30);
  dropped = {0, 1};
  CHECK(cairn::liveness_of(graph, dropped)[2].recompute_time == 1 + 2 + 4);
  dropped = {2};  // which is there again when value 1 is wanted
  CHECK(cairn::liveness_of(graph, dropped)[1].recompute_time == 2);
  dropped = {4};
  CHECK_THROWS_AS(cairn::liveness_of(graph, dropped), cairn::invalid_plan);
}

TEST_CASE("uses come in order, and the live bytes are those that a replay counts", "[plan][graph]") {
  for (auto const kind : graphs::all_kinds)
    for (int size : {0, 1, 2, 5, 13, 40})
      for (unsigned seed = 0; seed < 6; ++seed) {
        CAPTURE(graphs::name_of(kind), size, seed);
        auto const graph = graphs::make(kind, size, seed, seed % 2 == 1);
        auto const values = cairn::liveness_of(graph);
        cairn::detail::graph_model const model{graph, "test"};
        cairn::detail::run_measure measure{model};
        auto const bytes = cairn::live_bytes(graph);
        REQUIRE(values.size() == std::size_t(size));
        REQUIRE(bytes.size() == std::size_t(2 * size + 1));
        auto const cost = cairn::replay(graph, measure.with_drops(cairn::detail::store_all_runs(model)));
        CHECK(cost.peak == *std::max_element(bytes.begin(), bytes.end()));
        CHECK(cost.extra_forward == 0);
        std::int64_t all = 0;
        for (auto const& op : graph.operations) all += op.time;
        for (auto const& value : values) {
          CHECK(value.created < value.last_forward_use);
          CHECK(value.last_forward_use <= size);
          CHECK(value.first_backward_use.has_value() == value.last_backward_use.has_value());
          if (!value.first_backward_use) continue;
          CHECK(size < *value.first_backward_use);
          CHECK(*value.first_backward_use <= *value.last_backward_use);
          CHECK(*value.last_backward_use <= 2 * size - value.created);
          CHECK(value.inactive_time >= 0);
          CHECK(value.recompute_bytes >= value.bytes);
          CHECK(value.recompute_time >= graph.operations[std::size_t(value.created)].time);
          CHECK(value.recompute_time <= all);
        }
      }
}

TEST_CASE("what is dropped makes others no cheaper to make again", "[plan][graph]") {
  for (unsigned seed = 0; seed < 40; ++seed) {
    auto const graph = graphs::make(graphs::kind::random, 12, seed);
    auto const before = cairn::liveness_of(graph);
    std::vector<cairn::step_index> const dropped{cairn::step_index(seed % 12), cairn::step_index(seed * 7 % 12)};
    auto const after = cairn::liveness_of(graph, dropped);
    for (std::size_t v = 0; v < 12; ++v) CHECK(after[v].recompute_time >= before[v].recompute_time);
  }
}
