// SPDX-License-Identifier: Apache-2.0
#include "support/torch.hpp"
#include <algorithm>
#include <cstdint>
#include <memory>
#include <sstream>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>
#include <cairn/adapt/torch/memory/byte_meter.hpp>
#include <cairn/adapt/torch/checkpoint/checkpointed_sequential.hpp>
#include <cairn/adapt/torch/checkpoint/region.hpp>
#include <cairn/adapt/torch/checkpoint/sequential.hpp>

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
/// Whether one of so many segments, not the last, begins with the ReLU, or with the dropout where it does something.
bool begins_in_place(std::int64_t segments, bool training) {
  auto const blocks = cairn::block_plan::balanced(14, segments);
  bool does = false;
  for (cairn::step_index j = 0; j + 1 < blocks.size(); ++j)
    does = does || blocks.start(j) == 2 || (blocks.start(j) == 9 && training);
  return does;
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
    auto const run = [&] {
      return step(
          *net,
          [&](Tensor const& in) {
            return checkpoint_sequential(net, segments, in,
                                         CheckpointedSequentialOptions().determinism(cl::Check::Bits));
          },
          x);
    };
    if (segments > 0 && begins_in_place(segments, net->is_training()))
      CHECK(message_of(run).find("a stage changes its input in place, and the plan needs that again (stage = ") !=
            std::string::npos);
    else CHECK(same_bits(plain, run()));
  }
}

