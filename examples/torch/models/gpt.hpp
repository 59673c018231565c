// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file gpt.hpp  A transformer that predicts the next token, as GPT-2 (Radford et al. 2019), and named as it.

#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include <torch/torch.h>

namespace models {

/// Sizes of a GPT. Those of GPT-2 are 50257 tokens, length 1024, width 768, 12 heads, 12 blocks.
struct gpt_sizes {
  std::int64_t tokens = 256;  ///< that there are
  std::int64_t length = 128;  ///< of a text, at most
  std::int64_t width = 256;   ///< of a token, a multiple of `heads`
  std::int64_t heads = 4;
  std::int64_t blocks = 12;
  double dropout = 0;  ///< probability
};

/// Attention that sees no later token, by matrix products and a softmax.
class CausalAttentionImpl : public torch::nn::Module {
 public:
  explicit CausalAttentionImpl(gpt_sizes const& sizes) : heads_{sizes.heads}, dropout_{sizes.dropout} {
    c_attn = register_module("c_attn", torch::nn::Linear(sizes.width, 3 * sizes.width));
    c_proj = register_module("c_proj", torch::nn::Linear(sizes.width, sizes.width));
    auto const never = -std::numeric_limits<float>::infinity();
    later = register_buffer("later", torch::full({sizes.length, sizes.length}, never).triu(1));
  }

  /// \param x  (batch, length, width)
  torch::Tensor forward(torch::Tensor const& x) {
    auto const batch = x.size(0), length = x.size(1), width = x.size(2);
    auto const part = c_attn(x).split(width, 2);
    auto const of_heads = [&](torch::Tensor const& y) {
      return y.view({batch, length, heads_, width / heads_}).transpose(1, 2);
    };
    auto const query = of_heads(part[0]), key = of_heads(part[1]), value = of_heads(part[2]);
    auto const scores = query.matmul(key.transpose(-2, -1)) / std::sqrt(double(width / heads_));
    auto const seen = scores + later.slice(0, 0, length).slice(1, 0, length);
    auto const weights = dropped(torch::softmax(seen, -1));
    return dropped(c_proj(weights.matmul(value).transpose(1, 2).contiguous().view({batch, length, width})));
  }

 private:
  torch::Tensor dropped(torch::Tensor const& x) const {
    return dropout_ > 0 ? torch::dropout(x, dropout_, is_training()) : x;
  }

  std::int64_t heads_;
  double dropout_;
  torch::nn::Linear c_attn{nullptr}, c_proj{nullptr};
  torch::Tensor later;  ///< what scores get: minus infinity for later tokens, else 0
};
TORCH_MODULE(CausalAttention);

/// Attention and a feed-forward network, each normalised before and added to its input.
class GPTBlockImpl : public torch::nn::Module {
 public:
  explicit GPTBlockImpl(gpt_sizes const& sizes) : dropout_{sizes.dropout} {
    ln_1 = register_module("ln_1", torch::nn::LayerNorm(torch::nn::LayerNormOptions({sizes.width})));
    attn = register_module("attn", CausalAttention(sizes));
    ln_2 = register_module("ln_2", torch::nn::LayerNorm(torch::nn::LayerNormOptions({sizes.width})));
    c_fc = register_module("c_fc", torch::nn::Linear(sizes.width, 4 * sizes.width));
    c_proj = register_module("c_proj", torch::nn::Linear(4 * sizes.width, sizes.width));
  }

  torch::Tensor forward(torch::Tensor const& x) {
    auto const y = x + attn(ln_1(x));
    auto const fed = c_proj(torch::gelu(c_fc(ln_2(y))));
    return y + (dropout_ > 0 ? torch::dropout(fed, dropout_, is_training()) : fed);
  }

 private:
  double dropout_;
  torch::nn::LayerNorm ln_1{nullptr}, ln_2{nullptr};
  CausalAttention attn{nullptr};
  torch::nn::Linear c_fc{nullptr}, c_proj{nullptr};
};
TORCH_MODULE(GPTBlock);

/// The whole network. The table of the tokens is the last layer's matrix, too: a parameter that is used twice.
class GPTImpl : public torch::nn::Module {
 public:
  explicit GPTImpl(gpt_sizes const& sizes = {}) {
    wte = register_module("wte", torch::nn::Embedding(sizes.tokens, sizes.width));
    wpe = register_module("wpe", torch::nn::Embedding(sizes.length, sizes.width));
    torch::nn::ModuleList h;
    for (std::int64_t k = 0; k < sizes.blocks; ++k) h->push_back(blocks_.emplace_back(sizes));
    register_module("h", h);
    ln_f = register_module("ln_f", torch::nn::LayerNorm(torch::nn::LayerNormOptions({sizes.width})));
    torch::NoGradGuard const off;
    for (auto const& parameter : named_parameters())
      if (parameter.value().dim() == 2) parameter.value().normal_(0, 0.02);
  }

  /// \param tokens  (batch, length) of whole numbers   \returns scores of the next token, (batch, length, tokens)
  torch::Tensor forward(torch::Tensor const& tokens) {
    auto y = before_blocks(tokens);
    for (GPTBlock& block : blocks_) y = block->forward(y);
    return after_blocks(y);
  }

  /// The three parts of `forward`: what comes before the blocks, the blocks, and what comes after them.
  torch::Tensor before_blocks(torch::Tensor const& tokens) {
    return wte(tokens) + wpe(torch::arange(tokens.size(1), tokens.options()));
  }
  [[nodiscard]] std::vector<GPTBlock> const& blocks() const noexcept { return blocks_; }
  torch::Tensor after_blocks(torch::Tensor const& y) { return torch::linear(ln_f(y), wte->weight); }

 private:
  torch::nn::Embedding wte{nullptr}, wpe{nullptr};
  std::vector<GPTBlock> blocks_;
  torch::nn::LayerNorm ln_f{nullptr};
};
TORCH_MODULE(GPT);

}  // namespace models
