// SPDX-License-Identifier: Apache-2.0
// The judge of graph plans: it charges what the model says, and refuses what no machine could do.
#include <cairn/plan/graph/replay.hpp>

#include <initializer_list>
#include <limits>
#include <string>
#include <vector>

#include "support/catch.hpp"

using cairn::action;
using cairn::operation_graph;
using namespace cairn::graph_actions;

namespace {

/// y = x + g(f(x)): f, g and the sum, with sizes that distinguish what is counted.
operation_graph residual() {
  return {.operations = {{.inputs = {}, .bytes = 10, .time = 1, .adjoint_time = 100},
                         {.inputs = {0},
                          .bytes = 20,
                          .time = 2,
                          .work = 5,
                          .adjoint_bytes = 21,
                          .adjoint_time = 200,
                          .adjoint_work = 7},
                         {.inputs = {0, 1},
                          .bytes = 40,
                          .time = 4,
                          .adjoint_time = 400,
                          .adjoint_needs_inputs = false,
                          .adjoint_needs_output = false}},
          .loss_time = 1000,
          .loss_work = 3};
}
std::string refusal(operation_graph const& graph, std::initializer_list<action> plan) {
  try {
    (void)cairn::replay(graph, std::vector<action>{plan});
  } catch (cairn::invalid_schedule const& e) {
    return e.what();
  }
  return "";
}

}  // namespace

TEST_CASE("values, adjoints and work are charged action by action", "[plan][graph]") {
  std::vector<action> const all{advance(0), advance(1), advance(2), turn(3), reverse(2), reverse(1), reverse(0)};
  auto const cost = cairn::replay(residual(), all);
  // The adjoint of the sum: all three values, its adjoint, and the new adjoints of both inputs.
  CHECK(cost.peak == (10 + 20 + 40) + 40 + 10 + 21);
  CHECK(cost.makespan == 7 + 700 + 1000);
  CHECK(cost.extra_forward == 0);
  CHECK(cost.runs == 3);
  // The sum's own value is not read by its adjoint, and goes after the loss; value 1 is made again.
  std::vector<action> const lean{advance(0), advance(1), advance(2), drop(1),    turn(3),
                                 drop(2),    reverse(2), advance(1), reverse(1), reverse(0)};
  auto const less = cairn::replay(residual(), lean);
  // The loss: values 0 and 2, the adjoint of 2, its work. The adjoint of 1: values 0 and 1, both adjoints, its work.
  CHECK(less.peak == std::max({10 + 40 + 40 + 3, 10 + 40 + 10 + 21, 10 + 20 + 10 + 21 + 7, 10 + 20 + 40}));
  CHECK(less.extra_forward == 2);
  CHECK(less.runs == 4);
}

TEST_CASE("an operation that is run again counts beside the adjoints that are there", "[plan][graph]") {
  operation_graph const graph{
      .operations = {{.bytes = 1, .work = 50},
                     {.inputs = {0}, .bytes = 2, .adjoint_bytes = 9, .adjoint_needs_inputs = false}}};
  CHECK(cairn::replay(graph, std::vector<action>{advance(0), advance(1), turn(2), reverse(1), reverse(0)}).peak ==
        1 + 50);
  CHECK(cairn::replay(graph,
                      std::vector<action>{advance(0), advance(1), drop(0), turn(2), advance(0), reverse(1), reverse(0)})
            .peak == 1 + 2 + 50 + 9);
}

