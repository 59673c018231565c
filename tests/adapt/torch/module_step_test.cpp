// SPDX-License-Identifier: Apache-2.0
// Modules of LibTorch's as steps.
#include "support/torch.hpp"
#include <cstddef>
#include <memory>
#include <utility>
#include <vector>
#include <cairn/adapt/torch/loop/loop.hpp>
#include <cairn/adapt/torch/loop/loop_estimate.hpp>
#include <cairn/adapt/torch/loop/scan.hpp>
#include <cairn/adapt/torch/loop/while.hpp>

namespace module_step_tests {

auto const options = cl::LoopOptions().checkpoints(2);

torch::nn::Sequential network() {
  torch::manual_seed(11);
  return torch::nn::Sequential{torch::nn::Linear(3, 3), torch::nn::Tanh()};
}
struct MixerImpl : torch::nn::Module {
  torch::nn::Linear inner = register_module("inner", torch::nn::Linear(3, 3));
  std::pair<at::Tensor, at::Tensor> forward(at::Tensor const& x, at::Tensor const& input) {
    return {inner(x) + input, torch::sin(x)};
  }
};
TORCH_MODULE(Mixer);

/// What a call of backward writes to the module and to x.
template <class Module>
std::vector<at::Tensor> gradients(Module const& module, at::Tensor const& x, at::Tensor const& loss) {
  loss.backward();
  std::vector<at::Tensor> all{std::exchange(x.mutable_grad(), at::Tensor{})};
  for (auto& parameter : module->parameters()) all.push_back(std::exchange(parameter.mutable_grad(), at::Tensor{}));
  return all;
}

TEST_CASE("a module is a step and gives the bits of the plain loop", "[torch][loop]") {
  auto const net = network();
  auto const x = torch::rand({2, 3}).requires_grad_();
  auto const steps = GENERATE(0, 1, 2, 7);
  at::Tensor plain = x;
  for (int i = 0; i < steps; ++i) plain = torch::nn::Sequential{net}->forward(plain);
  auto const last = cl::checkpointed_loop(net, x, steps, options);
  CHECK(support::same_bits(last, plain));
  CHECK(support::same_bits(gradients(net, x, last.sum()), gradients(net, x, plain.sum())));
  at::NoGradGuard const no_grad;
  CHECK(support::same_bits(cl::checkpointed_loop(net, x, steps, options), plain));
}
TEST_CASE("a module that is given away as a step lives until backward", "[torch][loop]") {
  auto net = network();
  auto const weight = net->parameters().front();
  auto const x = torch::rand({2, 3});
  auto const last = cl::checkpointed_loop(std::exchange(net, nullptr), x, 5, options);
  last.sum().backward();
  CHECK(weight.grad().defined());
}
TEST_CASE("a module is the step of a loop that ends when it ends and of an estimate", "[torch][while]") {
  torch::nn::Linear const net(3, 3);
  auto const x = torch::rand({2, 3}).requires_grad_();
  at::Tensor plain = x;
  for (int i = 0; i < 4; ++i) plain = torch::nn::Linear{net}->forward(plain);
  auto const last =
      cl::checkpointed_while(net, x, [](at::Tensor const&, cairn::step_index i) { return i < 4; }, options);
  CHECK(support::same_bits(last, plain));
  CHECK(support::same_bits(gradients(net, x, last.sum()), gradients(net, x, plain.sum())));
  CHECK(cl::estimate(net, x, 4, options).forward == 4);
}
TEST_CASE("a module of two arguments that gives a pair is the step of a scan", "[torch][scan]") {
  Mixer const mixer;
  auto const x = torch::rand({2, 3}).requires_grad_(), inputs = torch::rand({6, 2, 3});
  at::Tensor plain = x;
  std::vector<at::Tensor> outputs;
  for (auto const& input : inputs.unbind(0)) {
    auto [next, output] = Mixer{mixer}->forward(plain, input);
    plain = std::move(next);
    outputs.push_back(std::move(output));
  }
  auto const [last, ys] = cl::checkpointed_scan(mixer, x, inputs, options);
  auto const all = torch::stack(outputs);
  CHECK(support::same_bits(last, plain));
  CHECK(support::same_bits(ys, all));
  CHECK(support::same_bits(gradients(mixer, x, last.sum() + ys.sum()), gradients(mixer, x, plain.sum() + all.sum())));
}

}  // namespace module_step_tests
