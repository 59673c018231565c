// SPDX-License-Identifier: Apache-2.0
// What a trace shows of LibTorch: operators, layers, backward passes, and what is run again.
#include "support/torch.hpp"
#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
#include <vector>
#include <cairn/adapt/torch.hpp>
#include <cairn/adapt/torch/trace/operator_trace.hpp>
#include <cairn/core/error.hpp>
#include <cairn/trace/trace_region.hpp>
#include <cairn/trace/trace_writer.hpp>
#include "support/trace.hpp"

using at::Tensor;
using cairn::trace_region;
using cairn::trace_writer;

namespace {

struct TracedNetImpl : torch::nn::Module {
  TracedNetImpl()
      : conv{register_module("conv", torch::nn::Conv2d(torch::nn::Conv2dOptions(1, 2, 3)))},
        fc{register_module("fc", torch::nn::Linear(2 * 4 * 4, 3))} {}
  Tensor forward(Tensor const& x) { return fc(torch::relu(conv(x)).flatten(1)); }
  torch::nn::Conv2d conv;
  torch::nn::Linear fc;
};
TORCH_MODULE(TracedNet);

bool named(json const& e, std::string const& part) { return e.text("name").find(part) != std::string::npos; }
std::vector<json> naming(std::vector<json> const& all, std::string const& part) {
  std::vector<json> found;
  std::copy_if(all.begin(), all.end(), std::back_inserter(found), [&](json const& e) { return named(e, part); });
  return found;
}

}  // namespace

TEST_CASE("operators, their layers and their backward pass are events, and no bit changes", "[torch][trace]") {
  torch::manual_seed(3);
  TracedNet net;
  auto const x = torch::randn({2, 1, 6, 6});
  auto const run = [&] {
    auto const y = net(x);
    y.pow(2).sum().backward();
    auto made = support::take_grads(net->parameters());
    made.push_back(y.detach());
    return made;
  };
  auto const plain = run();
  traces::scratch_file const file;
  {
    trace_writer log{file.name()};
    {
      cairn::libtorch::operator_trace const operators{log, *net};
      CHECK(support::same_bits(run(), plain));
      CHECK_THROWS_AS(cairn::libtorch::operator_trace{log}, cairn::invalid_call);
    }
    auto const before = log.events();
    (void)run();  // no trace is on any more
    CHECK(log.events() == before);
  }
  auto const all = file.events();
  traces::check(all);
  auto const relu = traces::with(all, "name", "function.relu.default");
  REQUIRE(relu.size() == 1);
  CHECK(relu[0].text("cat") == "forward");
  CHECK(relu[0].at("args").text("type") == "function");
  CHECK(relu[0].at("args").text("target") == "aten.relu.default");
  CHECK(relu[0].at("args").integer("grad_enabled") == 1);
  CHECK(relu[0].at("args").members.count("layer") == 0);
  std::map<std::string, std::string> const layers{{"function.conv2d", "conv"}, {"function.addmm.default", "fc"}};
  for (auto const& [op, layer] : layers) {
    auto const found = naming(all, op);
    REQUIRE(!found.empty());
    CHECK(found[0].at("args").text("layer") == layer);
  }
  std::map<std::string, int> backward;
  for (auto const& e : traces::with(all, "cat", "reverse"))
    if (e.at("args").members.count("layer") != 0) ++backward[e.at("args").text("layer")];
  CHECK(backward["conv"] > 0);
  CHECK(backward["fc"] > 0);
  CHECK(!naming(traces::with(all, "cat", "reverse"), "Backward0").empty());
  CHECK(traces::with(all, "cat", "recompute").empty());
}

