// SPDX-License-Identifier: Apache-2.0
// Recorded calls whose operators draw random numbers, and change buffers that others read: whatever runs again, they
// have the results, gradients, buffers and generators of the plain call.
#include "support/torch.hpp"
#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>
#include <cairn/adapt/torch/compat/hc_module.hpp>
#include <cairn/adapt/torch/graph/checkpoint_module.hpp>
#include <cairn/adapt/torch/memory/byte_meter.hpp>

namespace record_effects_tests {

using at::Tensor;
using support::same_bits;
using support::take_grads;
using tensors = std::vector<Tensor>;
namespace nn = torch::nn;
namespace F = torch::nn::functional;

/// A layer with weights and buffers of its own.
struct layer : nn::Module {
  virtual Tensor forward(Tensor const& x) = 0;
  Tensor weight(char const* name, std::int64_t wide) {
    return register_parameter(name, torch::randn({wide, wide}) / std::sqrt(double(wide)));
  }
};

/// Two draws that do not read each other.
struct noisy : layer {
  explicit noisy(std::int64_t wide) : w{weight("w", wide)}, v{weight("v", wide)} {}
  Tensor forward(Tensor const& x) override {
    auto const mu = x.mm(w), sd = torch::sigmoid(x.mm(v));
    return torch::tanh(mu + torch::randn_like(mu) * sd) + torch::dropout(mu, 0.3, true);
  }
  Tensor w, v;
};
/// Draws of every kind, side by side.
struct draws : layer {
  explicit draws(std::int64_t wide) : w{weight("w", wide)} {}
  Tensor forward(Tensor const& x) override {
    auto const y = x.mm(w);
    auto const a = torch::rrelu(y, 0.1, 0.4, true), b = y * torch::bernoulli(torch::full_like(y, 0.6)),
               c = torch::sin(y) + torch::rand_like(y), d = torch::alpha_dropout(y, 0.2, true),
               e = torch::cos(y) * torch::normal(0.0, 1.0, y.sizes());
    return torch::tanh(a + b + c + d + e);
  }
  Tensor w;
};
/// The weight over its largest singular value, which a buffer follows.
struct spectral : layer {
  explicit spectral(std::int64_t wide)
      : w{weight("w", wide)},
        u{register_buffer("u", F::normalize(torch::randn({wide}), F::NormalizeFuncOptions().dim(0)))} {}
  Tensor forward(Tensor const& x) override {
    auto const unit = F::NormalizeFuncOptions().dim(0);
    Tensor v;
    {
      torch::NoGradGuard const off;
      v = F::normalize(w.t().mv(u), unit);
      u.copy_(F::normalize(w.mv(v), unit));
    }
    auto const sigma = torch::dot(u.clone(), w.mv(v));
    return torch::tanh(x.mm(w / sigma));
  }
  Tensor w, u;
};
/// Reads a running mean, changes it, and reads it again.
struct centred : layer {
  explicit centred(std::int64_t wide) : w{weight("w", wide)}, mean{register_buffer("mean", torch::zeros({wide}))} {}
  Tensor forward(Tensor const& x) override {
    auto const y = x.mm(w), before = torch::sigmoid(y - mean);
    {
      torch::NoGradGuard const off;
      mean.mul_(0.9).add_(y.mean(0), 0.1);
    }
    return before * torch::tanh(y * mean.clone());
  }
  Tensor w, mean;
};
/// Running statistics and a counter of LibTorch's own.
struct normed : layer {
  explicit normed(std::int64_t wide)
      : w{weight("w", wide)},
        norm{register_module("norm", nn::BatchNorm1d(wide))},
        drop{register_module("drop", nn::Dropout(0.4))} {}
  Tensor forward(Tensor const& x) override { return drop(torch::relu(norm(x.mm(w)))) + drop(torch::tanh(x)); }
  Tensor w;
  nn::BatchNorm1d norm;
  nn::Dropout drop;
};
/// The scale of its noise is a buffer that a draw changes.
struct tempered : layer {
  explicit tempered(std::int64_t wide) : w{weight("w", wide)}, heat{register_buffer("heat", torch::ones({1}))} {}
  Tensor forward(Tensor const& x) override {
    auto const y = x.mm(w), a = torch::tanh(y + torch::randn_like(y) * heat.clone());
    {
      torch::NoGradGuard const off;
      heat.add_(torch::rand({1}) * 0.1);
    }
    return a + torch::dropout(torch::sin(y), 0.5, true) * heat.clone();
  }
  Tensor w, heat;
};
/// Layers in a row; one that occurs twice changes its buffers twice.
struct model : nn::Module {
  model(std::string name, std::vector<std::shared_ptr<layer>> all) : nn::Module{std::move(name)}, row{std::move(all)} {
    for (std::size_t k = 0; k < row.size(); ++k)
      if (std::find(row.begin(), row.begin() + std::ptrdiff_t(k), row[k]) == row.begin() + std::ptrdiff_t(k))
        register_module("layer" + std::to_string(k), row[k]);
  }
  Tensor forward(Tensor const& x) {
    Tensor y = x;
    for (auto const& one : row) y = one->forward(y);
    return y;
  }
  std::vector<std::shared_ptr<layer>> row;
};
using model_pointer = std::shared_ptr<model>;
constexpr std::int64_t wide = 16, high = 32;

template <class Layer>
model_pointer row_of(char const* name, int count) {
  std::vector<std::shared_ptr<layer>> all;
  for (int k = 0; k < count; ++k) all.push_back(std::make_shared<Layer>(wide));
  return std::make_shared<model>(name, std::move(all));
}
std::vector<model_pointer> all_models() {
  auto const twice = std::make_shared<centred>(wide);
  auto const norm = std::make_shared<spectral>(wide);  // the buffers of both change more than once in a call
  return {row_of<noisy>("noisy", 2),
          row_of<draws>("draws", 2),
          row_of<spectral>("spectral", 3),
          row_of<centred>("centred", 2),
          row_of<normed>("normed", 2),
          row_of<tempered>("tempered", 2),
          std::make_shared<model>("shared", std::vector<std::shared_ptr<layer>>{twice, norm, twice, norm}),
          std::make_shared<model>("mixed", std::vector<std::shared_ptr<layer>>{
                                               std::make_shared<noisy>(wide), std::make_shared<spectral>(wide),
                                               std::make_shared<normed>(wide), std::make_shared<tempered>(wide)})};
}

/// What a training step leaves.
struct outcome {
  Tensor result, generator;
  tensors gradients, buffers;
  std::int64_t peak = 0;  // bytes at one time, with gradients
};
bool same(outcome const& a, outcome const& b) {
  return same_bits(a.result, b.result) && same_bits(a.gradients, b.gradients) && same_bits(a.buffers, b.buffers) &&
         same_bits(a.generator, b.generator);
}
/// Steps from the same buffers and random numbers.
class steps {
 public:
  explicit steps(model_pointer of) : of_{std::move(of)} {
    for (auto const& t : of_->buffers()) buffers_.push_back(t.clone());
  }
  template <class Call>
  outcome operator()(Call const& call) const {
    {
      torch::NoGradGuard const off;
      auto const now = of_->buffers();
      for (std::size_t k = 0; k < now.size(); ++k) now[k].copy_(buffers_[k]);
    }
    torch::manual_seed(7);
    outcome done;
    auto const seed = torch::linspace(-1, 1, high * wide).reshape({high, wide});
    cl::byte_meter const meter;
    auto const y = call();
    y.backward(seed);
    done.peak = meter.peak();
    done.result = y.detach().clone();
    auto leaves = of_->parameters();
    leaves.push_back(x);
    done.gradients = take_grads(leaves);
    for (auto const& t : of_->buffers()) done.buffers.push_back(t.clone());
    done.generator = at::detail::getDefaultCPUGenerator().get_state();
    return done;
  }
  Tensor x = torch::randn({high, wide}).requires_grad_();

