// SPDX-License-Identifier: Apache-2.0
#include "support/torch.hpp"
#include "support/two_threads.hpp"
#include <barrier>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>
#include <cairn/adapt/torch/graph/detail/graph_node.hpp>
#include <cairn/adapt/torch/memory/byte_meter.hpp>
#include <cairn/plan/graph/graph_planner.hpp>
#include <cairn/plan/graph/replay.hpp>

namespace graph_execute_tests {

using at::Tensor;
using cl::detail::captured_graph;
using cl::detail::captured_operation;
using cl::detail::graph_node;
using cl::detail::graph_program;
using cl::detail::tensor_source;
using support::same_bits;
using support::seeded;
using tensors = std::vector<Tensor>;

/// A graph made by hand, and its plain call.
struct hand_made {
  captured_graph graph;
  cairn::operation_graph measured;

  std::int32_t add(char const* name, std::vector<tensor_source> inputs, std::function<tensors(tensors const&)> run,
                   cairn::graph_operation sizes, std::int32_t results = 1) {
    captured_operation one;
    one.name = name;
    one.inputs = std::move(inputs);
    one.results = results;
    one.run = std::move(run);
    for (auto const& from : one.inputs) if (from.operation >= 0) sizes.inputs.push_back(from.operation);
    graph.operations.push_back(std::move(one));
    measured.operations.push_back(std::move(sizes));
    return std::int32_t(graph.operations.size()) - 1;
  }
  tensors plain(tensors const& leaves) const {
    std::vector<tensors> values;
    auto const at = [&](tensor_source from) {
      return from.operation < 0 ? leaves[std::size_t(from.output)]
                                : values[std::size_t(from.operation)][std::size_t(from.output)];
    };
    for (auto const& one : graph.operations) {
      tensors inputs;
      for (auto const& from : one.inputs) inputs.push_back(at(from));
      values.push_back(one.run(inputs));
    }
    tensors results;
    for (auto const& from : graph.results) results.push_back(at(from));
    return results;
  }
  std::shared_ptr<graph_program const> program(std::vector<cairn::action> actions) const {
    return std::make_shared<graph_program const>(graph, measured, std::move(actions), cl::Rng::Preserve, "the test");
  }
};

constexpr std::int64_t rows = 64, columns = 32, value_bytes = rows * columns * 4;

/// Values read by several operations, and twice by one whose adjoint adds to what others have added; a weight used
/// twice, random numbers, a value of two tensors.
hand_made network(std::shared_ptr<int> runs = std::make_shared<int>(0)) {
  hand_made net;
  auto const count = [runs](tensors made) {
    ++*runs;
    return made;
  };
  cairn::graph_operation const keeps_inputs{.bytes = value_bytes, .time = 3, .adjoint_needs_output = false};
  cairn::graph_operation const keeps_output{.bytes = value_bytes, .time = 1, .adjoint_needs_inputs = false};
  cairn::graph_operation const keeps_nothing{
      .bytes = value_bytes, .time = 1, .adjoint_needs_inputs = false, .adjoint_needs_output = false};
  auto const a = net.add(
      "mm", {{-1, 0}, {-1, 1}}, [=](tensors const& in) { return count({in[0].mm(in[1])}); }, keeps_inputs);
  auto const b = net.add("tanh", {{a, 0}}, [=](tensors const& in) { return count({in[0].tanh()}); }, keeps_output);
  auto with_mask = keeps_nothing;
  with_mask.tape_bytes = value_bytes;
  auto const m = net.add(
      "dropout", {{b, 0}}, [=](tensors const& in) { return count({torch::dropout(in[0], 0.5, true)}); }, with_mask);
  net.graph.operations.back().draws = true;
  auto const c = net.add(
      "mm", {{m, 0}, {-1, 1}}, [=](tensors const& in) { return count({in[0].mm(in[1])}); }, keeps_inputs);
  auto const d = net.add(
      "add", {{c, 0}, {b, 0}, {a, 0}}, [=](tensors const& in) { return count({in[0] + in[1] + in[2] * 0.3}); },
      keeps_nothing);
  auto const s = net.add(
      "square", {{d, 0}, {b, 0}},
      [=](tensors const& in) {
        return count({in[0] * in[1] * in[1], in[0].exp()});
      },
      {.bytes = 2 * value_bytes, .time = 1, .tape_bytes = value_bytes}, 2);
  auto const e = net.add(
      "mul", {{s, 0}, {s, 1}, {b, 0}}, [=](tensors const& in) { return count({in[0] * in[1] * in[2] * in[2]}); },
      {.bytes = value_bytes, .time = 2, .tape_bytes = 2 * value_bytes, .adjoint_needs_output = false});
  net.graph.results = {{e, 0}, {d, 0}};
  net.measured.outputs = {d, e};
  net.graph.leaves = {Tensor{}, torch::randn({columns, columns}).mul_(0.2).requires_grad_()};
  net.graph.inputs = 1;
  return net;
}

struct outcome {
  tensors results, gradients;
};
outcome of(tensors results, tensors const& leaves, bool second = true) {
  auto loss = results[0].pow(2).sum();
  if (second) loss = loss + results[1].sin().sum();
  auto gradients = torch::autograd::grad({loss}, leaves, {}, {}, false, true);
  for (auto& t : results) t = t.detach();
  return {std::move(results), std::move(gradients)};
}
bool same(outcome const& a, outcome const& b) {
  return same_bits(a.results, b.results) && same_bits(a.gradients, b.gradients);
}

TEST_CASE("a graph has the bits of its plain call under every plan", "[torch][graph]") {
  seeded const seed{1};
  auto const runs = std::make_shared<int>(0);
  auto const net = network(runs);
  tensors const leaves{torch::randn({rows, columns}).requires_grad_(), net.graph.leaves[1]};
  torch::manual_seed(5);
  auto const plain = of(net.plain(leaves), leaves);
  torch::manual_seed(5);
  auto const partly = of(net.plain(leaves), leaves, false);
  auto const after_plain = torch::rand({3});
  cairn::graph_planner planner{net.measured};
  auto const plans = planner.pareto(8);
  REQUIRE(plans.size() >= 3);
  for (auto const& plan : plans) {
    auto const program = net.program(plan.actions);
    torch::manual_seed(5);
    *runs = 0;
    CHECK(same(plain, of(graph_node::call(program, leaves), leaves)));
    CHECK(*runs == plan.cost.runs);
    torch::manual_seed(5);
    CHECK(same(partly, of(graph_node::call(program, leaves), leaves, false)));
    CHECK(same_bits(torch::rand({3}), after_plain));
  }
  CHECK(plans.front().cost.runs > plans.back().cost.runs);
}

TEST_CASE("an operation that draws in two threads at once is refused if it runs again",
          "[torch][graph][rng][threads]") {
  using namespace cairn::graph_actions;
  bool const again = GENERATE(true, false);
  int const meeting = GENERATE(1, 2);  // the run in which the threads meet, if there is one
  std::barrier<> meet{2};
  auto const words = support::said_in_two_threads<std::exception>([&](int) {
    hand_made net;
    int runs = 0;
    auto const f = [&](tensors const& in) {
      if (++runs == meeting) meet.arrive_and_wait();
      return tensors{torch::dropout(in[0], 0.5, true)};
    };
    cairn::graph_operation const keeps_mask{
        .bytes = value_bytes, .tape_bytes = value_bytes, .adjoint_needs_inputs = false, .adjoint_needs_output = false};
    (void)net.add("dropout", {{-1, 0}}, f, keeps_mask);
    net.graph.operations.back().draws = true;
    net.graph.results = {{0, 0}};
    net.graph.leaves = {Tensor{}};
    net.graph.inputs = 1;
    tensors const leaves{torch::ones({rows, columns}).requires_grad_()};
    auto const program =
        net.program(again ? std::vector<cairn::action>{advance(0), turn(1), drop(0), record(0), reverse(0)}
                          : std::vector<cairn::action>{record(0), turn(1), reverse(0)});
    auto const y = graph_node::call(program, leaves).front();
    auto const gradient = torch::autograd::grad({y.sum()}, leaves).front();
    if (!same_bits(gradient, y)) throw std::runtime_error("other masks");
  });
  for (auto const& one : words) {
    if (again) CHECK_THAT(one, Catch::Matchers::ContainsSubstring(support::drawn_at_once));
    else CHECK(one == "");
  }
}

TEST_CASE("a dropped value is free while its operation's tape is kept", "[torch][graph]") {
  seeded const seed{2};
  using namespace cairn::graph_actions;
  hand_made net;
  cairn::graph_operation const sizes{.bytes = value_bytes, .tape_bytes = value_bytes, .adjoint_needs_output = false};
  auto const a = net.add("mul", {{-1, 0}}, [](tensors const& in) { return tensors{in[0] * 3}; },
                         {.bytes = value_bytes, .adjoint_needs_inputs = false, .adjoint_needs_output = false});
  auto const b = net.add("masked", {{a, 0}}, [](tensors const& in) { return tensors{in[0].sin() * in[0]}; }, sizes);
  net.graph.results = {{b, 0}};
  net.graph.leaves = {Tensor{}};
  net.graph.inputs = 1;
  tensors const leaves{torch::randn({rows, columns}).requires_grad_()};
  auto const plain = net.plain(leaves).front();
  auto const wanted = torch::autograd::grad({plain.sum()}, leaves);
  auto const program =
      net.program({advance(0), record(1), drop(0), turn(2), drop(1), advance(0), reverse(1), reverse(0)});
  (void)cairn::replay(net.measured, program->actions);
  cl::byte_meter meter;
  {
    auto const made = graph_node::call(program, leaves).front();
    CHECK(meter.allocated() == 2 * value_bytes);  // the result, and the sine beside values
    CHECK(same_bits(made, plain));
    CHECK(same_bits(torch::autograd::grad({made.sum()}, leaves), wanted));
  }
  CHECK(meter.allocated() == 0);
}

TEST_CASE("an adjoint finds the inputs that its flags name, and the others may be gone", "[torch][graph]") {
  seeded const seed{11};
  using namespace cairn::graph_actions;
  for (bool const told : {true, false}) {  // without the flag, a tape keeps the input that was saved as its own
    hand_made net;
    auto const a = net.add("mul", {{-1, 0}}, [](tensors const& in) { return tensors{in[0] * 3}; },
                           {.bytes = value_bytes, .adjoint_needs_inputs = false, .adjoint_needs_output = false});
    auto const b =
        net.add("exp", {{-1, 0}}, [](tensors const& in) { return tensors{in[0].exp()}; }, {.bytes = value_bytes});
    auto const y =
        net.add("bend", {{a, 0}, {b, 0}}, [](tensors const& in) { return tensors{in[0] + in[1] * in[1]}; },
                {.bytes = value_bytes, .adjoint_needs_inputs = {false, told}, .adjoint_needs_output = false});
    net.graph.results = {{y, 0}};
    net.graph.leaves = {Tensor{}};
    net.graph.inputs = 1;
    tensors const leaves{torch::randn({rows, columns}).requires_grad_()};
    auto const wanted = torch::autograd::grad({net.plain(leaves).front().sum()}, leaves);
    std::vector<cairn::action> const lean{advance(0), advance(1), advance(2), drop(0),    turn(3),
                                          drop(2),    reverse(2), reverse(1), advance(0), reverse(0)};
    std::vector<cairn::action> const leaner{advance(0), advance(1), advance(2), drop(0),    drop(1),   turn(3),
                                            drop(2),    reverse(2), advance(1), reverse(1), reverse(0)};
    (void)cairn::replay(net.measured, lean);
    if (told) CHECK_THROWS_AS(cairn::replay(net.measured, leaner), cairn::invalid_schedule);
    else (void)cairn::replay(net.measured, leaner);
    auto const program = net.program(told ? lean : leaner);
    cl::byte_meter meter;
    {
      auto const made = graph_node::call(program, leaves).front();
      CHECK(meter.allocated() == 2 * value_bytes);  // the result and the second input
      CHECK(same_bits(torch::autograd::grad({made.sum()}, leaves), wanted));
    }
    CHECK(meter.allocated() == 0);
  }
}

TEST_CASE("a retained graph runs back as often as one likes, and then is used up", "[torch][graph]") {
  seeded const seed{3};
  auto const net = network();
  tensors const leaves{torch::randn({rows, columns}).requires_grad_(), net.graph.leaves[1]};
  torch::manual_seed(5);
  auto const plain = of(net.plain(leaves), leaves);
  cairn::graph_planner planner{net.measured};
  auto const program = net.program(planner.plan(planner.least_budget()).actions);
  torch::manual_seed(5);
  auto const results = graph_node::call(program, leaves);
  auto const loss = results[0].pow(2).sum() + results[1].sin().sum();
  for (bool const retain : {true, true, false})
    CHECK(same_bits(torch::autograd::grad({loss}, leaves, {}, retain), plain.gradients));
  CHECK(support::said<std::exception>([&] {
          (void)torch::autograd::grad({results[0].sum()}, leaves);
        }).find("the checkpoints were used up by an earlier backward") != std::string::npos);
}

TEST_CASE("gradients of a graph can be differentiated, and asked for one by one", "[torch][graph]") {
  seeded const seed{4};
  auto const net = network();
  tensors const leaves{torch::randn({rows, columns}).requires_grad_(), net.graph.leaves[1]};
  cairn::graph_planner planner{net.measured};
  auto const program = net.program(planner.plan(planner.least_budget()).actions);
  auto const twice = [&](auto const& call) {
    torch::manual_seed(5);
    auto const results = call();
    auto const first = torch::autograd::grad({results[0].pow(2).sum()}, leaves, {}, true, true);
    auto const penalty = first[0].pow(2).sum() + first[1].pow(2).sum() + results[1].sum();
    auto second = torch::autograd::grad({penalty}, leaves);
    second.insert(second.end(), {first[0].detach(), first[1].detach()});
    return second;
  };
  auto const plain = twice([&] { return net.plain(leaves); });
  auto const ours = twice([&] { return graph_node::call(program, leaves); });
  for (std::size_t k = 0; k < plain.size(); ++k)
    CHECK((plain[k] - ours[k]).abs().max().item<double>() <= 1e-5 * plain[k].abs().max().item<double>());
  CHECK(same_bits(plain[2], ours[2]));
  CHECK(same_bits(plain[3], ours[3]));
  for (auto const& leaf : leaves) {
    torch::manual_seed(5);
    auto const wanted = torch::autograd::grad({net.plain(leaves)[0].sum()}, {leaf});
    torch::manual_seed(5);
    CHECK(same_bits(torch::autograd::grad({graph_node::call(program, leaves)[0].sum()}, {leaf}), wanted));
  }
  auto const still = leaves[0].detach();
  torch::manual_seed(5);
  auto const wanted = torch::autograd::grad({net.plain({still, leaves[1]})[0].sum()}, {leaves[1]});
  torch::manual_seed(5);
  CHECK(
      same_bits(torch::autograd::grad({graph_node::call(program, {still, leaves[1]})[0].sum()}, {leaves[1]}), wanted));
  torch::manual_seed(5);
  CHECK(!graph_node::call(program, {still, leaves[1].detach()})[0].requires_grad());
}

TEST_CASE("hooks of tensors outside a graph run once", "[torch][graph]") {
  seeded const seed{6};
  auto const net = network();
  auto const w = net.graph.leaves[1];
  auto const source = torch::randn({rows, columns}).requires_grad_();
  cairn::graph_planner planner{net.measured};
  auto const program = net.program(planner.plan(planner.least_budget()).actions);
  int of_weight = 0, of_input = 0;
  auto const hook = w.register_hook([&](Tensor const&) { ++of_weight; });
  auto const x = source * 2;
  x.register_hook([&](Tensor const& bar) {
    ++of_input;
    return bar * 0.5;
  });
  torch::manual_seed(5);
  graph_node::call(program, {x, w})[0].sum().backward();
  w.remove_hook(hook);
  CHECK(of_weight == 1);
  CHECK(of_input == 1);
  auto const found = source.grad().clone();
  torch::manual_seed(5);
  auto const plain = torch::autograd::grad({net.plain({x, w})[0].sum()}, {source});
  CHECK(same_bits(found, plain[0]));
}

TEST_CASE("what was read must not change before backward", "[torch][graph]") {
  seeded const seed{7};
  auto const net = network();
  cairn::graph_planner planner{net.measured};
  auto const program = net.program(planner.plan(planner.least_budget()).actions);
  tensors const leaves{torch::randn({rows, columns}).requires_grad_(), net.graph.leaves[1]};
  for (auto const& leaf : leaves) {
    auto const results = graph_node::call(program, leaves);
    {
      torch::NoGradGuard const off;
      leaf.mul_(1.5);
    }
    CHECK(support::message_of([&] {
            results[0].sum().backward();
          }).find("a tensor that was read was changed in place before backward") != std::string::npos);
  }
  auto const results = graph_node::call(program, leaves);
  {
    torch::NoGradGuard const off;
    results[0].mul_(2);  // no adjoint reads it
  }
  results[0].sum().backward();
}

TEST_CASE("an exception in any operation leaves nothing behind", "[torch][graph]") {
  seeded const seed{8};
  auto const runs = std::make_shared<int>(0);
  auto net = network(runs);
  cairn::graph_planner planner{net.measured};
  auto const plan = planner.plan(planner.least_budget());
  int fails_at = -1;
  for (auto& one : net.graph.operations)
    one.run = [run = one.run, runs, &fails_at](tensors const& in) {
      if (*runs == fails_at) throw std::length_error{"mine"};
      return run(in);
    };
  auto const program = net.program(plan.actions);
  tensors const leaves{torch::randn({rows, columns}).requires_grad_(), net.graph.leaves[1]};
  for (fails_at = 0; fails_at < int(plan.cost.runs); ++fails_at) {
    *runs = 0;
    cl::byte_meter meter;
    CHECK_THROWS_AS((void)of(graph_node::call(program, leaves), leaves), std::length_error);
    CHECK(meter.allocated() == 0);
  }
  fails_at = -1;
  torch::manual_seed(5);
  auto const plain = of(net.plain(leaves), leaves);
  torch::manual_seed(5);
  CHECK(same(plain, of(graph_node::call(program, leaves), leaves)));
}

TEST_CASE("several threads run one graph at once", "[torch][graph]") {
  seeded const seed{9};
  auto net = network();
  net.graph.operations[2].run = [](tensors const& in) { return tensors{in[0] * in[0].exp()}; };
  net.graph.operations[2].draws = false;
  net.measured.operations[2].adjoint_needs_inputs = true;
  cairn::graph_planner planner{net.measured};
  auto const program = net.program(planner.plan(planner.least_budget()).actions);
  std::vector<tensors> leaves;
  std::vector<outcome> plain, ours(3);
  for (int k = 0; k < 3; ++k) {
    leaves.push_back({torch::randn({rows, columns}).requires_grad_(), net.graph.leaves[1]});
    plain.push_back(of(net.plain(leaves.back()), leaves.back()));
  }
  std::vector<std::thread> all;
  for (std::size_t k = 0; k < 3; ++k)
    all.emplace_back([&, k] {
      for (int n = 0; n < 5; ++n) ours[k] = of(graph_node::call(program, leaves[k]), leaves[k]);
    });
  for (auto& one : all) one.join();
  for (std::size_t k = 0; k < 3; ++k) CHECK(same(plain[k], ours[k]));
}

}  // namespace graph_execute_tests
