// SPDX-License-Identifier: Apache-2.0
#include "support/torch.hpp"
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>
#include <cairn/adapt/torch/compat/memory_hook.hpp>
#include <cairn/adapt/torch/checkpoint/region.hpp>
#include <cairn/adapt/torch/checkpoint/sequential.hpp>

namespace sequential_least_tests {

using at::Tensor;
using cl::checkpoint_sequential;
using cl::CheckpointedSequentialOptions;
using support::message_of;
using support::seeded;
namespace nn = torch::nn;

/// Attention and a feed-forward network, as in examples/torch_transformer.cpp.
struct BlockImpl : nn::Module {
  explicit BlockImpl(std::int64_t units)
      : width{units},
        before{register_module("before", nn::LayerNorm(nn::LayerNormOptions({units})))},
        mix{register_module("mix", nn::Linear(units, 3 * units))},
        join{register_module("join", nn::Linear(units, units))},
        widen{register_module("widen", nn::Linear(units, 4 * units))},
        narrow{register_module("narrow", nn::Linear(4 * units, units))},
        dropout{register_module("dropout", nn::Dropout(0.1))} {}
  Tensor forward(Tensor const& x) {
    auto const y = x + dropout(attention(before(x)));
    return y + dropout(narrow(torch::gelu(widen(before(y)))));
  }
  Tensor attention(Tensor const& x) {
    auto const part = mix(x).view({x.size(0), x.size(1), 3, 4, width / 4}).permute({2, 0, 3, 1, 4});
    auto const weights =
        dropout(torch::softmax(part[0].matmul(part[1].transpose(-2, -1)) / std::sqrt(double(width / 4)), -1));
    return join(weights.matmul(part[2]).transpose(1, 2).reshape(x.sizes()));
  }
  std::int64_t width;
  nn::LayerNorm before;
  nn::Linear mix, join, widen, narrow;
  nn::Dropout dropout;
};
TORCH_MODULE(Block);
/// Logits by the weights of an embedding.
struct TiedHeadImpl : nn::Module {
  explicit TiedHeadImpl(Tensor const& of) : weight{register_parameter("weight", of)} {}
  Tensor forward(Tensor const& x) { return torch::linear(x, weight); }
  Tensor weight;
};
TORCH_MODULE(TiedHead);

nn::Sequential gpt(bool tied) {
  nn::Embedding embedding(2000, 64);
  nn::Sequential net(embedding, nn::Dropout(0.1));
  for (int k = 0; k < 8; ++k) net->push_back(Block(64));
  net->push_back(nn::LayerNorm(nn::LayerNormOptions({64})));
  if (tied) net->push_back(TiedHead(embedding->weight));
  else net->push_back(nn::Linear(64, 2000));
  return net;
}
nn::Sequential blocks() {
  nn::Sequential net;
  for (int k = 0; k < 12; ++k) net->push_back(Block(64));
  return net;
}
nn::Sequential layers() {
  nn::Sequential net;
  for (int k = 0; k < 8; ++k) {
    net->push_back(nn::Linear(128, 128));
    net->push_back(nn::LayerNorm(nn::LayerNormOptions({128})));
    net->push_back(nn::GELU());
    net->push_back(nn::Dropout(0.2));
  }
  return net;
}
nn::Sequential convolutions() {
  nn::Sequential net;
  for (int k = 0; k < 6; ++k) {
    net->push_back(nn::Conv2d(nn::Conv2dOptions(8, 8, 3).padding(1)));
    net->push_back(nn::BatchNorm2d(8));
    net->push_back(nn::ReLU(nn::ReLUOptions(true)));
  }
  net->push_back(nn::Flatten());
  net->push_back(nn::Linear(8 * 32 * 32, 10));
  return net;
}
nn::Sequential views() {
  nn::Sequential net;
  for (int k = 0; k < 6; ++k) {
    net->push_back(nn::Linear(128, 128));
    net->push_back(nn::Unflatten(nn::UnflattenOptions(1, {2, 64})));
    net->push_back(nn::Flatten());
    net->push_back(nn::Dropout(nn::DropoutOptions(0.2).inplace(true)));
    net->push_back(nn::Tanh());
  }
  return net;
}

/// Bytes of a training step, whose gradients are made anew.
struct held {
  std::int64_t all = 0;     ///< at most, without all that is the caller's
  std::int64_t strict = 0;  ///< at most, without what the caller has by then
};
held measured(nn::Sequential const& net, Tensor const& x, std::function<Tensor()> const& forward) {
  auto leaves = net->parameters();
  if (x.requires_grad()) leaves.push_back(x);
  std::vector<void*> seen;
  std::int64_t live = 0, callers = 0, gradients = 0, all = 0, strict = 0;
  std::vector<unsigned> hooks;
  for (auto& leaf : leaves) {
    leaf.mutable_grad() = Tensor{};
    bool const is_new = std::find(seen.begin(), seen.end(), leaf.unsafeGetTensorImpl()) == seen.end();
    seen.push_back(leaf.unsafeGetTensorImpl());
    if (is_new) gradients += std::int64_t(leaf.nbytes());
    hooks.push_back(is_new ? leaf.register_hook([&](Tensor const& g) { callers += std::int64_t(g.nbytes()); }) : 0);
  }
  Tensor seed;
  {
    torch::NoGradGuard const off;
    seed = torch::ones_like(nn::Sequential(net)->forward(x));
  }
  callers = std::int64_t(seed.nbytes());  // the output; the seed stood before
  gradients += callers;
  {
    auto const hook = cl::register_memory_hook([&](c10::Device, std::int64_t taken, std::int64_t freed) {
      live += taken - freed;
      all = (std::max)(all, live);
      strict = (std::max)(strict, live - callers);
    });
    auto const y = forward();
    y.backward(seed);
  }
  for (std::size_t k = 0; k < leaves.size(); ++k) {
    if (std::find(seen.begin(), seen.begin() + std::ptrdiff_t(k), seen[k]) == seen.begin() + std::ptrdiff_t(k))
      leaves[k].remove_hook(hooks[k]);
    leaves[k].mutable_grad() = Tensor{};
  }
  return {all - gradients, strict};
}

TEST_CASE("the least bytes that a Sequential names are held at most, and no more than a tenth above what runs there",
          "[torch][sequential]") {
  seeded const seed{1};
  auto const words = torch::randint(2000, {8, 32});
  struct example {
    char const* name;
    nn::Sequential net;
    Tensor x;
    bool in_blocks = false;
  };
  std::vector<example> const examples{{"blocks", blocks(), torch::randn({4, 32, 64}).requires_grad_(true), true},
                                      {"gpt", gpt(false), words, true},
                                      {"gpt with tied weights", gpt(true), words, true},
                                      {"layers with dropout", layers(), torch::randn({512, 128}).requires_grad_(true)},
                                      {"convolutions", convolutions(), torch::randn({16, 8, 32, 32})},
                                      {"views and in place", views(), torch::randn({512, 128}).requires_grad_(true)}};
  for (auto const& one : examples) {
    auto net = one.net;
    auto const refused = message_of(
        [&] { (void)checkpoint_sequential(net, 0, one.x, CheckpointedSequentialOptions().memory_limit(1)); });
    auto const at = refused.find("least = ");
    REQUIRE(at != std::string::npos);
    std::int64_t const least = std::stoll(refused.substr(at + 8));
    auto const at_least = [&] {
      return checkpoint_sequential(net, 0, one.x, CheckpointedSequentialOptions().memory_limit(least));
    };
    (void)at_least();  // measures
    auto const ran = measured(net, one.x, at_least);
    auto const plain = measured(net, one.x, [&] { return net->forward(one.x); });
    INFO(one.name << ": said " << least << ", held " << ran.all << ", beside the gradients of the time " << ran.strict
                  << "; the plain call " << plain.all);
    CHECK(ran.all <= least);
    CHECK(double(least) <= 1.1 * double(ran.strict));
    CHECK(least < plain.all);
    if (!one.in_blocks) continue;
    auto const regions = measured(net, one.x, [&] {  // what a user runs by hand
      auto y = one.x;
      for (auto const& child : *net) y = cl::checkpoint(child, y);
      return y;
    });
    INFO("a region a child holds " << regions.all << ", beside the gradients of the time " << regions.strict);
    CHECK(double(least) <= 1.1 * double(regions.strict));
  }
}

}  // namespace sequential_least_tests