TEST_CASE("a traced module is an event around its operators, and regions give them a category", "[torch][trace]") {
  TracedNet net;
  auto const x = torch::randn({2, 1, 6, 6});
  traces::scratch_file const file;
  {
    trace_writer log{file.name()};
    cairn::libtorch::operator_trace const operators{log};
    cairn::libtorch::traced_module conv{log, "conv", net->conv};
    torch::NoGradGuard const none;
    auto const y = conv(x);
    trace_region const evaluation{log, "evaluation", {{"epoch", 1}}, {.category = "evaluation"}};
    (void)conv(y.narrow(1, 0, 1));
    (void)y.sum();
  }
  auto const all = file.events();
  traces::check(all);
  auto const modules = traces::with(all, "name", "module.conv");
  REQUIRE(modules.size() == 2);
  CHECK(modules[0].text("cat") == "forward");
  CHECK(modules[0].at("args").integer("grad_enabled") == 0);
  CHECK(modules[0].at("args").text("type") == "module");
  CHECK(modules[1].text("cat") == "evaluation");
  auto const convolutions = naming(all, "function.conv2d");
  REQUIRE(convolutions.size() == 2);
  CHECK(convolutions[0].at("args").integer("p_idx") == modules[0].integer("id"));
  CHECK(traces::with(all, "name", "function.sum.default").at(0).text("cat") == "evaluation");
}

TEST_CASE("what a backward pass runs again has a category of its own", "[torch][trace]") {
  auto const w = torch::randn({4, 4}).requires_grad_();
  traces::scratch_file const file;
  constexpr std::int64_t steps = 12;
  {
    trace_writer log{file.name()};
    cairn::libtorch::operator_trace const operators{log};
    auto const x0 = torch::ones({2, 4}).requires_grad_();
    auto const y = cl::checkpoint([&](Tensor const& x) { return x.mm(w).tanh().sin(); }, x0);
    y.sum().backward();
    auto const z = cl::checkpointed_loop([&](Tensor const& x, std::int64_t) { return x.mm(w).sigmoid(); },
                                         x0, steps,
                                         cl::LoopOptions().checkpoints(2).callbacks(cl::trace_steps(log)));
    z.sum().backward();
  }
  auto const all = file.events();
  traces::check(all);
  std::map<std::string, int> tanh, sigmoid;
  for (auto const& e : traces::with(all, "name", "function.tanh.default")) ++tanh[e.text("cat")];
  for (auto const& e : traces::with(all, "name", "function.sigmoid.default")) ++sigmoid[e.text("cat")];
  CHECK(tanh == std::map<std::string, int>{{"forward", 1}, {"recompute", 1}});
  CHECK(sigmoid.size() == 2);
  CHECK(sigmoid["forward"] == steps);
  CHECK(sigmoid["recompute"] > steps);
  auto const counted = traces::with(all, "name", "steps").back();
  CHECK(counted.at("args").integer("forward") == steps);
  CHECK(counted.at("args").integer("reverse") == steps);
}

TEST_CASE("a trace shows composite operators, or what they are made of, in one category if asked for",
          "[torch][trace]") {
  using cl::TraceLevel;
  auto const x = torch::randn({1, 1, 6, 6}), w = torch::randn({2, 1, 3, 3}).requires_grad_();
  auto const names = [&](cl::TraceOptions const& options) {
    traces::scratch_file const file;
    {
      trace_writer log{file.name()};
      cairn::libtorch::operator_trace const operators{log, options};
      torch::max_pool2d(torch::relu(torch::conv2d(x, w)), 2);
    }
    auto const all = file.events();
    traces::check(all);
    std::vector<std::string> found;
    for (auto const& e : all)
      if (named(e, "function.") && (options.category().empty() || e.text("cat") == options.category()))
        found.push_back(e.text("name"));
    return found;
  };
  using words = std::vector<std::string>;
  auto const all = names({});
  auto const count = [&](std::string const& name) { return std::count(all.begin(), all.end(), name); };
  CHECK(count("function.conv2d.default") == 1);
  CHECK(count("function.convolution.default") == 1);
  CHECK(count("function._convolution.default") == 1);
  auto outer = names(cl::TraceOptions().level(TraceLevel::Outermost));
  CHECK(outer == words{"function.conv2d.default", "function.relu.default", "function.max_pool2d.default"});
  auto const parts = names(cl::TraceOptions().level(TraceLevel::Aten).category("dynamo").getitem(true));
  CHECK(parts == words{"function.convolution.default", "function.relu.default",
                       "function.max_pool2d_with_indices.default", "function.getitem", "function.getitem"});
}
