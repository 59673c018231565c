// SPDX-License-Identifier: Apache-2.0
#include "support/torch.hpp"
#include <cmath>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>
#include "../../../examples/torch/models/gpt.hpp"
#include "../../../examples/torch/models/resnet.hpp"
#include "../../../examples/torch/models/unet.hpp"

namespace models_tests {

using at::Tensor;
using support::same_bits;
using support::seeded;

std::int64_t numbers(torch::nn::Module const& module) {
  std::int64_t count = 0;
  for (Tensor const& parameter : module.parameters()) count += parameter.numel();
  return count;
}
Tensor of(torch::nn::Module const& module, std::string const& name) {
  auto const parameters = module.named_parameters();
  if (parameters.contains(name)) return parameters[name];
  return module.named_buffers()[name];
}
/// The formula of a batch norm in training.
Tensor normalised(torch::nn::Module const& module, std::string const& name, Tensor const& x) {
  auto const mean = x.mean({0, 2, 3}, true), centred = x - mean;
  auto const of_channel = [&](char const* what) { return of(module, name + what).view({1, -1, 1, 1}); };
  auto const variance = centred.pow(2).mean({0, 2, 3}, true);
  return centred / torch::sqrt(variance + 1e-5) * of_channel(".weight") + of_channel(".bias");
}
Tensor linear(torch::nn::Module const& module, std::string const& name, Tensor const& x) {
  return x.matmul(of(module, name + ".weight").t()) + of(module, name + ".bias");
}
/// The formula of a layer norm.
Tensor normalised_last(torch::nn::Module const& module, std::string const& name, Tensor const& x) {
  auto const centred = x - x.mean(-1, true);
  auto const variance = centred.pow(2).mean(-1, true);
  return centred / torch::sqrt(variance + 1e-5) * of(module, name + ".weight") + of(module, name + ".bias");
}
/// Gradients of all parameters and of x.
std::vector<Tensor> gradients(torch::nn::Module& module, Tensor const& x, Tensor const& y) {
  auto inputs = module.parameters();
  inputs.push_back(x);
  return torch::autograd::grad({y.pow(2).sum()}, inputs);
}
bool near_all(std::vector<Tensor> const& a, std::vector<Tensor> const& b) {
  if (a.size() != b.size()) return false;
  for (std::size_t k = 0; k < a.size(); ++k)
    if (!torch::allclose(a[k], b[k], 1e-8, 1e-10)) return false;
  return true;
}
auto const numbers64 = torch::TensorOptions(torch::kDouble);

TEST_CASE("models have as many parameters as those of the papers, with the names of torchvision", "[torch][models]") {
  CHECK(numbers(*models::resnet18()) == 11'689'512);
  CHECK(numbers(*models::resnet50()) == 25'557'032);
  CHECK(numbers(*models::resnet152()) == 60'192'808);
  CHECK(numbers(*models::UNet(3, 2, 64, 4)) == 31'037'698);
  // GPT-2 small has 124,439,808; a block of it 12 width^2 + 13 width.
  auto const of_block = numbers(*models::GPTBlock(models::gpt_sizes{.width = 768, .heads = 12}));
  CHECK(of_block == 12 * 768 * 768 + 13 * 768);
  CHECK(numbers(*models::GPT(models::gpt_sizes{50257, 1024, 768, 12, 0})) + 12 * of_block == 124'439'808);

  auto const net = models::resnet50();
  auto const parameters = net->named_parameters().keys();
  std::vector<std::string> const first{"conv1.weight", "bn1.weight", "bn1.bias", "layer1.0.conv1.weight"};
  CHECK(std::vector<std::string>(parameters.begin(), parameters.begin() + 4) == first);
  for (char const* name :
       {"layer1.0.downsample.0.weight", "layer1.0.downsample.1.bias", "layer4.2.bn3.weight", "fc.bias"})
    CHECK(net->named_parameters().contains(name));
  CHECK(!net->named_parameters().contains("layer1.1.downsample.0.weight"));
  CHECK(net->named_buffers().contains("layer3.5.bn2.running_var"));
  CHECK(parameters.size() == 161);
}

TEST_CASE("a residual block is its formula, value and gradients", "[torch][models]") {
  seeded const seed{1};
  bool const bottleneck = GENERATE(false, true);
  auto const [from, stride] = GENERATE(std::pair{8, 1}, std::pair{8, 2}, std::pair{6, 1});
  std::int64_t const width = bottleneck ? 2 : 8;
  models::ResidualBlock block(from, width, stride, bottleneck);
  block->to(torch::kDouble);
  auto const x = torch::randn({3, from, 6, 6}, numbers64).requires_grad_();
  auto const y = block->forward(x);

  auto const convolved = [&](std::string const& name, Tensor const& in, std::int64_t step) {
    auto const weight = of(*block, name + ".weight");
    return torch::conv2d(in, weight, {}, step, weight.size(2) / 2);
  };
  auto z = torch::clamp_min(normalised(*block, "bn1", convolved("conv1", x, bottleneck ? 1 : stride)), 0);
  z = normalised(*block, "bn2", convolved("conv2", z, bottleneck ? stride : 1));
  if (bottleneck) z = normalised(*block, "bn3", convolved("conv3", torch::clamp_min(z, 0), 1));
  bool const as_it_is = stride == 1 && from == 8;
  CHECK(of(*block, "conv1.weight").size(1) == from);
  CHECK(block->named_parameters().contains("downsample.0.weight") == !as_it_is);
  z = torch::clamp_min(
      z + (as_it_is ? Tensor(x) : normalised(*block, "downsample.1", convolved("downsample.0", x, stride))), 0);
  CHECK(torch::allclose(y, z, 1e-10, 1e-12));
  CHECK(near_all(gradients(*block, x, y), gradients(*block, x, z)));
  CHECK(of(*block, "bn1.num_batches_tracked").item<std::int64_t>() == 1);
}

TEST_CASE("a block of a GPT is its formula, value and gradients", "[torch][models]") {
  seeded const seed{2};
  models::gpt_sizes const sizes{.tokens = 7, .length = 6, .width = 8, .heads = 2, .blocks = 1};
  models::GPTBlock block(sizes);
  block->to(torch::kDouble);
  std::int64_t const batch = 2, length = 5, part = sizes.width / sizes.heads;  // shorter than it may be
  auto const x = torch::randn({batch, length, sizes.width}, numbers64).requires_grad_();
  auto const y = block->forward(x);

  auto const mixed = linear(*block, "attn.c_attn", normalised_last(*block, "ln_1", x));
  std::vector<Tensor> texts;
  for (std::int64_t b = 0; b < batch; ++b) {
    std::vector<Tensor> places;
    for (std::int64_t t = 0; t < length; ++t) {
      std::vector<Tensor> heads;
      for (std::int64_t h = 0; h < sizes.heads; ++h) {
        auto const of_head = [&](int which) {
          auto const first = which * sizes.width + h * part;
          return mixed[b].slice(1, first, first + part);
        };
        auto const seen = of_head(1).slice(0, 0, t + 1).mv(of_head(0)[t]) / std::sqrt(double(part));
        auto const weights = torch::exp(seen) / torch::exp(seen).sum();
        heads.push_back(of_head(2).slice(0, 0, t + 1).t().mv(weights));
      }
      places.push_back(torch::cat(heads));
    }
    texts.push_back(torch::stack(places));
  }
  auto const added = x + linear(*block, "attn.c_proj", torch::stack(texts));
  auto const wide = linear(*block, "c_fc", normalised_last(*block, "ln_2", added));
  auto const z = added + linear(*block, "c_proj", wide * 0.5 * (1 + torch::erf(wide / std::sqrt(2.0))));
  CHECK(torch::allclose(y, z, 1e-10, 1e-12));
  CHECK(near_all(gradients(*block, x, y), gradients(*block, x, z)));
}

TEST_CASE("a GPT sees no later token, and its table of tokens is its last matrix", "[torch][models]") {
  seeded const seed{3};
  models::GPT net(models::gpt_sizes{.tokens = 11, .length = 8, .width = 8, .heads = 2, .blocks = 3});
  auto const tokens = torch::randint(11, {2, 8}, torch::kLong);
  auto const y = net->forward(tokens);
  CHECK(y.sizes() == at::IntArrayRef{2, 8, 11});
  auto other = tokens.clone();
  other.slice(1, 5).add_(1).remainder_(11);
  auto const z = net->forward(other);
  CHECK(same_bits(y.slice(1, 0, 5), z.slice(1, 0, 5)));
  CHECK(!same_bits(y.slice(1, 5), z.slice(1, 5)));

  net->to(torch::kDouble);
  auto const table = of(*net, "wte.weight"), before = table.detach().clone();
  auto const gradient = torch::autograd::grad({net->forward(tokens).pow(2).sum()}, {table})[0];
  auto const at_distance = [&](double step) {  // along the gradient
    torch::NoGradGuard const off;
    table.copy_(before + step * gradient);
    return net->forward(tokens).pow(2).sum().item<double>();
  };
  double const slope = (at_distance(1e-6) - at_distance(-1e-6)) / 2e-6, wanted = gradient.pow(2).sum().item<double>();
  CAPTURE(slope, wanted);
  CHECK(std::abs(slope - wanted) < 1e-4 * wanted);
}

TEST_CASE("forward is the part before the blocks, the blocks, and the part after them", "[torch][models]") {
  seeded const seed{4};
  models::ResNet net(models::resnet_sizes{{1, 2, 1, 1}, true, 5, 8});
  net->eval();
  auto const x = torch::randn({2, 3, 32, 32});
  CHECK(net->blocks().size() == 5);
  auto y = net->before_blocks(x);
  CHECK(y.sizes() == at::IntArrayRef{2, 8, 8, 8});
  for (auto block : net->blocks()) y = block->forward(y);
  CHECK(y.sizes() == at::IntArrayRef{2, 256, 1, 1});
  CHECK(same_bits(net->after_blocks(y), net->forward(x)));
}

TEST_CASE("a U-Net joins each level with what was there on the way down", "[torch][models]") {
  seeded const seed{5};
  models::UNet net(3, 2, 4, 2);
  net->eval();
  auto const x = torch::randn({1, 3, 8, 8});
  auto const y = net->forward(x);
  CHECK(y.sizes() == at::IntArrayRef{1, 2, 8, 8});
  torch::NoGradGuard const off;
  auto const twice = [&](std::string const& name, Tensor in) {
    for (char const* part : {".conv1.weight", ".conv2.weight"})  // a mean of 0 and a variance of 1
      in = torch::clamp_min(torch::conv2d(in, of(*net, name + part), {}, 1, 1) / std::sqrt(1 + 1e-5), 0);
    return in;
  };
  auto const a = twice("down.0", x), b = twice("down.1", torch::max_pool2d(a, 2));
  auto const c = twice("down.2", torch::max_pool2d(b, 2));
  auto const wider = [&](std::string const& name, Tensor const& in) {
    return torch::conv_transpose2d(in, of(*net, name + ".weight"), of(*net, name + ".bias"), 2);
  };
  auto const d = twice("up.0", torch::cat({b, wider("ups.0", c)}, 1));
  auto const e = twice("up.1", torch::cat({a, wider("ups.1", d)}, 1));
  CHECK(torch::allclose(y, torch::conv2d(e, of(*net, "last.weight"), of(*net, "last.bias")), 1e-4, 1e-5));
}

}  // namespace models_tests
