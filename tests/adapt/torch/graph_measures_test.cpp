// SPDX-License-Identifier: Apache-2.0
// What the operations of a captured graph take, held against what the plain call keeps.
#include "support/torch.hpp"
#include "models/captured_models.hpp"
#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>
#include <cairn/adapt/torch/graph/detail/capture.hpp>
#include <cairn/adapt/torch/graph/detail/graph_measures.hpp>
#include <cairn/adapt/torch/graph/detail/module_plans.hpp>
#include <cairn/adapt/torch/memory/byte_meter.hpp>
#include <cairn/rules/operation_graph.hpp>

namespace graph_measures_tests {

using at::Tensor;
using cl::byte_meter;
using cl::tensor_list;
using cl::detail::call_capture;
using cl::detail::captured_graph;
using cl::detail::kept_bytes;
using cl::detail::measured_graph;
using support::same_bits;
namespace models = captured_models;

template <class Module>
std::shared_ptr<captured_graph const> captured(Module& net, tensor_list const& inputs) {
  auto const made =
      call_capture::make([&](tensor_list const& in) { return tensor_list{net->forward(in[0])}; }, inputs, net.get());
  CAPTURE(made.refused);
  REQUIRE(made.graph != nullptr);
  return made.graph;
}

template <class Module>
void check_measures(Module net, Tensor const& x, double most_above) {
  auto const graph = captured(net, {x});
  auto const buffers = net->buffers();
  tensor_list before;
  for (auto const& t : buffers) before.push_back(t.clone());
  auto const random = torch::rand({1});
  auto const state = at::detail::getDefaultCPUGenerator().get_state();
  auto const measured = measured_graph(*graph, {x}, 1);
  CHECK(torch::equal(at::detail::getDefaultCPUGenerator().get_state(), state));
  CHECK(same_bits(buffers, before));
  CHECK_NOTHROW(cairn::detail::check_graph(measured, "measured"));
  REQUIRE(measured.size() == cairn::step_index(graph->operations.size()));

  byte_meter meter;
  auto const y = net->forward(x);
  auto const plain = meter.allocated();
  CAPTURE(plain, kept_bytes(measured));
  CHECK(kept_bytes(measured) >= plain - 64);  // a few bytes of numbers
  CHECK(double(kept_bytes(measured)) <= double(plain) * (1 + most_above));
  for (auto const& one : measured.operations) CHECK(one.time > 0);
}

TEST_CASE("bytes of values and tapes add up to what the plain call keeps", "[torch][graph]") {
  torch::manual_seed(1);
  check_measures(models::ResNet(3), torch::randn({4, 3, 16, 16}), 0.02);
  check_measures(models::UNet(), torch::randn({4, 3, 16, 16}), 0.01);
  for (double const dropped : {0.1, 0.0})  // products and sums that read one of their inputs
    check_measures(models::LanguageModel(11, 32, 2, 16, 2, dropped), torch::randint(11, {4, 16}, torch::kLong), 0.001);
}

TEST_CASE("each operation has what its adjoint needs", "[torch][graph]") {
  torch::manual_seed(2);
  models::UNet net;
  auto const x = torch::randn({4, 3, 16, 16});
  auto const graph = captured(net, {x});
  auto const measured = measured_graph(*graph, {x});
  auto const find = [&](std::string const& name) {
    for (std::size_t v = 0; v < graph->operations.size(); ++v)
      if (graph->operations[v].name.find(name) != std::string::npos) return measured.operations[v];
    FAIL(name);
    return cairn::graph_operation{};
  };
  auto const in = find("of in"), middle = find("of middle"), cat = find("cat");
  CHECK(in.bytes == 4 * 8 * 16 * 16 * 4);
  CHECK(in.tape_bytes == 0);
  CHECK(in.inputs.empty());  // the call's own
  CHECK(in.adjoint_needs_output);        // a ReLU
  CHECK(middle.adjoint_needs_inputs == true);
  CHECK_FALSE(cat.adjoint_needs_output);
  CHECK(cat.adjoint_bytes == cat.bytes);
  CHECK(in.adjoint_work >= in.bytes);  // the adjoint of what the convolution gave
  CHECK(measured.outputs == std::vector<cairn::step_index>{measured.size() - 1});
}

/// Products: (x w) u v + (x w), twice read, and a sum that no adjoint reads.
struct TwiceReadImpl : torch::nn::Module {
  Tensor w = register_parameter("w", torch::rand({16, 16})), u = register_parameter("u", torch::rand({16, 16}));
  Tensor forward(Tensor const& x) {
    auto const a = x.mm(w);
    return a.mm(u).mm(u) + a;
  }
};
TORCH_MODULE(TwiceRead);

TEST_CASE("what an adjoint adds to one that is there counts as its work", "[torch][graph]") {
  TwiceRead net;
  auto const x = torch::rand({32, 16});
  auto const graph = captured(net, {x});
  auto const measured = measured_graph(*graph, {x}, 1);
  std::vector<std::int64_t> works;
  for (auto const& one : measured.operations) works.push_back(one.adjoint_work);
  REQUIRE(works.size() >= 3);
  REQUIRE(measured.operations[1].inputs == std::vector<cairn::step_index>{0});
  CAPTURE(works);
  auto const share = std::int64_t(net->u.nbytes());  // the second one of the gradient of u
  CHECK(works[1] == works[2] + measured.operations[0].bytes + share);  // the sum has made the adjoint of value 0
}

TEST_CASE("a capture and its measuring hold less than the plain call", "[torch][graph]") {
  torch::manual_seed(3);
  models::ResNet net(14);
  auto const x = torch::randn({16, 3, 16, 16});
  auto const plain = [&] {
    byte_meter const meter;
    auto const y = net->forward(x);
    return meter.allocated();
  }();
  byte_meter meter;
  auto const graph = captured(net, {x});
  CAPTURE(plain, meter.peak());
  CHECK(meter.peak() < plain * 2 / 5);
  CHECK(meter.allocated() <= 64);
  meter.reset_peak();
  (void)measured_graph(*graph, {x}, 1);
  CHECK(meter.peak() < plain * 2 / 3);
  CHECK(meter.allocated() <= 64);
}

}  // namespace graph_measures_tests