TEST_CASE("tapes are charged from their record to their adjoint or drop, and values beside them", "[plan][graph]") {
  operation_graph graph = residual();
  graph.operations[0].tape_bytes = 100, graph.operations[1].tape_bytes = 300;
  auto const played = [&](std::vector<action> const& plan) { return cairn::replay(graph, plan); };
  auto const kept = played({record(0), record(1), advance(2), turn(3), reverse(2), reverse(1), reverse(0)});
  CHECK(kept.peak == (10 + 20 + 40) + 40 + 10 + 21 + 400);  // the adjoint of the sum, with both tapes
  CHECK(kept.runs == 3);
  CHECK(kept.extra_forward == 0);
  // Tapes made right before their adjoints. Value 1 is made again for that, value 0 is kept and gives way to the new
  // one.
  auto const late = played({advance(0), advance(1), advance(2), drop(1), turn(3), drop(2), reverse(2), record(1),
                            reverse(1), record(0), reverse(0)});
  CHECK(late.peak == 10 + 20 + 300 + 10 + 21 + 7);
  CHECK(late.runs == 5);
  CHECK(late.extra_forward == 2 + 1);
  // A tape that is dropped is made again; one that is kept outlives its value.
  auto const both = played({record(0), record(1), drop_tape(1), advance(2), turn(3), reverse(2), drop(1), record(1),
                            drop(0), advance(0), reverse(1), drop(0), advance(0), reverse(0)});
  CHECK(both.peak == 10 + 20 + 400 + 10 + 21 + 7);
  CHECK(both.runs == 6);
  // While a kept value is made again with its tape, it counts once.
  operation_graph const one{
      .operations = {{.bytes = 8, .work = 2, .tape_bytes = 5, .adjoint_bytes = 0, .adjoint_needs_output = false}}};
  CHECK(cairn::replay(one, std::vector<action>{advance(0), turn(1), record(0), reverse(0)}).peak == 8 + 5 + 2);
  CHECK(cairn::replay(one, std::vector<action>{record(0), drop(0), advance(0), turn(1), drop(0), reverse(0)}).peak ==
        8 + 5 + 2);
}

TEST_CASE("an operation without tape bytes may be recorded, and needs no tape", "[plan][graph]") {
  operation_graph const graph{.operations = {{.bytes = 8}, {.inputs = {0}, .bytes = 4}}};
  std::vector<action> const plain{advance(0), advance(1), turn(2), reverse(1), reverse(0)};
  std::vector<action> const taped{record(0), record(1), drop_tape(1), turn(2), reverse(1), reverse(0)};
  CHECK(cairn::replay(graph, plain) == cairn::replay(graph, taped));
}

TEST_CASE("a graph of no operations has only a loss", "[plan][graph]") {
  operation_graph const nothing{.operations = {}, .loss_time = 3, .loss_work = 5};
  CHECK(cairn::replay(nothing, std::vector<action>{turn(0)}) == cairn::graph_cost{.peak = 5, .makespan = 3});
  CHECK_THROWS_AS(cairn::replay(nothing, std::vector<action>{}), cairn::invalid_schedule);
}

TEST_CASE("an input that is named twice is read and differentiated once", "[plan][graph]") {
  operation_graph square{.operations = {{.bytes = 3}, {.inputs = {0, 0}, .bytes = 4}}};
  std::vector<action> const plan{advance(0), advance(1), turn(2), reverse(1), reverse(0)};
  auto const twice = cairn::replay(square, plan);
  square.operations[1].inputs = {0};
  CHECK(twice == cairn::replay(square, plan));
}

TEST_CASE("an adjoint reads the inputs that its flags name", "[plan][graph]") {
  operation_graph graph = residual();
  graph.operations[2].adjoint_needs_inputs = {false, true};
  // Value 0 is not read by the adjoint of the sum, value 1 is.
  std::vector<action> const late{advance(0), advance(1), advance(2), drop(0), turn(3),     drop(2),
                                 reverse(2), advance(0), reverse(1), reverse(0)};
  CHECK(cairn::replay(graph, late).peak == std::max({20 + 40 + 40 + 3, 20 + 40 + 10 + 21, 10 + 20 + 10 + 21 + 7, 70}));
  CHECK_THAT(refusal(graph, {advance(0), advance(1), advance(2), turn(3), drop(1), reverse(2)}),
             Catch::Matchers::ContainsSubstring("without a value that it reads"));
  graph.operations[2].adjoint_needs_inputs = {true, false};
  CHECK_THROWS_AS(cairn::replay(graph, late), cairn::invalid_schedule);
  // Named twice, it is read if one flag says so.
  graph.operations[2].inputs = {0, 1, 0}, graph.operations[2].adjoint_needs_inputs = {false, false, true};
  CHECK_THROWS_AS(cairn::replay(graph, late), cairn::invalid_schedule);
  graph.operations[2].adjoint_needs_inputs = {false, true, false};
  CHECK_NOTHROW(cairn::replay(graph, late));
  // Flags that are all alike are one.
  CHECK(cairn::needed_inputs{true, true} == cairn::needed_inputs(true));
  CHECK(cairn::needed_inputs{false, false} == false);
  CHECK(cairn::needed_inputs{} == true);
  CHECK_FALSE(cairn::needed_inputs{true, false} == true);
  CHECK_FALSE(cairn::needed_inputs{true, false}[1]);
}

