// SPDX-License-Identifier: Apache-2.0
// Profiles of training steps, held against the steps themselves.
#include "support/torch.hpp"
#include "models/whole_models.hpp"
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>
#include <cairn/adapt/torch/graph/checkpoint_module.hpp>
#include <cairn/adapt/torch/profile/step_profiler.hpp>
#include <cairn/plan/graph/graph_planner.hpp>
#include <cairn/profile/profile_csv.hpp>

namespace step_profiler_tests {

using at::Tensor;
using cairn::node_type;
using cl::tensor_list;
using support::same_bits;
namespace models = whole_models;

struct trained {
  models::ResNet net{3};
  tensor_list batch{torch::randn({8, 3, 16, 16}), torch::randint(10, {8}, torch::kLong)};
  torch::optim::Adam optimizer{net->parameters(), torch::optim::AdamOptions(1e-3)};
  Tensor loss(tensor_list const& in) { return torch::cross_entropy_loss(net->forward(in[0]), in[1]); }
  std::int64_t parameter_bytes() const {
    std::int64_t bytes = 0;
    for (auto const& p : net->parameters()) bytes += std::int64_t(p.nbytes());
    return bytes;
  }
};

TEST_CASE("the profile of a training step has its parameters, its optimiser and its counted peak", "[torch][profile]") {
  torch::manual_seed(5);
  trained of;
  cl::StepProfiler profiler;
  auto const graph = profiler.run(*of.net, [&](tensor_list const& in) { return of.loss(in); }, of.batch, of.optimizer);
  auto const& stats = profiler.stats();
  auto const& report = profiler.report();
  auto tabled = graph;  // tables hold no buffers that operations change
  for (auto& one : tabled.operations) one.states_changed.clear(), one.states_read.clear(), one.copy_bytes = 0;
  CHECK(tabled != graph);
  CHECK(cairn::graph_of(stats) == tabled);
  CHECK(cairn::read_profile_csv(cairn::node_stats_csv(stats), cairn::activation_stats_csv(stats)) == stats);
  std::int64_t params = 0, states = 0, forward = 0, backward = 0;
  for (auto const& node : stats.nodes) {
    auto const bytes = node.median_peak_mem_bytes - node.median_active_mem_bytes;
    CHECK(bytes >= 0);
    if (node.type == node_type::param) params += bytes;
    if (node.node_name == "optimizer.state") states += bytes;
    forward += node.gtype == cairn::graph_type::forward;
    backward += node.gtype == cairn::graph_type::backward;
    if (node.gtype != cairn::graph_type::other) CHECK(node.median_run_time_s >= 0);
  }
  CHECK(params == of.parameter_bytes());
  CHECK(states >= 2 * params);  // two moments of each parameter
  CHECK(states < 2 * params + 1'000);
  CHECK(forward == graph.size());
  CHECK(backward == forward);
  auto const& update = stats.nodes[stats.nodes.size() - 2];
  CHECK(update.node_name == "optimizer.step");
  CHECK(update.type == node_type::opt_state);
  CHECK(update.median_active_mem_bytes == report.standing_bytes + params);  // all gradients are there, nothing else

  auto const& parts = report.counted;
  CAPTURE(report.predicted_peak, report.counted_peak, report.standing_bytes);
  CHECK(parts.peak == report.counted_peak);
  CHECK(parts.bytes[0] + parts.bytes[1] + parts.bytes[2] + parts.bytes[3] + parts.bytes[4] == report.counted_peak);
  CHECK(parts[node_type::param] == params);
  CHECK(parts[node_type::opt_state] == states);
  CHECK(parts[node_type::grad] <= params);
  CHECK(parts[node_type::act] > 0);
  CHECK(parts[node_type::act] < report.counted_peak - report.standing_bytes);
  CHECK(parts[node_type::other] >= std::int64_t(of.batch[0].nbytes()));
  for (auto const& p : of.net->parameters()) CHECK_FALSE(p.grad().defined());
}

/// Bytes that the plain step keeps between forward and backward.
std::int64_t kept_bytes(cairn::operation_graph const& graph) {
  std::vector<bool> kept(graph.operations.size());
  std::int64_t bytes = 0;
  for (auto const v : graph.outputs) kept[std::size_t(v)] = true;
  for (std::size_t v = 0; v < kept.size(); ++v) {
    auto const& one = graph.operations[v];
    bytes += one.tape_bytes;
    if (one.adjoint_needs_output) kept[v] = true;
    for (std::size_t k = 0; k < one.inputs.size(); ++k)
      if (one.adjoint_needs_inputs[k]) kept[std::size_t(one.inputs[k])] = true;
  }
  for (std::size_t v = 0; v < kept.size(); ++v)
    if (kept[v]) bytes += graph.operations[v].bytes;
  return bytes;
}
template <class Net>
void check_bytes(Net net, tensor_list const& batch) {
  CAPTURE(net->name());
  auto const loss = [&](tensor_list const& in) {
    auto const y = net->forward(in[0]);
    return y.dim() == 3 ? torch::cross_entropy_loss(y.flatten(0, 1), in[1].flatten()) : y.pow(2).sum();
  };
  torch::optim::Adam optimizer(net->parameters(), torch::optim::AdamOptions(1e-3));
  cl::StepProfiler profiler;
  auto const graph = profiler.run(*net, loss, batch, optimizer);
  CHECK_NOTHROW(cairn::detail::check_graph(graph, "profiled"));
  auto const& report = profiler.report();
  auto const in_step = double(report.counted_peak - report.standing_bytes),
             predicted = double(report.predicted_peak - report.standing_bytes);
  CAPTURE(report.predicted_peak, report.counted_peak, report.standing_bytes);
  CHECK(predicted > 0.9 * in_step);
  CHECK(predicted < 1.1 * in_step);

  cl::byte_meter const meter;
  auto const y = loss(batch);
  auto const plain = meter.allocated();
  CAPTURE(plain, kept_bytes(graph));
  CHECK(kept_bytes(graph) >= plain - 64);  // a few bytes of numbers
  CHECK(double(kept_bytes(graph)) <= double(plain) * 1.05);
}

TEST_CASE("a profile predicts the bytes of steps, and what they keep for backward", "[torch][profile]") {
  torch::manual_seed(8);
  auto const image = torch::randn({8, 3, 16, 16}), words = torch::randint(50, {4, 32}, torch::kLong);
  check_bytes(models::ResNet(3), {image});
  check_bytes(models::ResNet(9), {image});
  check_bytes(models::UNet(), {image});
  for (double const dropped : {0.1, 0.0})  // products and sums that read one of their inputs
    check_bytes(models::LanguageModel(50, 32, 2, 32, 3, dropped), {words, words});
}

/// Layers of one width, each with a path around it.
struct DeepImpl : torch::nn::Module {
  static constexpr int depth = 8;
  torch::nn::ModuleList layers = register_module("layers", torch::nn::ModuleList());
  DeepImpl() {
    for (int k = 0; k < depth; ++k) layers->push_back(torch::nn::Linear(32, 32));
  }
  Tensor forward(Tensor x) {
    for (int k = 0; k < depth; ++k) x = x + torch::tanh(layers->at<torch::nn::LinearImpl>(std::size_t(k)).forward(x));
    return x;
  }
};
TORCH_MODULE(Deep);

TEST_CASE("measure, plan and run a training step in three lines", "[torch][profile]") {
  torch::manual_seed(6);
  Deep net;
  tensor_list const batch{torch::randn({64, 32}), torch::randint(32, {64}, torch::kLong)};
  torch::optim::SGD optimizer(net->parameters(), torch::optim::SGDOptions(0.1));
  auto const loss = [&](tensor_list const& in) { return torch::cross_entropy_loss(net->forward(in[0]), in[1]); };
  cl::StepProfiler profiler;
  auto const graph = profiler.run(*net, loss, batch, optimizer);
  auto const plan = cairn::graph_planner{graph}.plan(cairn::graph_planner{graph}.least_budget() * 3 / 2);
  auto const within = cl::checkpoint_module(loss, plan.cost.peak, cl::ModuleOptions().strict(true));
  auto const planned = within(batch);
  planned.backward();

  CHECK(plan.cost.runs > graph.size());
  CHECK(within.report().again > 0);
  auto const lean = support::take_grads(net->parameters());
  auto const plain = loss(batch);
  plain.backward();
  CHECK(same_bits(planned, plain));
  CHECK(same_bits(lean, support::take_grads(net->parameters())));
  CHECK(profiler.stats().nodes[profiler.stats().nodes.size() - 2].node_name == "optimizer.step");
  for (auto const& node : profiler.stats().nodes) CHECK(node.node_name != "optimizer.state");  // plain SGD has none
}

TEST_CASE("each operation of a step has what its adjoint needs, and its times", "[torch][profile]") {
  torch::manual_seed(7);
  Deep net;
  tensor_list const batch{torch::randn({64, 32})};
  torch::optim::SGD optimizer(net->parameters(), torch::optim::SGDOptions(0.1));
  cl::StepProfiler profiler;
  auto const graph = profiler.run(
      *net, [&](tensor_list const& in) { return torch::dropout(net->forward(in[0]), 0.5, true).sum(); }, batch,
      optimizer);
  CHECK_NOTHROW(cairn::detail::check_graph(graph, "profiled"));
  std::int64_t const bytes = 64 * 32 * 4;
  for (std::size_t v = 0; v < 3 * DeepImpl::depth; v += 3) {
    auto const &product = graph.operations[v], &bend = graph.operations[v + 1], &sum = graph.operations[v + 2];
    auto const before = cairn::step_index(v) - 1;
    CHECK(product.inputs == (v == 0 ? std::vector<cairn::step_index>{} : std::vector{before}));
    CHECK((v == 0 || product.adjoint_needs_inputs == true));
    CHECK_FALSE(product.adjoint_needs_output);
    CHECK(bend.adjoint_needs_output);
    CHECK(bend.adjoint_needs_inputs == false);
    CHECK(sum.adjoint_needs_inputs == false);
    CHECK_FALSE(sum.adjoint_needs_output);
    CHECK(product.adjoint_bytes == bytes);
    CHECK(bend.adjoint_bytes == (v == 0 ? bytes : 0));  // it is the tensor of the other summand's, if that has one
    CHECK(sum.adjoint_bytes == bytes);
    for (auto const* const one : {&product, &bend, &sum}) {
      CHECK(one->bytes == bytes);
      CHECK(one->tape_bytes == 0);
      CHECK(one->time > 0);
      CHECK(one->adjoint_time > 0);
    }
  }
  auto const dropped = std::find_if(graph.operations.begin(), graph.operations.end(),
                                    [](auto const& one) { return !one.states_changed.empty(); });
  REQUIRE(dropped != graph.operations.end());
  CHECK(dropped->states_changed == std::vector<cairn::step_index>{0});  // the generators
  CHECK(profiler.stats().nodes[DeepImpl::depth * 2 + 1].node_name.find("addmm of layers.0 #0") == 0);
}

TEST_CASE("a step that goes another way each time is profiled by its last run", "[torch][profile]") {
  trained of;
  cl::StepProfiler profiler;
  int calls = 0;
  auto const by_value = [&](tensor_list const& in) {
    auto const loss = of.loss(in);
    return ++calls % 2 == 0 ? loss * 2 : loss;
  };
  CHECK_THROWS_AS(profiler.stats(), cairn::invalid_call);
  auto const graph = profiler.run(*of.net, by_value, of.batch, of.optimizer);
  auto const last = calls;
  auto const again = profiler.run(*of.net, [&](tensor_list const& in) { return of.loss(in); }, of.batch, of.optimizer);
  CHECK(graph.size() == again.size() + (last % 2 == 0 ? 1 : 0));
  CHECK_THROWS_AS(cl::StepProfiler(cl::StepProfilerOptions().runs(2)), cairn::invalid_plan);
}

}  // namespace step_profiler_tests
