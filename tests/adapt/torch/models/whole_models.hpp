// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file whole_models.hpp  Modules whose forward is their own, as programs write them.
#include <torch/torch.h>
#include <cmath>
#include <cstdint>
#include <tuple>
#include <vector>

namespace whole_models {

using at::Tensor;
namespace nn = torch::nn;

inline nn::Conv2d conv(int from, int to, int kernel, int stride = 1, bool bias = false) {
  return nn::Conv2d(nn::Conv2dOptions(from, to, kernel).padding(kernel / 2).stride(stride).bias(bias));
}

/// Two convolutions beside a path around them, with ReLUs in place.
struct BasicBlockImpl : nn::Module {
  BasicBlockImpl(int from, int to, int stride) {
    first = register_module("first", conv(from, to, 3, stride));
    norm1 = register_module("norm1", nn::BatchNorm2d(to));
    second = register_module("second", conv(to, to, 3));
    norm2 = register_module("norm2", nn::BatchNorm2d(to));
    if (from == to && stride == 1) return;
    around = register_module("around", nn::Sequential(conv(from, to, 1, stride), nn::BatchNorm2d(to)));
  }
  Tensor forward(Tensor x) {
    auto out = norm1(first(x)).relu_();
    out = norm2(second(out));
    out += around.is_empty() ? x : around->forward(x);
    return torch::relu_(out);
  }
  nn::Conv2d first{nullptr}, second{nullptr};
  nn::BatchNorm2d norm1{nullptr}, norm2{nullptr};
  nn::Sequential around{nullptr};
};
TORCH_MODULE(BasicBlock);

/// A small network of such blocks.
struct ResNetImpl : nn::Module {
  explicit ResNetImpl(int blocks = 2, int classes = 10) {
    stem = register_module("stem", conv(3, 8, 3));
    norm = register_module("norm", nn::BatchNorm2d(8));
    for (int k = 0; k < blocks; ++k) body->push_back(BasicBlock(k == 0 ? 8 : 16, 16, k == 0 ? 2 : 1));
    register_module("body", body);
    head = register_module("head", nn::Linear(16, classes));
  }
  Tensor forward(Tensor x) {
    x = torch::max_pool2d(norm(stem(x)).relu_(), 2);
    x = body->forward(x);
    return head(torch::adaptive_avg_pool2d(x, {1, 1}).flatten(1));
  }
  nn::Conv2d stem{nullptr};
  nn::BatchNorm2d norm{nullptr};
  nn::Sequential body;
  nn::Linear head{nullptr};
};
TORCH_MODULE(ResNet);

/// Attention with one product for queries, keys and values, which are views of it, and a mask.
struct AttentionImpl : nn::Module {
  AttentionImpl(int width, int parts, int length, double probability) : heads{parts}, dropped{probability} {
    all = register_module("all", nn::Linear(width, 3 * width));
    out = register_module("out", nn::Linear(width, width));
    mask = register_buffer("mask", torch::ones({length, length}).tril().view({1, 1, length, length}));
  }
  Tensor forward(Tensor x) {
    auto const batch = x.size(0), length = x.size(1), width = x.size(2);
    auto const parts = all(x).split(width, 2);
    auto const by_head = [&](Tensor const& t) { return t.view({batch, length, heads, width / heads}).transpose(1, 2); };
    auto const k = by_head(parts[1]), q = by_head(parts[0]), v = by_head(parts[2]);
    auto weights = torch::matmul(q, k.transpose(-2, -1)) * (1 / std::sqrt(double(width / heads)));
    weights = weights.masked_fill(mask.slice(2, 0, length).slice(3, 0, length) == 0, -1e9);
    weights = torch::dropout(torch::softmax(weights, -1), dropped, is_training());
    auto const mixed = torch::matmul(weights, v).transpose(1, 2).contiguous().view({batch, length, width});
    return torch::dropout(out(mixed), dropped, is_training());
  }
  int heads;
  double dropped;
  nn::Linear all{nullptr}, out{nullptr};
  Tensor mask;
};
TORCH_MODULE(Attention);

struct TransformerBlockImpl : nn::Module {
  TransformerBlockImpl(int width, int heads, int length, double dropped) {
    norm1 = register_module("norm1", nn::LayerNorm(nn::LayerNormOptions({width})));
    norm2 = register_module("norm2", nn::LayerNorm(nn::LayerNormOptions({width})));
    attention = register_module("attention", Attention(width, heads, length, dropped));
    up = register_module("up", nn::Linear(width, 4 * width));
    down = register_module("down", nn::Linear(4 * width, width));
  }
  Tensor forward(Tensor x) {
    x = x + attention(norm1(x));
    return x + down(torch::gelu(up(norm2(x))));
  }
  nn::LayerNorm norm1{nullptr}, norm2{nullptr};
  Attention attention{nullptr};
  nn::Linear up{nullptr}, down{nullptr};
};
TORCH_MODULE(TransformerBlock);

/// A language model whose last product has the weight of its embedding.
struct LanguageModelImpl : nn::Module {
  LanguageModelImpl(int words, int width, int heads, int length, int blocks, double dropped) {
    word = register_module("word", nn::Embedding(words, width));
    place = register_module("place", nn::Embedding(length, width));
    for (int k = 0; k < blocks; ++k) body->push_back(TransformerBlock(width, heads, length, dropped));
    register_module("body", body);
    norm = register_module("norm", nn::LayerNorm(nn::LayerNormOptions({width})));
  }
  Tensor forward(Tensor tokens) {
    auto const places = torch::arange(tokens.size(1), tokens.options());
    auto x = word(tokens) + place(places);
    return torch::matmul(norm(body->forward(x)), word->weight.t());
  }
  nn::Embedding word{nullptr}, place{nullptr};
  nn::Sequential body;
  nn::LayerNorm norm{nullptr};
};
TORCH_MODULE(LanguageModel);

/// Down and up again, where each way up takes what the way down had.
struct UNetImpl : nn::Module {
  UNetImpl() {
    in = register_module("in", conv(3, 8, 3, 1, true));
    down = register_module("down", conv(8, 16, 3, 2, true));
    middle = register_module("middle", conv(16, 16, 3, 1, true));
    up = register_module("up", nn::ConvTranspose2d(nn::ConvTranspose2dOptions(16, 8, 2).stride(2)));
    out = register_module("out", conv(16, 3, 3, 1, true));
  }
  Tensor forward(Tensor x) {
    auto const wide = torch::relu(in(x));
    auto const deep = torch::leaky_relu(middle(torch::relu(down(wide))));
    return out(torch::cat({up(deep), wide}, 1));
  }
  nn::Conv2d in{nullptr}, down{nullptr}, middle{nullptr}, out{nullptr};
  nn::ConvTranspose2d up{nullptr};
};
TORCH_MODULE(UNet);

/// Two inputs, weights used twice, a tuple of results, one of which is a view of the other.
struct PairsImpl : nn::Module {
  PairsImpl() {
    shared = register_module("shared", nn::Linear(8, 8));
    scale = register_parameter("scale", torch::full({8}, 1.5));
  }
  std::tuple<Tensor, Tensor> forward(Tensor x, Tensor y) {
    auto const a = torch::tanh(shared(x)) * scale, b = torch::sigmoid(shared(y)) * scale;
    auto const sum = a + b * a;
    return {sum, sum.t().exp() + a.sum()};
  }
  nn::Linear shared{nullptr};
  Tensor scale;
};
TORCH_MODULE(Pairs);

}  // namespace whole_models
