// SPDX-License-Identifier: Apache-2.0
// Functions that draw, and that read and write tensors which outlive them: second runs find what the first ones found,
// and leave what these left.
#include "models/effect_models.hpp"
#include "support/torch.hpp"
#include <algorithm>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>
#include <cairn/adapt/torch.hpp>
#include <cairn/adapt/torch/compat/hc_module.hpp>
#include <cairn/adapt/torch/graph/checkpoint_module.hpp>

namespace effects_tests {

using at::Tensor;
using Catch::Matchers::ContainsSubstring;
using cl::checkpoint;
using cl::CheckpointOptions;
using cl::LoopOptions;
using support::effect_model;
using support::EffectBlock;
using support::message_of;
using support::same_bits;
using support::seeded;
using support::take_grads;
namespace nn = torch::nn;

struct called {
  std::vector<Tensor> left;  ///< output, gradients, buffers and a random number after forward and after backward
  std::int64_t held = 0;     ///< bytes at most, without output and gradients
};

/// A training step from the given buffers on.
called step(nn::Module& net, std::vector<Tensor> const& buffers, std::function<Tensor(Tensor const&)> const& forward,
            bool backward_twice = false) {
  auto const now = net.buffers();
  for (std::size_t k = 0; k < now.size(); ++k) now[k].variable_data().copy_(buffers[k]);
  torch::manual_seed(11);
  auto const x = torch::randn({12, 8}).requires_grad_();
  auto leaves = net.parameters();
  leaves.push_back(x);
  called found;
  auto const note = [&] {
    for (auto const& b : net.buffers()) found.left.push_back(b.clone());
    found.left.push_back(torch::rand({2}));
  };
  auto const seed = torch::linspace(1, 2, 96).view({12, 8});
  cl::byte_meter const meter;
  auto const y = forward(x);
  note();
  if (backward_twice) y.backward(seed, true);
  y.backward(seed);
  std::int64_t callers = std::int64_t(y.nbytes());
  for (auto const& leaf : leaves) callers += std::int64_t(leaf.nbytes());
  for (auto const& t : found.left) callers += std::int64_t(t.nbytes());
  found.held = meter.peak() - callers;
  note();
  found.left.push_back(y.detach().clone());
  for (auto const& g : take_grads(leaves)) found.left.push_back(g);
  return found;
}

struct chain {
  nn::Sequential net;
  std::vector<Tensor> before;

