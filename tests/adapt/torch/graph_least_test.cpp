// SPDX-License-Identifier: Apache-2.0
// The least limit of a captured call beside the bytes of every other way to run it.
#include "models/captured_models.hpp"
#include "models/effect_models.hpp"
#include "support/torch.hpp"
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <memory>
#include <string>
#include <tuple>
#include <utility>
#include <vector>
#include <cairn/adapt/torch.hpp>
#include <cairn/adapt/torch/compat/hc_module.hpp>

namespace graph_least_tests {

using at::Tensor;
using call = std::function<Tensor(Tensor const&)>;
namespace nn = torch::nn;
namespace models = captured_models;

struct FourOperationsImpl : nn::Module {
  Tensor w = register_parameter("w", torch::randn({32, 32}) * 0.2);
  Tensor forward(Tensor const& x) { return torch::tanh(torch::sin(x.mm(w)) * 2); }
};
TORCH_MODULE(FourOperations);
struct RecurrentImpl : nn::Module {
  RecurrentImpl() { register_module("lstm", lstm), register_module("att", att), register_module("encoder", encoder); }
  Tensor forward(Tensor const& x) {
    auto const h = std::get<0>(lstm(x));
    return encoder(h + std::get<0>(att(h, h, h)));
  }
  nn::LSTM lstm{16, 16};
  nn::MultiheadAttention att{nn::MultiheadAttentionOptions(16, 2)};
  nn::TransformerEncoder encoder{
      nn::TransformerEncoderOptions(nn::TransformerEncoderLayerOptions(16, 2).dim_feedforward(32).dropout(0.1), 2)};
};
TORCH_MODULE(Recurrent);

struct kind {
  std::string name;
  std::shared_ptr<nn::Module> net;
  call plain;
  Tensor x;
};
/// A module that calls the model: HCModule captures it, whatever the model is.
struct OuterImpl : nn::Module {
  explicit OuterImpl(kind const& of) : f{of.plain} { register_module("net", of.net); }
  Tensor forward(Tensor const& x) { return f(x); }
  call f;
};

/// \param few  one of six of the models with effects
std::vector<kind> all_kinds(bool few) {
  std::vector<kind> all;
  auto const add = [&](char const* name, auto net, Tensor const& x) {
    all.push_back({name, net.ptr(), [net](Tensor const& in) mutable { return net->forward(in); }, x});
  };
  auto const image = torch::randn({4, 3, 16, 16});
  add("four operations", FourOperations(), torch::randn({16, 32}));
  add("LSTM, attention, encoder", Recurrent(), torch::randn({12, 4, 16}));
  add("ResNet", models::ResNet(3), image);
  add("U-Net", models::UNet(), image);
  add("language model", models::LanguageModel(11, 32, 2, 16, 2, 0.1), torch::randint(11, {4, 16}, torch::kLong));
  int number = 0;
  for (auto const& model : support::effect_models()) {
    if (few && number++ % 6 != 0) continue;
    nn::Sequential net;
    for (int k = 0; k < 4; ++k) net->push_back(model.block());
    add(model.name, net, torch::randn({12, 8}));
  }
  return all;
}

/// The most bytes of a step at one time beside gradients of leaves, for gradients of the result that take memory and
/// for those of a sum.
std::int64_t held(kind const& of, call const& run) {
  auto const x = of.x.is_floating_point() ? of.x.clone().requires_grad_() : of.x;
  auto leaves = of.net->parameters();
  leaves.push_back(x);
  Tensor const dense = torch::ones_like(run(x)), spread = torch::ones({}).expand(dense.sizes());
  std::int64_t most = 0;
  for (auto const& bar : {dense, spread}) {
    auto const bytes = cl::detail::reporter_for(c10::Device(c10::kCPU));
    c10::DebugInfoGuard const guard{c10::DebugInfoKind::PROFILER_STATE, bytes};
    bytes->remember();
    auto const y = run(x);
    y.backward(bar);
    std::vector<void const*> gradients;
    for (auto const& t : leaves)
      if (t.grad().defined()) gradients.push_back(t.grad().storage().data_ptr().get());
    most = (std::max)(most, bytes->rise_beside(gradients));
    for (auto const& t : leaves) t.mutable_grad() = Tensor{};
  }
  return most;
}

/// Blocks of 1 to 10 operations or children, and a region for each child.
std::int64_t best_other(kind const& of) {
  std::int64_t best = held(of, of.plain);
  auto const try_it = [&](call const& run) { best = (std::min)(best, held(of, run)); };
  auto const sequential = std::dynamic_pointer_cast<nn::SequentialImpl>(of.net);
  for (int const size : {1, 2, 3, 4, 5, 6, 7, 8, 10}) {
    cl::HCModule captured(nn::AnyModule{std::make_shared<OuterImpl>(of)}, cl::HCConfig().block_size(size));
    try_it([&](Tensor const& x) { return captured(x); });
    if (!sequential || size > 4) continue;
    cl::HCModule children(nn::Sequential(sequential), cl::HCConfig().block_size(size));
    try_it([&](Tensor const& x) { return children(x); });
  }
  if (sequential)
    try_it([&](Tensor x) {
      for (auto const& child : *sequential) x = cl::checkpoint(child, x);
      return x;
    });
  return best;
}

void check_least(bool few) {
  support::seeded const seed{1};
  std::printf("%-46s %9s %9s %9s %9s %6s\n", "model", "plain", "others", "least", "taken", "ratio");
  for (auto const& of : all_kinds(few)) {
    INFO(of.name);
    auto const within = [&](std::int64_t limit) {
      auto const captured = std::make_shared<cl::HCModule>(nn::AnyModule{std::make_shared<OuterImpl>(of)},
                                                           cl::HCConfig().memory_limit(limit).strict(true));
      return [captured](Tensor const& x) { return (*captured)->forward(x); };
    };
    auto const text = support::said<cairn::infeasible_budget>([&] { (void)held(of, within(1)); });
    auto const at = text.find("least = ");
    CAPTURE(text);
    REQUIRE(at != std::string::npos);
    std::int64_t const least = std::stoll(text.substr(at + 8)), plain = held(of, of.plain);
    auto const taken = held(of, within(least)), others = best_other(of);
    double const ratio = double(least) / double((std::min)(others, taken));
    std::printf("%-46s %9lld %9lld %9lld %9lld %6.3f\n", of.name.c_str(), (long long)plain, (long long)others,
                (long long)least, (long long)taken, ratio);
    CHECK(taken <= least);
    CHECK(ratio <= 1.05);
    CHECK(held(of, within(plain)) <= plain);
  }
}
TEST_CASE("the least limit of a captured call is within 5 % of the best known run, and the plain bytes are accepted",
          "[torch][graph]") {
  check_least(true);
}
TEST_CASE("so it is for every model with effects", "[torch][graph][.soak]") { check_least(false); }

}  // namespace graph_least_tests
