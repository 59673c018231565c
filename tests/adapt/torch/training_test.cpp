// SPDX-License-Identifier: Apache-2.0
// Three programs that train, each with the few lines changed that a user would change: the losses of twenty steps are
// those of the plain program.
#include "support/torch.hpp"
#include <cmath>
#include <cstdint>
#include <string>
#include <tuple>
#include <utility>
#include <vector>
#include <cairn/adapt/torch/loop/loop.hpp>
#include <cairn/adapt/torch/record/region.hpp>
#include <cairn/adapt/torch/loop/scan.hpp>
#include <cairn/adapt/torch/loop/while.hpp>

namespace training_tests {

using at::Tensor;
using cl::LoopOptions;
using support::same_bits;
using support::seeded;

/// A network that reads a text character by character and says the next one.
struct CharacterModelImpl : torch::nn::Module {
  torch::nn::Embedding embedding{nullptr};
  torch::nn::LSTMCell cell{nullptr};
  torch::nn::Linear head{nullptr};
  bool looped = false;

  CharacterModelImpl(std::int64_t characters, std::int64_t units) {
    embedding = register_module("embedding", torch::nn::Embedding(characters, units));
    cell = register_module("cell", torch::nn::LSTMCell(units, units));
    head = register_module("head", torch::nn::Linear(units, characters));
  }
  using state = std::tuple<Tensor, Tensor>;
  /// \param text  time x batch
  std::pair<Tensor, state> forward(Tensor const& text, state s) {
    auto const xs = embedding(text);
    if (looped) {
      auto const step = [this](state const& now, Tensor const& x, std::int64_t) {
        auto next = cell(x, now);
        auto y = std::get<0>(next);
        return std::pair{std::move(next), std::move(y)};
      };
      auto [last, ys] = cl::checkpointed_scan(step, s, xs, LoopOptions().checkpoints(6).block_size(4));
      return {head(ys), last};
    }
    std::vector<Tensor> ys;
    for (auto const& x : xs.unbind(0)) {
      s = cell(x, s);
      ys.push_back(std::get<0>(s));
    }
    return {head(torch::stack(ys)), s};
  }
};
TORCH_MODULE(CharacterModel);

std::vector<Tensor> train_characters(bool looped) {
  seeded const seed{11};
  std::string const text = "a cairn is a heap of stones that marks a way over the fells where no path is to be seen; ";
  std::vector<std::int64_t> codes;
  for (int k = 0; k < 2'000; ++k) codes.push_back(text[std::size_t(k) % text.size()] - ' ');
  auto const all = torch::tensor(codes);
  constexpr std::int64_t batch = 4, time = 40;
  CharacterModel model(96, 24);
  model->looped = looped;
  torch::optim::Adam optimiser(model->parameters(), torch::optim::AdamOptions(1e-2));
  CharacterModelImpl::state s{torch::zeros({batch, 24}), torch::zeros({batch, 24})};
  std::vector<Tensor> losses;
  for (std::int64_t k = 0; k < 20; ++k) {
    std::vector<Tensor> rows;
    for (std::int64_t b = 0; b < batch; ++b)
      rows.push_back(all.slice(0, b * 450 + k * 20, b * 450 + k * 20 + time + 1));
    auto const piece = torch::stack(rows, 1);
    optimiser.zero_grad();
    auto const [scores, last] = model->forward(piece.slice(0, 0, time), s);
    auto const loss = torch::nn::functional::cross_entropy(scores.reshape({-1, 96}), piece.slice(0, 1).reshape(-1));
    loss.backward();
    torch::nn::utils::clip_grad_norm_(model->parameters(), 1.0);
    optimiser.step();
    s = {std::get<0>(last).detach(), std::get<1>(last).detach()};
    losses.push_back(loss.detach());
  }
  return losses;
}

TEST_CASE("an LSTM over characters trains with the losses of the plain loop", "[torch][training]") {
  auto const plain = train_characters(false);
  CHECK(same_bits(plain, train_characters(true)));
  CHECK(plain.back().item<float>() < plain.front().item<float>());
}

/// One block of a transformer that looks back.
struct BlockImpl : torch::nn::Module {
  torch::nn::LayerNorm first{nullptr}, second{nullptr};
  torch::nn::Linear attention{nullptr}, projection{nullptr}, up{nullptr}, down{nullptr};
  torch::nn::Dropout dropout{nullptr};

  explicit BlockImpl(std::int64_t width) {
    first = register_module("first", torch::nn::LayerNorm(torch::nn::LayerNormOptions({width})));
    second = register_module("second", torch::nn::LayerNorm(torch::nn::LayerNormOptions({width})));
    attention = register_module("attention", torch::nn::Linear(width, 3 * width));
    projection = register_module("projection", torch::nn::Linear(width, width));
    up = register_module("up", torch::nn::Linear(width, 4 * width));
    down = register_module("down", torch::nn::Linear(4 * width, width));
    dropout = register_module("dropout", torch::nn::Dropout(0.1));
  }
  Tensor forward(Tensor const& x) {
    constexpr std::int64_t heads = 2;
    auto const batch = x.size(0), time = x.size(1), width = x.size(2);
    auto const parts = attention(first(x)).view({batch, time, 3, heads, width / heads}).permute({2, 0, 3, 1, 4});
    auto weights = parts[0].matmul(parts[1].transpose(-2, -1)) / std::sqrt(double(width / heads));
    weights = weights.masked_fill(torch::ones({time, time}, at::kBool).triu(1), -1e9).softmax(-1);
    auto const y =
        x + dropout(projection(dropout(weights).matmul(parts[2]).transpose(1, 2).reshape({batch, time, width})));
    return y + dropout(down(torch::gelu(up(second(y)))));
  }
};
TORCH_MODULE(Block);

/// A small GPT, whose head is its embedding.
struct LanguageModelImpl : torch::nn::Module {
  torch::nn::Embedding tokens{nullptr}, places{nullptr};
  torch::nn::ModuleList blocks;
  torch::nn::LayerNorm last{nullptr};
  bool regions = false;

  LanguageModelImpl(std::int64_t characters, std::int64_t width, std::int64_t time, int depth) {
    tokens = register_module("tokens", torch::nn::Embedding(characters, width));
    places = register_module("places", torch::nn::Embedding(time, width));
    for (int k = 0; k < depth; ++k) blocks->push_back(Block(width));
    register_module("blocks", blocks);
    last = register_module("last", torch::nn::LayerNorm(torch::nn::LayerNormOptions({width})));
  }
  Tensor forward(Tensor const& text) {
    auto x = tokens(text) + places(torch::arange(text.size(1)));
    for (auto const& one : *blocks) {
      auto const block = std::dynamic_pointer_cast<BlockImpl>(one);
      auto const f = [block](Tensor const& in) { return block->forward(in); };
      x = regions ? cl::checkpoint(f, x) : f(x);
    }
    return last(x).matmul(tokens->weight.t());
  }
};
TORCH_MODULE(LanguageModel);

std::vector<Tensor> train_language(bool regions) {
  seeded const seed{12};
  LanguageModel model(32, 16, 12, 4);
  model->regions = regions;
  torch::optim::AdamW optimiser(model->parameters(), torch::optim::AdamWOptions(3e-3));
  auto const text = torch::arange(13).unsqueeze(0).add(torch::arange(4).unsqueeze(1)).pow(2).remainder(32);
  std::vector<Tensor> losses;
  for (int k = 0; k < 20; ++k) {
    optimiser.zero_grad();
    auto const scores = model->forward(text.slice(1, 0, 12));
    auto const loss = torch::nn::functional::cross_entropy(scores.reshape({-1, 32}), text.slice(1, 1).reshape(-1));
    loss.backward();
    optimiser.step();
    losses.push_back(loss.detach());
  }
  losses.push_back(at::detail::getDefaultCPUGenerator().get_state());
  return losses;
}

TEST_CASE(
    "a GPT with a region for each block trains with the losses of the plain one, tied weights and dropout included",
    "[torch][training]") {
  auto const plain = train_language(false);
  CHECK(same_bits(plain, train_language(true)));
  CHECK(plain[19].item<float>() < plain[0].item<float>());
}

/// Solves y' = f(y) from time 0 to 1 with steps as long as the error allows. State: y, the time, the next step's
/// length.
struct AdaptiveSolver {
  using state = std::tuple<Tensor, Tensor, Tensor>;
  torch::nn::Sequential f;
  double tolerance = 1e-3;

  state operator()(state const& s) const {
    auto const& [y, t, h] = s;
    auto right_side = f;
    auto const k1 = right_side->forward(y), k2 = right_side->forward(y + h * k1);
    auto const next = y + h / 2 * (k1 + k2);
    auto const error = (h / 2 * (k2 - k1)).detach().abs().max();
    auto const taken = error < tolerance;
    auto const later = torch::where(taken, t + h, t);
    auto const length = torch::minimum(h * (0.9 * (tolerance / error).sqrt()).clamp(0.2, 5.0), 1 - later);
    return {torch::where(taken, next, y), later, length};
  }
  static bool goes_on(state const& s) { return std::get<1>(s).item<double>() < 1 - 1e-12; }
};

std::pair<std::vector<Tensor>, std::vector<int>> train_equation(bool looped) {
  seeded const seed{13};
  AdaptiveSolver solver{torch::nn::Sequential(torch::nn::Linear(2, 16), torch::nn::Tanh(), torch::nn::Linear(16, 2))};
  solver.f->to(at::kDouble);
  torch::optim::Adam optimiser(solver.f->parameters(), torch::optim::AdamOptions(5e-2));
  auto const start = torch::randn({8, 2}, at::kDouble);
  auto const turned = torch::stack({start.select(1, 1), -start.select(1, 0)}, 1);
  std::vector<Tensor> losses;
  std::vector<int> steps;
  for (int k = 0; k < 20; ++k) {
    optimiser.zero_grad();
    AdaptiveSolver::state s{start, torch::zeros({}, at::kDouble), torch::full({}, 0.1, at::kDouble)};
    int taken = 0;
    if (looped) {
      auto const counted = [&](AdaptiveSolver::state const& now) {
        bool const on = AdaptiveSolver::goes_on(now);
        taken += on;
        return on;
      };
      s = cl::checkpointed_while(solver, s, counted, LoopOptions().checkpoints(4).block_size(2));
    } else {
      for (; AdaptiveSolver::goes_on(s); ++taken) s = solver(s);
    }
    auto const loss = (std::get<0>(s) - turned).pow(2).mean();
    loss.backward();
    optimiser.step();
    losses.push_back(loss.detach());
    steps.push_back(taken);
  }
  return {losses, steps};
}

TEST_CASE("a neural ODE with adaptive steps trains with the losses and the steps of the plain loop",
          "[torch][training]") {
  auto const plain = train_equation(false), looped = train_equation(true);
  CHECK(same_bits(plain.first, looped.first));
  CHECK(plain.second == looped.second);
  CHECK(plain.first.back().item<double>() < plain.first.front().item<double>());
  CHECK(plain.second.back() != plain.second.front());
}

}  // namespace training_tests