TEST_CASE("the loss makes the adjoints of all outputs", "[plan][graph]") {
  operation_graph graph{.operations = {{.bytes = 1}, {.bytes = 2}, {.inputs = {0}, .bytes = 4}}};
  std::vector<action> const plan{advance(0), advance(1), advance(2), turn(3), reverse(2), reverse(1), reverse(0)};
  // No operation reads 1 and 2. The adjoint of 2 adds that of 0.
  CHECK(cairn::replay(graph, plan).peak == 7 + 6 + 1);
  graph.outputs = {0, 1, 2};  // value 0 is read by the loss, too, and its adjoint is there from then on
  CHECK(cairn::replay(graph, plan).peak == 7 + 7);
  CHECK(refusal(graph, {advance(1), advance(0), advance(2), drop(0), turn(3)}).find("without the value of an output") !=
        std::string::npos);
}

TEST_CASE("what no machine could do is refused with the action", "[plan][graph]") {
  using Catch::Matchers::ContainsSubstring;
  operation_graph const graph = residual();
  CHECK_THAT(refusal(graph, {advance(1)}),
             ContainsSubstring("an operation is run without the value of an input (action = 0, operation = 1)"));
  CHECK_THAT(refusal(graph, {advance(3)}), ContainsSubstring("an operation that is not there"));
  CHECK_THAT(refusal(graph, {advance(-1)}), ContainsSubstring("an operation that is not there"));
  CHECK_THAT(refusal(graph, {turn(4)}), ContainsSubstring("an operation that is not there"));
  // Actions of a loop that no graph has: of two steps at once, in another place, from a tape, and the end.
  using cairn::action_kind, cairn::content;
  for (action const& wrong : {action{action_kind::advance, {}, {}, 0, 0, 2}, action{action_kind::drop, {}, {}, 1, 0, 0},
                              action{action_kind::reverse, {}, content::tape, 0, 0, 1},
                              action{action_kind::record, {}, content::tape, 0, 0, 2},
                              action{action_kind::record, {}, content::state, 0, 0, 1}, action{}})
    CHECK_THAT(refusal(graph, {wrong}), ContainsSubstring("an action is not one that a graph has"));
  CHECK_THAT(refusal(graph, {advance(0), advance(0)}), ContainsSubstring("an operation is run whose value is kept"));
  CHECK_THAT(refusal(graph, {drop(0)}), ContainsSubstring("a value is dropped that is not kept"));
  operation_graph with_tapes = graph;
  with_tapes.operations[1].tape_bytes = 1;
  CHECK_THAT(refusal(graph, {record(3)}), ContainsSubstring("an operation that is not there"));
  CHECK_THAT(refusal(graph, {drop_tape(-1)}), ContainsSubstring("an operation that is not there"));
  CHECK_THAT(refusal(graph, {record(1)}), ContainsSubstring("an operation is run without the value of an input"));
  CHECK_THAT(refusal(graph, {record(0), record(0)}), ContainsSubstring("an operation is recorded whose tape is kept"));
  CHECK_THAT(refusal(graph, {record(0), advance(0)}), ContainsSubstring("an operation is run whose value is kept"));
  CHECK_THAT(refusal(graph, {advance(0), drop_tape(0)}), ContainsSubstring("a tape is dropped that is not kept"));
  CHECK_THAT(refusal(graph, {record(0), drop_tape(0), drop_tape(0)}),
             ContainsSubstring("a tape is dropped that is not kept"));
  CHECK_THAT(refusal(with_tapes, {advance(0), advance(1), advance(2), turn(3), reverse(2), reverse(1)}),
             ContainsSubstring("the adjoint of an operation is run without its tape"));
  CHECK_THAT(refusal(with_tapes, {advance(0), record(1), advance(2), turn(3), drop_tape(1), reverse(2), reverse(1)}),
             ContainsSubstring("without its tape"));
  CHECK_THAT(refusal(with_tapes, {advance(0), record(1), advance(2), turn(3), drop(1), reverse(2), reverse(1)}),
             ContainsSubstring("without a value that it reads"));
  CHECK_THAT(refusal(with_tapes, {advance(0), record(1), advance(2), turn(3), reverse(2), reverse(1), record(1)}),
             ContainsSubstring("an operation is run after its adjoint"));
  CHECK_THAT(refusal(with_tapes, {advance(0), record(1), advance(2), turn(3), reverse(2), reverse(1), drop_tape(1)}),
             ContainsSubstring("a tape is dropped that is not kept"));
  CHECK_THAT(refusal(graph, {turn(2)}), ContainsSubstring("the loss has the number of an operation"));
  CHECK_THAT(refusal(graph, {turn(3)}), ContainsSubstring("the loss is run without the value of an output"));
  CHECK_THAT(refusal(graph, {advance(0), advance(1), advance(2), turn(3), turn(3)}),
             ContainsSubstring("the loss of a graph is run twice"));
  CHECK_THAT(refusal(graph, {advance(0), advance(1), advance(2), reverse(2)}),
             ContainsSubstring("the adjoint of an operation is run out of order"));
  CHECK_THAT(refusal(graph, {advance(0), advance(1), advance(2), turn(3), reverse(1)}),
             ContainsSubstring("the adjoint of an operation is run out of order"));
  CHECK_THAT(refusal(graph, {advance(0), advance(1), advance(2), drop(1), turn(3), reverse(2), reverse(1)}),
             ContainsSubstring("without a value that it reads"));
  CHECK_THAT(refusal(graph, {advance(0), advance(1), advance(2), turn(3), reverse(2), advance(2)}),
             ContainsSubstring("an operation is run after its adjoint"));
  CHECK_THAT(refusal(graph, {advance(0), advance(1), advance(2), turn(3), reverse(2), reverse(1)}),
             ContainsSubstring("the plan ends before the adjoint of operation 0 has run"));
  CHECK_THAT(refusal(graph, {}), ContainsSubstring("the plan ends before"));
}