 private:
  model_pointer of_;
  tensors buffers_;
};
std::int64_t bytes_of(tensors const& all) {
  std::int64_t sum = 0;
  for (auto const& t : all)
    if (t.defined()) sum += std::int64_t(t.nbytes());
  return sum;
}

TEST_CASE("recorded calls that draw and change buffers leave what the plain call leaves, within every limit",
          "[torch][record]") {
  support::seeded const seed{5};
  for (auto const& net : all_models()) {
    steps const step{net};
    auto const plain = step([&] { return net->forward(step.x); });
    CAPTURE(net->name());
    auto const free = cl::checkpoint_module(net, std::int64_t{1} << 40);
    CHECK(same(plain, step([&] { return free(step.x); })));
    auto const silent = cl::ModuleOptions().notice([](std::string const&) {});
    auto const lean = cl::checkpoint_module(net, 1, silent);
    CHECK(same(plain, step([&] { return lean(step.x); })));
    CHECK(lean.report().again > 0);
    for (int part : {1, 2, 3}) {
      auto const limit = lean.report().least + (free.report().peak - lean.report().least) * part / 4;
      auto const limited = cl::checkpoint_module(net, limit, cl::ModuleOptions().strict(true).verify(true));
      for (int call = 0; call < 2; ++call) {
        auto const found = step([&] { return limited(step.x); });
        CAPTURE(limit, found.peak);
        CHECK(same(plain, found));
        CHECK(found.peak - bytes_of(plain.gradients) <= limit);
      }
    }
  }
}

TEST_CASE("an HCModule of operations that draw and change buffers leaves what the plain call leaves",
          "[torch][hc_module]") {
  support::seeded const seed{6};
  for (auto const& net : all_models()) {
    steps const step{net};
    auto const plain = step([&] { return net->forward(step.x); });
    CAPTURE(net->name());
    for (int const size : {0, 1, 3}) {
      cl::HCModule blocks{nn::AnyModule{net}, cl::HCConfig().block_size(size).verify(true)};
      CAPTURE(size);
      for (int call = 0; call < 2; ++call) CHECK(same(plain, step([&] { return blocks(step.x); })));
      CHECK(blocks->executor().plans_made() == 1);
      CHECK(blocks->executor().report().dropped > 0);
    }
  }
}

}  // namespace record_effects_tests