  explicit chain(effect_model const& model, int blocks = 4) {
    for (int k = 0; k < blocks; ++k) net->push_back(model.block());
    for (auto const& b : net->buffers()) before.push_back(b.clone());
  }
  [[nodiscard]] called run(std::function<Tensor(Tensor const&)> const& forward, bool twice = false) {
    return step(*net, before, forward, twice);
  }
};

TEST_CASE("effects: regions, nested regions and segments leave what the plain call leaves",
          "[torch][region][effects]") {
  seeded const seed{1};
  for (auto const& model : support::effect_models()) {
    chain of{model};
    auto& net = of.net;
    auto const all = [&](Tensor const& x) { return net->forward(x); };
    auto const each = [&](Tensor x) {
      for (auto const& child : *net) x = checkpoint(child, x);
      return x;
    };
    for (bool const twice : {false, true}) {
      auto const plain = of.run(all, twice).left;
      INFO(model.name << (twice ? ", backward twice" : ""));
      CHECK(same_bits(plain, of.run([&](Tensor const& x) { return checkpoint(all, x); }, twice).left));
      CHECK(same_bits(plain, of.run([&](Tensor const& x) { return checkpoint(net, x); }, twice).left));
      auto const bits = CheckpointOptions().verify(true);
      CHECK(same_bits(plain, of.run([&](Tensor const& x) { return checkpoint(all, x, bits); }, twice).left));
      CHECK(same_bits(plain, of.run(each, twice).left));
      CHECK(same_bits(plain, of.run([&](Tensor const& x) { return checkpoint(each, x); }, twice).left));
      for (int const segments : {1, 2, 3, 4})
        CHECK(same_bits(
            plain, of.run([&](Tensor const& x) { return cl::checkpoint_sequential(net, segments, x); }, twice).left));
    }
    auto const plain = of.run(all).left;
    cl::HCModule blocks(net, cl::HCConfig().block_size(2));
    CHECK(same_bits(plain, of.run([&](Tensor const& x) { return blocks->forward(x); }).left));
  }
}

/// The least limit, and limits between it and what the plain call takes.
std::vector<std::int64_t> limits(std::function<void(std::int64_t)> const& call, std::int64_t plain) {
  auto const text = message_of([&] { call(1); });
  auto const at = text.find("least = ");
  if (at == std::string::npos) return {};
  std::int64_t const least = std::stoll(text.substr(at + 8));
  std::vector<std::int64_t> all{least};
  for (auto const limit : {plain / 3, plain / 2, plain})
    if (limit > least) all.push_back(limit);
  return all;
}

TEST_CASE("effects: recorded calls within limits leave what the plain call leaves", "[torch][record][effects]") {
  seeded const seed{4};
  for (auto const& model : support::effect_models()) {
    chain of{model, 2};
    auto const all = [&](Tensor const& x) { return of.net->forward(x); };
    auto const within = [&](std::int64_t limit) {
      return cl::checkpoint_module(all, limit, cl::ModuleOptions().notice([](std::string const&) {}));
    };
    auto const plain = of.run(all);
    INFO(model.name);
    auto const lean = within(1);
    CHECK(same_bits(plain.left, of.run(lean).left));
    auto const least = lean.report().least;
    for (auto const limit : {std::int64_t{1}, (least + plain.held) / 2, plain.held}) {
      INFO(limit << " bytes");
      auto const run = within(limit);
      for (int call = 0; call < 2; ++call) {
        auto const found = of.run(run);
        CHECK(same_bits(plain.left, found.left));
        CHECK(run.report().peak <= (std::max)(limit, run.report().least));
      }
      CHECK(same_bits(of.run(all, true).left, of.run(run, true).left));
    }
  }
}

TEST_CASE("effects: loops leave what the plain loop leaves, named or not, within limits, too", "[torch][effects]") {
  constexpr int steps = 7;
  seeded const seed{3};
  for (auto const& model : support::effect_models()) {
    auto block = model.block();
    std::vector<Tensor> before;
    for (auto const& b : block->buffers()) before.push_back(b.clone());
    auto const f = [&](Tensor const& x) { return block->forward(x); };
    auto const plain = step(*block, before, [&](Tensor x) {
      for (int i = 0; i < steps; ++i) x = f(x);
      return x;
    });
    auto const check = [&](std::string const& what, LoopOptions const& options, auto const& of) {
      INFO(model.name << ", " << what);
      CHECK(same_bits(plain.left, step(*block, before, [&](Tensor const& x) {
                                    return cl::checkpointed_loop(of, x, steps, options);
                                  }).left));
    };
    for (auto const& [slots, size] : {std::pair{1, 1}, {2, 1}, {3, 2}, {7, 1}, {1, 7}}) {
      auto const options = LoopOptions().checkpoints(slots).block_size(size);
      auto const text = std::to_string(slots) + " states, blocks of " + std::to_string(size);
      check(text, options, f);
      check(text + ", a module", options, block);
      check(text + ", named", LoopOptions(options).module(block).determinism(cl::Check::Bits), f);
    }
    INFO(model.name);
    CHECK(same_bits(plain.left, step(*block, before, [&](Tensor const& x) {
                                  int n = 0;
                                  return cl::checkpointed_while(
                                      f, x, [&](Tensor const&) { return n++ < steps; },
                                      LoopOptions().checkpoints(2).block_size(2));
                                }).left));
    for (auto const limit : limits(
             [&](std::int64_t most) {
               (void)cl::checkpointed_loop(f, torch::zeros({12, 8}).requires_grad_(), steps,
                                           LoopOptions().memory_limit(most));
             },
             plain.held)) {
      auto const stats = std::make_shared<cl::StepStats>();
      check("within " + std::to_string(limit), LoopOptions().memory_limit(limit).stats(stats), f);
      CHECK(stats->tensor_bytes <= limit);
    }
  }
}

TEST_CASE("backward leaves the versions of what a region changes, so that a graph outside may have saved it",
          "[torch][region][effects]") {
  torch::manual_seed(1);
  support::effect_models();
  auto const mean = torch::zeros({8}), w = torch::randn({8, 8}).requires_grad_();
  auto const f = [&](Tensor const& x) {
    auto const h = torch::tanh(x.mm(w));
    support::move_mean(mean, h.mean(0));
    return torch::sin(h - mean);
  };
  auto const run = [&](bool plain) {
    mean.zero_();
    auto const x = torch::ones({12, 8}).requires_grad_(), outer = torch::ones({8}).requires_grad_();
    auto const y = plain ? f(x) : checkpoint(f, x);
    auto const z = outer * mean;  // saved by the plain graph
    y.sum().backward();
    z.sum().backward();
    return std::vector{x.grad(), outer.grad()};
  };
  CHECK(same_bits(run(true), run(false)));
}

TEST_CASE("a region may change its input in place", "[torch][region][effects]") {
  auto const w = torch::ones({4}).requires_grad_();
  auto const f = [&](Tensor a) {
    a.mul_(2);
    return (a + w).sin().exp();
  };
  auto const gradient = [&](bool plain) {
    auto const x = torch::ones({4});
    (plain ? f(x) : checkpoint(f, x)).sum().backward();
    auto left = take_grads({w});
    left.push_back(x);
    return left;
  };
  CHECK(same_bits(gradient(true), gradient(false)));
}

TEST_CASE("operators that write to what they have saved have the plain gradients in a region",
          "[torch][region][effects]") {
  seeded const seed{1};
  auto const images = torch::randn({2, 3, 8, 8});
  using named = std::pair<char const*, std::function<Tensor(Tensor)>>;
  auto const noise = [](Tensor const& x) { return torch::empty_like(x); };
  namespace F = torch::nn::functional;
  std::vector<named> const operators{
      {"rrelu", [](Tensor x) { return torch::rrelu(x.tanh(), 0.1, 0.3, true); }},
      {"rrelu, a sum after it", [](Tensor x) { return torch::rrelu(x, 0.1, 0.3, true) + 1; }},
      {"rrelu, a tanh after it", [](Tensor x) { return torch::rrelu(x, 0.1, 0.3, true).tanh(); }},
      {"rrelu in evaluation", [](Tensor x) { return torch::rrelu(x, 0.1, 0.3, false); }},
      {"rrelu in place", [](Tensor x) { return x = x * 2, torch::rrelu_(x, 0.1, 0.3, true); }},
      {"rrelu with noise",
       [&](Tensor x) {
         auto taken = noise(x);
         return at::rrelu_with_noise(x, taken, 0.1, 0.3, true);
       }},
      {"rrelu with noise in place",
       [&](Tensor x) {
         auto taken = noise(x);
         return x = x * 2, at::rrelu_with_noise_(x, taken, 0.1, 0.3, true);
       }},
      {"the module", [](Tensor x) { return torch::nn::RReLU()(x); }},
      {"dropout in place", [](Tensor x) { return x = x * 2, torch::dropout_(x, 0.3, true); }},
      {"native dropout", [](Tensor x) { return std::get<0>(at::native_dropout(x, 0.3, true)); }},
      {"alpha dropout in place", [](Tensor x) { return x = x * 2, torch::alpha_dropout_(x, 0.3, true); }},
      {"feature alpha dropout", [](Tensor x) { return torch::feature_alpha_dropout(x, 0.3, true); }},
      {"fractional pooling",
       [](Tensor x) { return F::fractional_max_pool2d(x, F::FractionalMaxPool2dFuncOptions(2).output_size(5)); }},
      {"a mask made in place", [](Tensor x) { return x * torch::empty_like(x).bernoulli_(0.5); }},
      {"noise made in place", [](Tensor x) { return x * torch::empty_like(x).exponential_(); }},
      {"batch norm",
       [](Tensor x) {
         return torch::batch_norm(x, {}, {}, torch::zeros({3}), torch::ones({3}), true, 0.1, 1e-5, false);
       }},
      {"instance norm", [](Tensor x) {
         return torch::instance_norm(x, {}, {}, torch::zeros({3}), torch::ones({3}), true, 0.1, 1e-5, false);
       }}};
  for (auto const& [name, f] : operators)
    for (bool const verify : {false, true}) {
      auto const run = [&, &of = f](bool plain) {
        torch::manual_seed(7);
        auto const x = images.clone().requires_grad_();
        auto const y = plain ? of(x) : checkpoint(of, x, CheckpointOptions().verify(verify));
        auto rubbish = torch::full_like(x, 1e30);  // where the noise may come to lie
        rubbish.reset();
        y.pow(2).sum().backward();
        return std::vector{y.detach(), x.grad()};
      };
      INFO(name);
      CHECK(same_bits(run(true), run(false)));
    }
}

TEST_CASE("what runs again sums by as many threads as it did first", "[torch][region][effects]") {
  seeded const seed{4};
  struct threads {  // a sum by another number of threads has other bits
    explicit threads(int n) { at::set_num_threads(n); }
    threads(threads const&) = delete;
    threads& operator=(threads const&) = delete;
    ~threads() { at::set_num_threads(before); }
    int before = at::get_num_threads();
  };
  auto const x = torch::randn({1 << 20}).requires_grad_();
  auto const f = [](Tensor const& h) { return torch::sin(h * h.sum() * 1e-5); };
  auto const sum_by = [&](int n) {
    threads const these{n};
    return x.sum();
  };
  int many = 2;
  while (many < 16 && same_bits({sum_by(1)}, {sum_by(many)})) ++many;
  REQUIRE(many < 16);
  std::vector<std::function<Tensor()>> const forms{
      [&] { return f(f(f(x))); }, [&] { return checkpoint([&](Tensor const& h) { return f(f(f(h))); }, x) * 1; },
      [&] { return cl::checkpointed_loop(f, x, 3, LoopOptions().checkpoints(1)); },
      [&] { return cl::checkpoint_module([&](Tensor const& h) { return f(f(f(h))); }, "22MB")(x); }};
  std::vector<Tensor> plain;
  for (auto const& form : forms) {
    std::optional<threads> of_forward{many};
    auto const y = form();
    of_forward.reset();
    threads const of_backward{1};
    auto const found = torch::autograd::grad({y.sum()}, {x});
    if (plain.empty()) plain = found;
    CHECK(same_bits(found, plain));
    CHECK(at::get_num_threads() == 1);
  }
}

TEST_CASE("a parameter that LibTorch's SGD has changed before backward is refused", "[torch][region][effects]") {
  constexpr auto words = "a parameter has other values than when it was read";
  nn::Linear layer(8, 8);
  nn::Sequential const both(layer, nn::Tanh(), layer, nn::Tanh());
  auto const f = [&](Tensor const& x) { return torch::tanh(layer(x)); };
  std::vector<std::function<Tensor(Tensor const&)>> const forms{
      [&](Tensor const& x) { return checkpoint(f, x) + 1; }, [&](Tensor const& x) { return checkpoint(both, x); },
      [&](Tensor const& x) { return cl::checkpoint_sequential(both, 2, x); },
      [&](Tensor const& x) { return cl::checkpointed_loop(f, x, 4, LoopOptions().checkpoints(2)); },
      [&](Tensor const& x) { return cl::checkpointed_loop(layer, x, 4, LoopOptions().module(layer)); }};
  for (auto const& form : forms) {
    torch::optim::SGD sgd(layer->parameters(), torch::optim::SGDOptions(0.1).momentum(0.9));
    auto const x = torch::ones({4, 8}).requires_grad_();
    f(x).sum().backward();
    auto const y = form(x).sum();
    sgd.step();
    CHECK_THAT(support::said<cairn::invalid_call>([&] { y.backward(); }), ContainsSubstring(words));
    CHECK(message_of([&] { form(x).sum().backward(); }) == "");
  }
}

TEST_CASE("a single changed number of a large parameter is seen where bits are compared", "[torch][region][effects]") {
  auto const w = torch::ones({4096}).requires_grad_();
  auto const f = [&](Tensor const& x) { return (x + w).exp(); };
  for (bool const verify : {true, false}) {
    auto const y = checkpoint(f, torch::zeros({4096}).requires_grad_(), CheckpointOptions().verify(verify)).sum();
    w.variable_data()[1].fill_(3);
    CHECK((message_of([&] { y.backward(); }) == "") == !verify);
    w.variable_data()[1].fill_(1);
  }
}

}  // namespace effects_tests
