// SPDX-License-Identifier: Apache-2.0
#include "support/torch.hpp"
#include <cstdint>
#include <functional>
#include <memory>
#include <sstream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>
#include <cairn/adapt/torch/memory/byte_meter.hpp>
#include <cairn/adapt/torch/record/region.hpp>
#include <cairn/adapt/torch/record/sequential.hpp>

namespace sequential_tests {

using at::Tensor;
using cl::checkpoint_sequential;
using cl::CheckpointedSequential;
using cl::CheckpointedSequentialOptions;
using support::message_of;
using support::same_bits;
using support::seeded;
using support::take_grads;
namespace nn = torch::nn;

/// Layers of many kinds: in and not in place, with and without random numbers, buffers and parameters.
nn::Sequential mixed_net() {
  return nn::Sequential(nn::Conv2d(nn::Conv2dOptions(2, 6, 3).padding(1)), nn::BatchNorm2d(6),
                        nn::ReLU(nn::ReLUOptions(true)), nn::MaxPool2d(2), nn::Dropout(0.25), nn::Flatten(),
                        nn::Linear(96, 48), nn::LayerNorm(nn::LayerNormOptions({48})), nn::GELU(),
                        nn::Dropout(nn::DropoutOptions(0.5).inplace(true)), nn::Linear(48, 48), nn::Identity(),
                        nn::Tanh(), nn::Linear(48, 5));
}
Tensor mixed_input() { return torch::randn({3, 2, 8, 8}); }

/// Equal layers with small parameters.
nn::Sequential deep_net() {
  nn::Sequential net;
  for (int k = 0; k < 6; ++k) {
    net->push_back(nn::Linear(64, 64));
    net->push_back(nn::LayerNorm(nn::LayerNormOptions({64})));
    net->push_back(nn::GELU());
    net->push_back(nn::Dropout(0.1));
  }
  return net;
}

/// What a training step leaves: output, gradients, buffers, and the generator after forward and after backward.
std::vector<Tensor> step(nn::Module& module, auto&& forward, Tensor const& x) {
  torch::manual_seed(11);
  for (auto const& b : module.buffers()) {
    torch::NoGradGuard const off;
    b.variable_data().zero_();
  }
  auto const y = forward(x);
  std::vector<Tensor> left{y.detach().clone(), torch::rand({2})};
  y.pow(2).sum().backward();
  left.push_back(torch::rand({2}));
  auto leaves = module.parameters();
  leaves.push_back(x);
  for (auto const& g : take_grads(leaves)) left.push_back(g);
  for (auto const& b : module.buffers()) left.push_back(b.clone());
  return left;
}

TEST_CASE("segments of any number leave what the plain Sequential leaves, bit for bit", "[torch][sequential]") {
  seeded const seed{1};
  auto net = mixed_net();
  auto const x = mixed_input().requires_grad_(GENERATE(true, false));
  if (GENERATE(false, true)) net->eval();
  auto const plain = step(*net, [&](Tensor const& in) { return net->forward(in); }, x);
  for (std::int64_t segments = 0; segments <= std::int64_t(net->size()); ++segments) {
    INFO("segments " << segments);
    auto const in_segments = [&](Tensor const& in) {
      return checkpoint_sequential(net, segments, in, CheckpointedSequentialOptions().verify(true));
    };
    CHECK(same_bits(plain, step(*net, in_segments, x)));
  }
}

TEST_CASE("each segment but the last keeps its input alone, and children run once", "[torch][sequential]") {
  int runs = 0;
  nn::Sequential children;
  for (int k = 0; k < 8; ++k)
    children->push_back(nn::Functional([&](Tensor const& a) { return ++runs, a.sin().tanh().cos(); }));
  auto const x = torch::randn({64, 64}).requires_grad_();
  auto const bytes = std::int64_t(x.nbytes());
  for (std::int64_t const segments : {1, 2, 4, 8}) {
    runs = 0;
    cl::byte_meter const meter;
    auto const y = checkpoint_sequential(children, segments, x);
    auto const last = 8 / segments;  // children of the last segment, which save two tensors each, x or the result aside
    CHECK(meter.allocated() == bytes * (segments - 1 + 2 * last));
    y.sum().backward();
    (void)take_grads({x});
    CHECK(runs == 8);
  }
}

TEST_CASE("a Sequential within a limit leaves what the plain one leaves and holds no more than the limit",
          "[torch][sequential]") {
  seeded const seed{2};
  bool const deep = GENERATE(true, false);
  auto net = deep ? deep_net() : mixed_net();
  if (GENERATE(false, true)) net->eval();
  auto const x = (deep ? torch::randn({1024, 64}) : torch::randn({32, 2, 8, 8})).requires_grad_(true);
  auto const plain = step(*net, [&](Tensor const& in) { return net->forward(in); }, x);
  auto const within = [&](std::int64_t limit) {
    CheckpointedSequential module(net, CheckpointedSequentialOptions().memory_limit(limit).verify(true));
    for (int k = 0; k < 2; ++k)
      CHECK(same_bits(plain, step(*net, [&](Tensor const& in) { return module->forward(in); }, x)));
    return module->report();
  };
  auto const all = within(std::int64_t{1} << 40);
  CHECK(all.again == 0);
  // How much a convolution takes for itself is the processor's: the least limit is asked for, and not assumed.
  auto const least = within(1).least;
  CHECK(least <= all.peak);
  if (deep) CHECK(least <= all.peak * 3 / 8);
  for (int k = 0; k <= 5; ++k) {
    auto const limit = least + (all.peak - least) * k / 5;
    INFO("limit " << limit << " of " << all.peak);
    auto const done = within(limit);
    CHECK(done.peak <= limit);
    CHECK(done.least == 0);
    if (deep) CHECK((done.again > 0) == (k < 5));
  }
  auto const strict = CheckpointedSequentialOptions().memory_limit(1000).strict(true);
  CHECK(message_of([&] {
          checkpoint_sequential(net, 0, x, strict).sum().backward();
        }).find("the program itself holds more than the limit") != std::string::npos);
}

TEST_CASE("a chain under checkpoints works with retain_graph, autograd::grad, double backward and hooks",
          "[torch][sequential]") {
  seeded const seed{3};
  nn::Sequential net(nn::Linear(4, 6), nn::Tanh(), nn::Linear(6, 6), nn::Dropout(0.5), nn::Sigmoid(), nn::Linear(6, 3));
  auto const segments = GENERATE(1, 2, 3, 6);
  auto const x = torch::randn({5, 4}).requires_grad_(true);
  auto all = net->parameters();
  all.push_back(x);
  int fired = 0;
  all[0].register_hook([&](Tensor const&) { ++fired; });
  auto const make = [&](bool plain) {
    torch::manual_seed(4);
    return (plain ? net->forward(x) : checkpoint_sequential(net, segments, x)).pow(2).sum();
  };
  auto const plain = make(true), chain = make(false);
  auto const last = [&](Tensor const& y) { return torch::autograd::grad({y}, {all[4]}, {}, true)[0]; };
  CHECK(same_bits(last(plain), last(chain)));
  auto const all_of = [&](Tensor const& y, bool retain) {
    y.backward({}, retain);
    return take_grads(all);
  };
  auto const first = all_of(plain, true);
  CHECK(same_bits(first, all_of(chain, true)));
  fired = 0;
  CHECK(same_bits(first, all_of(chain, true)));
  CHECK(fired == 1);
  auto const twice = [&](Tensor const& y) {
    auto const g = torch::autograd::grad({y}, all, {}, true, true);
    auto sum = torch::zeros({});
    for (auto const& one : g) sum = sum + one.pow(2).sum();
    sum.backward();
    return take_grads(all);
  };
  CHECK(same_bits(twice(plain), twice(chain)));
  CHECK_FALSE(message_of([&] { chain.backward(); }).empty());
}

TEST_CASE("a weight in two children, a chain in a chain's region, and automatic casts have the plain bits",
          "[torch][sequential]") {
  seeded const seed{5};
  nn::Linear shared(6, 6);
  nn::Sequential net(shared, nn::Tanh(), shared, nn::Dropout(0.5), shared,
                     nn::Functional([](Tensor const& t) { return t.sin(); }));
  auto const x = torch::randn({5, 6}).requires_grad_(true);
  auto const plain = step(*net, [&](Tensor const& in) { return net->forward(in); }, x);
  auto const limit = CheckpointedSequentialOptions().memory_limit("1MB");
  CHECK(same_bits(plain, step(*net, [&](Tensor const& in) { return checkpoint_sequential(net, 0, in, limit); }, x)));
  CHECK(same_bits(plain, step(
                             *net,
                             [&](Tensor const& in) {
                               return cl::checkpoint([&](Tensor const& t) { return checkpoint_sequential(net, 3, t); },
                                                     in);
                             },
                             x)));
  CHECK(same_bits(plain, step(
                             *net,
                             [&](Tensor const& in) {
                               return cl::checkpoint(
                                   [&](Tensor const& t) { return checkpoint_sequential(net, 0, t, limit); }, in);
                             },
                             x)));
  auto const cast = [&](auto&& forward) {
    return step(*net, [&](Tensor const& in) {
      auto const before = cl::detail::autocast_state{};
      cl::detail::switch_autocast(at::kCPU, true);
      cl::detail::set_autocast_type(at::kCPU, at::kBFloat16);
      auto const y = forward(in);
      at::autocast::clear_cache();
      before.set();
      return y;
    }, x);
  };
  CHECK(same_bits(cast([&](Tensor const& in) { return net->forward(in); }),
                  cast([&](Tensor const& in) { return checkpoint_sequential(net, 3, in); })));
}

TEST_CASE("a Sequential of no and of one child, and without grad mode, is the plain one", "[torch][sequential]") {
  nn::Sequential none, one(nn::Linear(3, 3));
  auto const x = torch::randn({2, 3});
  CHECK(message_of([&] { (void)checkpoint_sequential(none, 1, x); }).find("empty Sequential") != std::string::npos);
  auto const plain = step(*one, [&](Tensor const& in) { return one->forward(in); }, x);
  CHECK(same_bits(plain, step(*one, [&](Tensor const& in) { return checkpoint_sequential(one, 1, in); }, x)));
  CHECK(same_bits(plain, step(
                             *one,
                             [&](Tensor const& in) {
                               return checkpoint_sequential(one, 0, in,
                                                            CheckpointedSequentialOptions().memory_limit("1MB"));
                             },
                             x)));
  torch::NoGradGuard const off;
  CHECK_FALSE(checkpoint_sequential(one, 1, x).requires_grad());
}

TEST_CASE("wrong numbers of segments are refused", "[torch][sequential]") {
  nn::Sequential net(nn::Linear(3, 3), nn::Tanh());
  auto const x = torch::randn({2, 3});
  CHECK_THROWS_AS(checkpoint_sequential(net, 3, x), cairn::invalid_plan);
  CHECK_THROWS_AS(checkpoint_sequential(net, -1, x), cairn::invalid_plan);
  CHECK_THROWS_AS(checkpoint_sequential(net, 2, x, CheckpointedSequentialOptions().memory_limit("1MB")),
                  cairn::invalid_plan);
}

TEST_CASE("a policy holds results in segments, and is refused beside a memory limit", "[torch][sequential][policy]") {
  seeded const seed{9};
  nn::Sequential net;
  for (int k = 0; k < 6; ++k)
    net->push_back(nn::Functional([](Tensor const& a) { return torch::dropout(a.mm(a).tanh(), 0.5, true); }));
  auto const x = torch::randn({16, 16}).requires_grad_();
  auto const plain = step(*net, [&](Tensor const& in) { return net->forward(in); }, x);
  int products = 0;
  auto const options = CheckpointedSequentialOptions().policy([&](std::string_view operation) {
    if (operation != "aten::mm") return cl::CheckpointPolicy::PreferRecompute;
    return ++products, cl::CheckpointPolicy::MustSave;
  });
  std::int64_t held = 0;
  auto const in_segments = [&](CheckpointedSequentialOptions const& how) {
    return step(*net, [&](Tensor const& in) {
      cl::byte_meter const meter;
      auto const y = checkpoint_sequential(net, 3, in, how);
      held = meter.allocated();
      return y;
    }, x);
  };
  CHECK(same_bits(plain, in_segments({})));
  auto const without = held;
  CHECK(same_bits(plain, in_segments(options)));
  CHECK(products == 4);  // two segments of two children each
  CHECK(held == without + 4 * std::int64_t(x.nbytes()));
  auto const both = CheckpointedSequentialOptions(options).memory_limit("1MB");
  CHECK(message_of([&] { (void)checkpoint_sequential(net, 0, x, both); }).find("a policy and a memory limit") !=
        std::string::npos);
}

TEST_CASE("what a child throws passes through, and a later call works", "[torch][sequential]") {
  bool throws = true;
  nn::Sequential net(nn::Linear(3, 3), nn::Functional([&](Tensor const& x) {
                       if (throws) throw std::length_error{"mine"};
                       return torch::dropout(x, 0.5, true).sin();
                     }),
                     nn::Linear(3, 3), nn::Tanh());
  auto const x = torch::randn({2, 3});
  for (auto const& options :
       {CheckpointedSequentialOptions(), CheckpointedSequentialOptions().memory_limit("1MB")}) {
    throws = true;
    CHECK_THROWS_AS(checkpoint_sequential(net, 0, x, options), std::length_error);
    CHECK(cl::detail::hook_engine::of_thread().factories.empty());
    throws = false;
    auto const plain = step(*net, [&](Tensor const& in) { return net->forward(in); }, x);
    auto const again = step(*net, [&](Tensor const& in) { return checkpoint_sequential(net, 0, in, options); }, x);
    CHECK(same_bits(plain, again));
  }
}

TEST_CASE("what is changed between forward and backward, and is needed, is refused", "[torch][sequential]") {
  nn::Linear first(3, 3);
  nn::Sequential net(first, nn::Tanh(), nn::Linear(3, 3), nn::Tanh());
  auto const x = torch::randn({2, 3}).requires_grad_(true);
  auto y = checkpoint_sequential(net, 2, x * 1);
  {
    torch::NoGradGuard const off;
    first->weight.add_(1);
  }
  CHECK(message_of([&] { y.sum().backward(); }).find("changed in place before backward") != std::string::npos);
  auto const in = torch::randn({2, 3});
  y = checkpoint_sequential(net, 2, in);
  in.add_(1);
  CHECK(message_of([&] { y.sum().backward(); }).find("in place before backward") != std::string::npos);
}

TEST_CASE("a CheckpointedSequential has the names, the archive and the bits of a Sequential", "[torch][sequential]") {
  seeded const seed{6};
  auto plain = mixed_net();
  CheckpointedSequential net(plain, CheckpointedSequentialOptions().memory_limit("1MB"));
  auto const x = mixed_input();
  auto const expected = step(*plain, [&](Tensor const& in) { return plain->forward(in); }, x);
  CHECK(same_bits(expected, step(*net, [&](Tensor const& in) { return net->forward(in); }, x)));

  auto other = mixed_net();
  CheckpointedSequential copy(other, CheckpointedSequentialOptions());
  std::stringstream file, back;
  torch::save(plain, file);
  torch::load(copy, file);
  CHECK(same_bits(expected, step(*other, [&](Tensor const& in) { return other->forward(in); }, x)));
  torch::save(copy, back);
  auto third = mixed_net();
  torch::load(third, back);
  CHECK(same_bits(expected, step(*third, [&](Tensor const& in) { return third->forward(in); }, x)));
  auto const keys = plain->named_parameters().keys();
  CHECK(keys == net->named_parameters().keys());
}

TEST_CASE("a CheckpointedSequential follows what changes in the model, and is cloned", "[torch][sequential]") {
  CheckpointedSequential net(CheckpointedSequentialOptions().memory_limit("1MB"), nn::Linear(4, 4), nn::Dropout(0.5),
                             nn::Tanh());
  auto const x = torch::randn({2, 4});
  auto const is_plain = [&](Tensor const& in) {
    return same_bits(step(*net, [&](Tensor const& a) { return net->torch::nn::SequentialImpl::forward(a); }, in),
                     step(*net, [&](Tensor const& a) { return net->forward(a); }, in));
  };
  CHECK(is_plain(x));
  CHECK(is_plain(torch::randn({3, 4})));
  net->eval();
  net->push_back(nn::Linear(4, 2));
  CHECK(is_plain(x));
  net->to(at::kDouble);
  CHECK(is_plain(x.to(at::kDouble)));
  auto const copy = std::dynamic_pointer_cast<cl::CheckpointedSequentialImpl>(net->clone());
  REQUIRE(copy);
  CHECK_FALSE(copy->is_training());
  CHECK(same_bits(copy->forward(x.to(at::kDouble)), net->forward(x.to(at::kDouble))));
  CHECK_FALSE(copy->parameters()[0].is_same(net->parameters()[0]));
  nn::Sequential nested(nn::Linear(4, 4), net);
  CHECK_FALSE(nested->is_empty());
}

TEST_CASE("a chain holds nothing once its results are gone, though operations save their own results",
          "[torch][sequential]") {
  nn::Sequential net;
  for (int k = 0; k < 3; ++k)
    net->push_back(nn::Functional([](Tensor const& a) { return torch::softmax(a.tanh() + a.sigmoid(), -1); }));
  auto const x = torch::randn({32, 32}).requires_grad_(true);
  for (std::int64_t const segments : {1, 2, 3})
    for (bool const backward : {true, false}) {
      cl::byte_meter const meter{x.device()};
      {
        auto const y = checkpoint_sequential(net, segments, x).sum();
        if (backward) y.backward();
        (void)take_grads({x});
      }
      CHECK(meter.allocated() == 0);
    }
}

TEST_CASE("threads run chains of their own", "[torch][sequential]") {
  nn::Sequential net(nn::Linear(4, 4), nn::Tanh(), nn::Linear(4, 4), nn::Tanh());
  auto const x = torch::randn({2, 4});
  auto const grads = [&](bool plain) {
    return torch::autograd::grad({(plain ? net->forward(x) : checkpoint_sequential(net, 2, x)).sum()},
                                 net->parameters());
  };
  auto const expected = grads(true);
  std::vector<int> right(3);
  std::vector<std::thread> threads;
  for (auto& count : right)
    threads.emplace_back([&] {
      for (int k = 0; k < 20; ++k) count += same_bits(expected, grads(false)) ? 1 : 0;
    });
  for (auto& one : threads) one.join();
  CHECK(right == std::vector<int>{20, 20, 20});
}

}  // namespace sequential_tests
