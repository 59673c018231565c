// SPDX-License-Identifier: Apache-2.0
// Profiles of training steps, held against the steps themselves.
#include "support/torch.hpp"
#include "models/captured_models.hpp"
#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>
#include <cairn/adapt/torch/profile/step_profiler.hpp>
#include <cairn/plan/graph/graph_planner.hpp>
#include <cairn/profile/profile_csv.hpp>

namespace step_profiler_tests {

using at::Tensor;
using cairn::node_type;
using cl::tensor_list;
using support::same_bits;
namespace models = captured_models;

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
  auto const in_step = double(report.counted_peak - report.standing_bytes),
             predicted = double(report.predicted_peak - report.standing_bytes);
  CHECK(predicted > 0.9 * in_step);
  CHECK(predicted < 1.5 * in_step);  // the adjoint of a group of operators frees what they saved at its end
  for (auto const& p : of.net->parameters()) CHECK_FALSE(p.grad().defined());
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
  cairn::graph_planner planner{graph};
  auto const plan = planner.plan(planner.least_budget());
  auto const planned = profiler.run_by(plan, batch);
  planned.backward();

  CHECK(plan.cost.runs > graph.size());
  auto const lean = support::take_grads(net->parameters());
  auto const plain = loss(batch);
  plain.backward();
  CHECK(same_bits(planned, plain));
  CHECK(same_bits(lean, support::take_grads(net->parameters())));
  CHECK(profiler.stats().nodes[profiler.stats().nodes.size() - 2].node_name == "optimizer.step");
  for (auto const& node : profiler.stats().nodes) CHECK(node.node_name != "optimizer.state");  // plain SGD has none
  cairn::graph_plan other;
  CHECK_THROWS_AS(profiler.run_by(other, batch), cairn::invalid_schedule);
}

TEST_CASE("a step that depends on values is refused with the reason", "[torch][profile]") {
  trained of;
  cl::StepProfiler profiler;
  auto const by_value = [&](tensor_list const& in) {
    auto const loss = of.loss(in);
    return loss.item<float>() > 1e9f ? loss * 2 : loss;
  };
  CHECK_THROWS_AS(profiler.run_by({}, of.batch), cairn::invalid_call);
  CHECK_THROWS_AS(profiler.run(*of.net, by_value, of.batch, of.optimizer), cairn::invalid_call);
  CHECK_FALSE(profiler.refused().empty());
  CHECK_THROWS_AS(cl::StepProfiler(cl::StepProfilerOptions().runs(2)), cairn::invalid_plan);
}

}  // namespace step_profiler_tests
