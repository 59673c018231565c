// SPDX-License-Identifier: Apache-2.0
#include "support/torch.hpp"
#include <cstdint>
#include <memory>
#include <string>
#include <thread>
#include <vector>
#include <cairn/adapt/torch/memory/byte_meter.hpp>
#include <cairn/adapt/torch/checkpoint/checkpointed_sequential.hpp>
#include <cairn/adapt/torch/checkpoint/sequential.hpp>

namespace sequential_cache_tests {

using at::Tensor;
using cl::checkpoint_sequential;
using cl::CheckpointedSequentialOptions;
using cl::SequentialPlans;
using support::message_of;
using support::same_bits;
using support::seeded;
using support::take_grads;
namespace nn = torch::nn;

struct counted_net {
  std::shared_ptr<int> runs = std::make_shared<int>(0);
  nn::Sequential net;

  counted_net() {
    for (int k = 0; k < 4; ++k) {
      net->push_back(nn::Linear(32, 32));
      net->push_back(nn::Functional([count = runs](Tensor const& t) {
        ++*count;
        return t.tanh();
      }));
    }
  }
  /// How often a call and its backward run children of the function.
  int runs_of(Tensor const& x, CheckpointedSequentialOptions const& options) {
    *runs = 0;
    checkpoint_sequential(net, 0, x, options).sum().backward();
    (void)take_grads(net->parameters());
    return *runs;
  }
};
CheckpointedSequentialOptions within(char const* limit, std::shared_ptr<SequentialPlans> const& plans = {}) {
  return CheckpointedSequentialOptions().memory_limit(limit).plans(plans);
}

TEST_CASE("a Sequential is measured at the first call with an input's shape and not at later ones",
          "[torch][sequential]") {
  seeded const seed{1};
  counted_net counted;
  auto const x = torch::randn({64, 32});
  auto const given = GENERATE(true, false) ? std::make_shared<SequentialPlans>() : nullptr;
  auto const limited = GENERATE(true, false);
  auto const options = limited ? within("10MB", given) : CheckpointedSequentialOptions().plans(given);
  auto const first = counted.runs_of(x, options), second = counted.runs_of(x, options);
  CHECK(first == second + 2 * 4);  // measuring runs each child forward twice
  if (limited) CHECK(second == 4);  // the plain call
  CHECK(counted.runs_of(x, options) == second);
  CHECK(counted.runs_of(torch::randn({64, 32}), options) == second);
  CHECK(counted.runs_of(torch::randn({65, 32}), options) == first);
  CHECK(counted.runs_of(x, options) == second);
  CHECK((!given || given->made() == 2));
}

TEST_CASE("what a plan is made for decides whether it is used again", "[torch][sequential]") {
  counted_net counted;
  auto& net = counted.net;
  auto const plans = std::make_shared<SequentialPlans>();
  auto const x = torch::randn({64, 32});
  auto const made = [&](Tensor const& in, CheckpointedSequentialOptions options) {
    (void)checkpoint_sequential(net, 0, in, options.plans(plans));
    return plans->made();
  };
  auto const options = within("1MB");
  CHECK(made(x, options) == 1);
  CHECK(made(x, options) == 1);
  CHECK(made(x, within("2MB")) == 2);
  CHECK(made(x, within("1MB").rng(cl::Rng::Ignore)) == 3);
  CHECK(made(x, CheckpointedSequentialOptions()) == 4);
  CHECK(made(x.detach().clone().requires_grad_(true), options) == 5);
  CHECK(made(torch::randn({32, 64}).t(), options) == 6);  // other strides
  net->eval();
  CHECK(made(x, options) == 7);
  net->train();
  CHECK(made(x, options) == 7);
  net->parameters()[0].requires_grad_(false);
  CHECK(made(x, options) == 8);
  net->push_back(nn::Tanh());
  CHECK(made(x, options) == 9);
  plans->clear();
  CHECK(plans->size() == 0);
  CHECK(made(x, options) == 10);
  nn::Sequential const other(net->ptr<nn::LinearImpl>(0), net->ptr<nn::FunctionalImpl>(1));
  (void)checkpoint_sequential(other, 0, x, within("1MB", plans));
  CHECK(plans->made() == 11);
  nn::Sequential const again(net->ptr<nn::LinearImpl>(0),
                             net->ptr<nn::FunctionalImpl>(1));  // another Sequential over the same children
  (void)checkpoint_sequential(again, 0, x, within("1MB", plans));
  CHECK(plans->made() == 11);
  (void)checkpoint_sequential(net, 2, x,
                              CheckpointedSequentialOptions().plans(plans));  // nothing is measured for segments
  CHECK(plans->made() == 11);
}

TEST_CASE("a place for plans keeps no module alive, drops the plans of modules that are gone, and has a bound",
          "[torch][sequential]") {
  auto const plans = std::make_shared<SequentialPlans>(2);
  auto const x = torch::randn({8, 8});
  std::weak_ptr<nn::Module> child;
  cl::byte_meter const meter;
  {
    nn::Sequential net(nn::Linear(8, 8), nn::Tanh());
    child = net->ptr(0);
    (void)checkpoint_sequential(net, 0, x, within("1MB", plans));
    (void)checkpoint_sequential(net, 0, x, within("1MB"));
    CHECK(plans->size() == 1);
  }
  CHECK(child.expired());
  CHECK(meter.allocated() == 0);
  nn::Sequential net(nn::Linear(8, 8), nn::Tanh());
  for (std::int64_t const rows : {1, 2, 3})
    (void)checkpoint_sequential(net, 0, torch::randn({rows, 8}), within("1MB", plans));
  CHECK(plans->size() == 2);
  CHECK(plans->made() == 4);
  (void)checkpoint_sequential(net, 0, torch::randn({2, 8}), within("1MB", plans));
  (void)checkpoint_sequential(net, 0, torch::randn({4, 8}),
                              within("1MB", plans));  // that of 3 rows was used least recently
  CHECK(plans->made() == 5);
  (void)checkpoint_sequential(net, 0, torch::randn({2, 8}), within("1MB", plans));
  CHECK(plans->made() == 5);
  CHECK(message_of([] { SequentialPlans const none(0); }).find("it must be able to keep a plan (most = 0)") !=
        std::string::npos);
}

TEST_CASE("a kept plan leaves the bits of the plain call, joined children included", "[torch][sequential]") {
  seeded const seed{2};
  nn::Sequential net(nn::Linear(16, 16), nn::ReLU(nn::ReLUOptions(true)), nn::Linear(16, 16),
                     nn::Unflatten(nn::UnflattenOptions(1, {2, 8})), nn::Flatten(), nn::Dropout(0.5),
                     nn::Linear(16, 4));
  auto const x = torch::randn({256, 16});
  auto const step = [&](auto const& forward) {
    torch::manual_seed(3);
    forward().pow(2).sum().backward();
    return take_grads(net->parameters());
  };
  auto const plain = step([&] { return net->forward(x); });
  auto const plans = std::make_shared<SequentialPlans>();
  for (int k = 0; k < 3; ++k)
    CHECK(same_bits(plain, step([&] { return checkpoint_sequential(net, 0, x, within("90kB", plans)); })));
  for (int k = 0; k < 3; ++k)
    CHECK(same_bits(
        plain, step([&] { return checkpoint_sequential(net, 0, x, CheckpointedSequentialOptions().plans(plans)); })));
  CHECK(plans->made() == 2);
  cl::CheckpointedSequential module(net, within("90kB", plans));
  CHECK(same_bits(plain, step([&] { return module->forward(x); })));
  CHECK(plans->made() == 2);
  CHECK(module->plans_made() == 0);
}

TEST_CASE("threads may share one place for plans", "[torch][sequential]") {
  nn::Sequential net(nn::Linear(8, 8), nn::Tanh(), nn::Linear(8, 8));
  auto const plans = std::make_shared<SequentialPlans>(2);
  std::vector<std::thread> threads;
  for (int t = 0; t < 3; ++t)
    threads.emplace_back([&, t] {
      for (int k = 0; k < 10; ++k)
        (void)checkpoint_sequential(net, 0, torch::randn({1 + (t + k) % 3, 8}), within("1MB", plans));
    });
  for (auto& one : threads) one.join();
  CHECK(plans->size() == 2);
  CHECK(plans->made() >= 3);
}

}  // namespace sequential_cache_tests
