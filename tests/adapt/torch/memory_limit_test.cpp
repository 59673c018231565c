// SPDX-License-Identifier: Apache-2.0
#include "support/torch.hpp"
#include <cstdint>
#include <tuple>
#include <vector>
#include <cairn/adapt/torch.hpp>

namespace memory_limit_tests {

using at::Tensor;
using support::same_bits;
namespace nn = torch::nn;

struct limited {
  explicit limited(cairn::byte_size limit) { cl::set_memory_limit(limit); }
  limited(limited const&) = delete;
  limited& operator=(limited const&) = delete;
  ~limited() { cl::clear_memory_limit(); }
};

TEST_CASE("Sequentials and loops keep within the limit of the process where they are given none", "[torch][limit]") {
  support::seeded const seed{1};
  nn::Sequential net;
  for (int k = 0; k < 8; ++k) net->push_back(nn::Linear(32, 32)), net->push_back(nn::Tanh());
  auto const x = torch::randn({64, 32}).requires_grad_();
  auto const step = [w = torch::randn({32, 32}).mul_(0.1).requires_grad_()](Tensor const& s) {
    return torch::tanh(s.mm(w));
  };
  auto const grad = [&](Tensor const& y) { return torch::autograd::grad({y.pow(2).sum()}, {x}); };
  auto const plain = grad(net->forward(x));
  auto const in_loop = grad(cl::checkpointed_loop(step, x, 50, cl::LoopOptions().checkpoints(50)));
  {
    limited const now{1};
    auto const strict = cl::CheckpointedSequentialOptions().strict(true);
    CHECK_THROWS_AS(cl::checkpoint_sequential(net, 0, x, strict), cairn::infeasible_budget);
    CHECK_THROWS_AS(cl::CheckpointedSequential(net, strict)->forward(x), cairn::infeasible_budget);
    CHECK_THROWS_AS(cl::checkpointed_loop(step, x, 50, cl::LoopOptions()), cairn::infeasible_budget);
    CHECK_THROWS_AS(cl::CheckpointedLSTM(nn::LSTMOptions(32, 4))->forward(x.view({8, 8, 32})),
                    cairn::infeasible_budget);
    CHECK(same_bits(plain, grad(cl::checkpoint_sequential(net, 4, x))));
    CHECK(same_bits(
        plain, grad(cl::checkpoint_sequential(net, 0, x, cl::CheckpointedSequentialOptions().memory_limit("10MB")))));
    CHECK(same_bits(in_loop, grad(cl::checkpointed_loop(step, x, 50, cl::LoopOptions().block_size(5)))));
    CHECK(same_bits(in_loop, grad(cl::checkpointed_loop(step, x, 50, cl::LoopOptions().memory_limit("10MB")))));
    CHECK(cl::estimate(step, x, 50, cl::LoopOptions()).limit_bytes == 1);
  }
  CHECK(!cl::memory_limit());
  limited const now{"120KB"};
  cl::byte_meter const meter;
  CHECK(same_bits(in_loop, grad(cl::checkpointed_loop(step, x, 50, cl::LoopOptions()))));
  CHECK(meter.peak() <= 120'000 + 3 * 8'192);  // the loss, its gradient and the result are the test's
}

}  // namespace memory_limit_tests
