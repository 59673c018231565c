// SPDX-License-Identifier: Apache-2.0
// One backward through a transformer of 24 blocks within a budget of bytes. Attention is written out: matrix products,
// a softmax, dropout. The torch::nn::Sequential runs as it is; what the limit does not let it hold, and costs least to
// make again, is made again in backward: autograd's gradients have to be the plain call's, bit for bit, and the bytes
// of tensors have to stay below the limit. What differs from the plain call is marked.

#include <cmath>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <vector>

#include <torch/torch.h>

#include <cairn/adapt/torch.hpp>

#include "torch/measured.hpp"

namespace cl = cairn::libtorch;

namespace {

using torch::Tensor;

constexpr std::int64_t depth = 24, batch = 4, length = 32, width = 64, heads = 4;

/// Attention and a feed-forward network, each normalised before and added to its input.
struct BlockImpl : torch::nn::Module {
  BlockImpl()
      : before_attention{register_module("before_attention",
                                         torch::nn::LayerNorm(torch::nn::LayerNormOptions({width})))},
        mix{register_module("mix", torch::nn::Linear(width, 3 * width))},
        join{register_module("join", torch::nn::Linear(width, width))},
        before_feed{register_module("before_feed", torch::nn::LayerNorm(torch::nn::LayerNormOptions({width})))},
        widen{register_module("widen", torch::nn::Linear(width, 4 * width))},
        narrow{register_module("narrow", torch::nn::Linear(4 * width, width))},
        dropout{register_module("dropout", torch::nn::Dropout(0.1))} {}

  Tensor forward(Tensor const& x) {
    auto const y = x + dropout(attention(before_attention(x)));
    return y + dropout(narrow(torch::gelu(widen(before_feed(y)))));
  }
  Tensor attention(Tensor const& x) {
    auto const part = mix(x)
                          .view({batch, length, 3, heads, width / heads})
                          .permute({2, 0, 3, 1, 4});  // query, key, value: batch, head, place, feature
    auto const scores = part[0].matmul(part[1].transpose(-2, -1)) / std::sqrt(double(width / heads));
    auto const weights = dropout(torch::softmax(scores, -1));
    return join(weights.matmul(part[2]).transpose(1, 2).reshape({batch, length, width}));
  }

  torch::nn::LayerNorm before_attention;
  torch::nn::Linear mix, join;
  torch::nn::LayerNorm before_feed;
  torch::nn::Linear widen, narrow;
  torch::nn::Dropout dropout;
};
TORCH_MODULE(Block);

torch::nn::Sequential make_net() {
  torch::manual_seed(1);
  torch::nn::Sequential net;
  for (std::int64_t k = 0; k < depth; ++k) net->push_back(Block());
  return net;
}

/// \returns output and gradients
template <class Forward>
std::vector<Tensor> differentiate(torch::nn::Sequential const& net, Tensor const& x, Tensor const& seed,
                                  Forward forward) {
  torch::manual_seed(2);
  Tensor const y = forward();
  y.backward(seed);
  std::vector<Tensor> made{y.detach(), x.grad()};
  for (Tensor const& weight : net->parameters()) made.push_back(weight.grad());
  return made;
}

}  // namespace

int main() {
  try {
    auto net = make_net();
    Tensor const x = torch::randn({batch, length, width}).requires_grad_(), seed = torch::randn({batch, length, width});
    std::int64_t counts_for_nothing =
        2 * std::int64_t(x.nbytes());  // the output, and the gradients of input and weights
    for (Tensor const& weight : net->parameters()) counts_for_nothing += std::int64_t(weight.nbytes());

    auto const forward = [&] { return net->forward(x); };
    auto const warm_up = [&] {
      (void)differentiate(net, x, seed, forward);
      x.mutable_grad() = Tensor{};
      for (Tensor const& weight : net->parameters()) weight.mutable_grad() = Tensor{};
    };
    auto const plain = support::measure(warm_up, [&] { return differentiate(net, x, seed, forward); });
    std::printf("%d blocks; gradients and output, %.3f MB, are left out of the limits\n", int(depth),
                double(counts_for_nothing) / 1e6);
    support::print("plain:", plain.memory);

    auto const in_plain = plain.memory.tensor_bytes - counts_for_nothing;
    bool good = true;
    for (int const part : {2, 4, 8}) {
      cairn::byte_size const limit{cairn::wide(in_plain / part)};
      auto const under_limit = [&] {
        return cl::checkpoint_sequential(
            net, 0, x, cl::CheckpointedSequentialOptions().memory_limit(limit));  // the edit: was net->forward(x)
      };
      auto const run = support::measure(warm_up, [&] { return differentiate(net, x, seed, under_limit); });
      bool const same = run.made == plain.made,
                 within = run.memory.tensor_bytes <= std::int64_t(limit.count()) + counts_for_nothing;
      std::printf("limit %.3f MB, 1/%d of what plain takes: %s, %s\n", double(limit.count()) / 1e6, part,
                  same ? "the same bits" : "OTHER BITS", within ? "within" : "ABOVE");
      support::print("checkpointed:", run.memory);
      good = good && same && within;
    }
    return good ? 0 : 1;
  } catch (std::exception const& problem) {
    std::fprintf(stderr, "torch_transformer: %s\n", problem.what());
    return 1;
  }
}
