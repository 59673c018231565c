// SPDX-License-Identifier: Apache-2.0
#pragma once
// The cases of regions: what loops.cpp runs plain, or each step in a region of its own.
#include <cmath>
#include <cstdint>
#include <memory>
#include <vector>
#include <torch/torch.h>

namespace regions {

using torch::Tensor;

/// Matrices of 8x8: what a region costs beside its operations.
struct tiny {
  static constexpr std::int64_t steps = 1000;
  Tensor w, b;
  Tensor operator()(Tensor const& x) const { return torch::tanh(torch::addmm(b, x, w)); }
};

/// A block of a GPT: attention that sees no later place, and a feed-forward network. Weights are (inputs, outputs).
struct block {
  static constexpr std::int64_t batch = 4, length = 256, width = 256, heads = 4;
  Tensor mix, join, widen, narrow;
  [[nodiscard]] static Tensor normal(Tensor const& x) { return torch::layer_norm(x, {width}); }
  [[nodiscard]] Tensor attention(Tensor const& x) const {
    auto const part = x.matmul(mix).view({batch, length, 3, heads, width / heads}).permute({2, 0, 3, 1, 4});
    auto const later = torch::ones({length, length}, torch::kBool).triu(1);
    auto const scores = part[0].matmul(part[1].transpose(-2, -1)) / std::sqrt(double(width / heads));
    auto const weights = torch::softmax(scores.masked_fill(later, -1e9), -1);
    return weights.matmul(part[2]).transpose(1, 2).reshape({batch, length, width}).matmul(join);
  }
  Tensor operator()(Tensor const& x) const {
    auto const y = x + attention(normal(x));
    return y + torch::gelu(normal(y).matmul(widen)).matmul(narrow);
  }
};
inline constexpr std::int64_t blocks = 12;

}  // namespace regions