TEST_CASE("graphs that cannot be are refused before anything is planned", "[plan][graph]") {
  std::vector<action> const plan{advance(0), advance(1), advance(2), turn(3), reverse(2), reverse(1), reverse(0)};
  CHECK_NOTHROW(cairn::replay(residual(), plan));
  auto const refused = [&](auto spoil) {
    operation_graph graph = residual();
    spoil(graph);
    CHECK_THROWS_AS(cairn::replay(graph, plan), cairn::invalid_plan);
  };
  refused([](operation_graph& g) { g.operations[1].inputs = {1}; });
  refused([](operation_graph& g) { g.operations[0].inputs = {2}; });
  refused([](operation_graph& g) { g.operations[2].inputs = {-1}; });
  refused([](operation_graph& g) { g.operations[0].bytes = -1; });
  refused([](operation_graph& g) { g.operations[0].work = -1; });
  refused([](operation_graph& g) { g.operations[0].tape_bytes = -1; });
  refused([](operation_graph& g) { g.operations[0].time = -1; });
  refused([](operation_graph& g) { g.operations[0].adjoint_bytes = -2; });
  refused([](operation_graph& g) { g.operations[0].adjoint_work = -1; });
  refused([](operation_graph& g) { g.operations[0].adjoint_time = -1; });
  refused([](operation_graph& g) { g.loss_time = -1; });
  refused([](operation_graph& g) { g.loss_work = -1; });
  refused([](operation_graph& g) { g.operations[2].adjoint_needs_inputs = {true, false, true}; });
  refused([](operation_graph& g) { g.outputs = {3}; });
  refused([](operation_graph& g) { g.outputs = {-1}; });
  refused([](operation_graph& g) { g.outputs = {1}; });  // value 2 is not read then
  operation_graph graph = residual();
  graph.operations[0].time = std::numeric_limits<std::int64_t>::max();
  CHECK_THROWS_AS(cairn::replay(graph, plan), cairn::overflow_error);
  graph = residual();
  for (auto& op : graph.operations) op.bytes = std::int64_t{1} << 61;
  CHECK_THROWS_AS(cairn::replay(graph, plan), cairn::overflow_error);
}