TEST_CASE("a Sequential within any feasible limit leaves what the plain one leaves and holds no more than the limit",
          "[torch][sequential]") {
  seeded const seed{2};
  bool const deep = GENERATE(true, false);
  auto net = deep ? deep_net() : mixed_net();
  if (GENERATE(false, true)) net->eval();
  auto const x = (deep ? torch::randn({1024, 64}) : torch::randn({32, 2, 8, 8})).requires_grad_(true);
  auto const plain = step(*net, [&](Tensor const& in) { return net->forward(in); }, x);
  cl::detail::measured_stages const measured{cl::detail::stages_of(*net), x, cl::Rng::Preserve};
  cl::detail::limit_planner planner{measured};
  auto const most = std::max(measured.plain_peak, measured.measuring_peak),
             least = std::min(most, std::max(planner.least(), measured.measuring_peak));
  std::int64_t callers = 0;  // gradients, the output and its, the loss
  for (auto const& p : net->parameters()) callers += std::int64_t(p.nbytes());
  callers += std::int64_t(x.nbytes()) + 4 * std::int64_t(plain[0].nbytes()) + 64;
  CHECK(message_of([&] {
          (void)checkpoint_sequential(net, 0, x, CheckpointedSequentialOptions().memory_limit(least - 1));
        }).find("the stages do not fit the memory limit") != std::string::npos);
  CHECK((!deep || most > 2 * least));
  for (int k = 0; k <= 10; ++k) {
    auto const limit = least + (most - least) * k / 10;
    INFO("limit " << limit << " of " << least << " to " << most);
    cl::byte_meter const meter;
    auto const forward = [&](Tensor const& in) {
      return checkpoint_sequential(net, 0, in,
                                   CheckpointedSequentialOptions().memory_limit(limit).determinism(cl::Check::Bits));
    };
    {
      torch::manual_seed(11);
      forward(x).pow(2).sum().backward();
      (void)take_grads(net->parameters());
      (void)take_grads({x});
    }
    CHECK(meter.peak() <= limit + callers);
    CHECK(same_bits(plain, step(*net, forward, x)));
  }
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
      auto const before = cl::detail::autocast_state::now();
      cl::detail::switch_autocast(at::kCPU, true);
      cl::detail::set_autocast_type(at::kCPU, at::kBFloat16);
      auto const y = forward(in);
      at::autocast::clear_cache();
      before.restore();
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

/// Throws in its n-th run.
struct FragileImpl : nn::Module {
  int runs = 0, throwing = 0;
  Tensor forward(Tensor const& x) {
    if (++runs == throwing) throw std::length_error{"mine"};
    return torch::dropout(x, 0.5, true).sin();
  }
};
TORCH_MODULE(Fragile);

TEST_CASE("what a child throws passes through, and a later backward works", "[torch][sequential]") {
  Fragile fragile;
  nn::Sequential net(nn::Linear(3, 3), fragile, nn::Linear(3, 3), nn::Tanh());
  auto const x = torch::randn({2, 3});
  fragile->throwing = 1;
  CHECK_THROWS_AS(checkpoint_sequential(net, 2, x), std::length_error);
  CHECK(cl::detail::hook_engine::factories().empty());
  fragile->throwing = 3;
  torch::manual_seed(8);
  auto const y = checkpoint_sequential(net, 2, x).sum();
  auto const before = at::detail::getDefaultCPUGenerator().get_state();
  CHECK_THROWS_AS(y.backward({}, true), std::length_error);
  CHECK(same_bits(before, at::detail::getDefaultCPUGenerator().get_state()));
  (void)take_grads(net->parameters());
  y.backward();
  auto const later = take_grads(net->parameters());
  torch::manual_seed(8);
  net->forward(x).sum().backward();
  CHECK(same_bits(later, take_grads(net->parameters())));
}

TEST_CASE("changes between forward and backward are refused with the stage", "[torch][sequential]") {
  nn::Linear first(3, 3);
  nn::Sequential net(first, nn::Tanh(), nn::Linear(3, 3), nn::Tanh());
  auto const x = torch::randn({2, 3}).requires_grad_(true);
  auto y = checkpoint_sequential(net, 2, x * 1);
  {
    torch::NoGradGuard const off;
    first->weight.add_(1);
  }
  CHECK(message_of([&] {
          y.sum().backward();
        }).find("a tensor that was read was changed in place before backward (stage = 0") != std::string::npos);
  auto const in = torch::randn({2, 3});
  y = checkpoint_sequential(net, 2, in);
  in.add_(1);
  CHECK(message_of([&] { y.sum().backward(); }).find("an input was changed in place before backward") !=
        std::string::npos);
  int calls = 0;
  nn::Sequential counts(nn::Functional([&](Tensor const& t) { return ++calls == 1 ? t.sin() : t.sin().sin(); }),
                        nn::Tanh());
  CHECK(message_of([&] {
          checkpoint_sequential(counts, 2, x).sum().backward();
        }).find("a stage saves a different number of tensors") != std::string::npos);
  nn::Sequential inner(
      nn::Functional([](Tensor const& t) { return torch::autograd::grad({t.pow(2).sum()}, {t}, {}, true, true)[0]; }),
      nn::Tanh());
  CHECK(message_of([&] {
          checkpoint_sequential(inner, 2, x).sum().backward();
        }).find("a saved tensor is needed while a stage runs") != std::string::npos);
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

TEST_CASE("a CheckpointedSequential plans once and again when the model or the input changes", "[torch][sequential]") {
  CheckpointedSequential net(CheckpointedSequentialOptions().memory_limit("1MB"), nn::Linear(4, 4), nn::Dropout(0.5),
                             nn::Tanh());
  auto const x = torch::randn({2, 4});
  auto const plans = [&](Tensor const& in) {
    net->forward(in).sum().backward();
    return net->plans_made();
  };
  CHECK(plans(x) == 1);
  CHECK(plans(x) == 1);
  CHECK(plans(torch::randn({3, 4})) == 2);
  net->eval();
  CHECK(plans(x) == 3);
  net->push_back(nn::Linear(4, 2));
  CHECK(plans(x) == 4);
  CHECK(net->forward(x).size(1) == 2);
  net->to(at::kDouble);
  CHECK(plans(x.to(at::kDouble)) == 5);
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
