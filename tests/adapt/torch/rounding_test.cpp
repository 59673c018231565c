// SPDX-License-Identifier: Apache-2.0
// Where the bits of the plain loop end: what holds to the bit, and what to rounding, with a weight in two loops and
// with a gradient penalty.
#include "support/torch.hpp"
#include <cstdint>
#include <vector>
#include <cairn/adapt/torch/loop/loop.hpp>

namespace rounding_tests {

using at::Tensor;
using cl::LoopOptions;
using support::same_bits;
using support::seeded;
using support::take_grads;

/// Ten steps with w, in a loop or plainly.
Tensor ten_steps(Tensor x, Tensor const& w, bool looped) {
  auto const step = [w](Tensor const& s) { return torch::tanh(s.mm(w)) + 0.5 * s; };
  if (looped) return cl::checkpointed_loop(step, x, 10, LoopOptions().checkpoints(3).block_size(2));
  for (int i = 0; i < 10; ++i) x = step(x);
  return x;
}

struct problem {
  Tensor x = torch::randn({4, 8}, at::kDouble).requires_grad_(true);
  Tensor w = (0.4 * torch::randn({8, 8}, at::kDouble)).requires_grad_(true);
};

TEST_CASE("a weight of two loops gets the sum of what each loop gives it, which is the plain sum to rounding",
          "[torch]") {
  seeded const seed{1};
  problem const p;
  auto const first = ten_steps(p.x, p.w, true);
  auto const y = ten_steps(first, p.w, true);
  y.pow(2).sum().backward();
  auto const looped = take_grads({p.x, p.w});
  auto const z = ten_steps(ten_steps(p.x, p.w, false), p.w, false);
  z.pow(2).sum().backward();
  auto const plain = take_grads({p.x, p.w});
  CHECK(same_bits(y, z));
  CHECK(same_bits(looped[0], plain[0]));
  CHECK(torch::allclose(looped[1], plain[1], 1e-13, 1e-13));

  // Each loop's share has the plain bits: it is what a weight of its own would get.
  auto const one = p.w.detach().clone().requires_grad_(true), two = p.w.detach().clone().requires_grad_(true);
  ten_steps(ten_steps(p.x, one, false), two, false).pow(2).sum().backward();
  auto const shares = take_grads({p.x, one, two});
  CHECK(same_bits(looped[1], shares[1] + shares[2]));
}

TEST_CASE("a weight of a loop and of the code around it has the plain gradient to rounding", "[torch]") {
  seeded const seed{2};
  problem const p;
  auto const run = [&](bool looped) {
    auto const y = ten_steps(p.x.mm(p.w), p.w, looped).mm(p.w);
    y.pow(2).sum().backward();
    auto all = take_grads({p.x, p.w});
    all.push_back(y.detach());
    return all;
  };
  auto const looped = run(true), plain = run(false);
  CHECK(same_bits(looped[2], plain[2]));
  CHECK(same_bits(looped[0], plain[0]));
  CHECK(torch::allclose(looped[1], plain[1], 1e-13, 1e-13));
}

TEST_CASE(
    "with a gradient penalty the first gradient has the plain bits, and what goes through it is the plain one to "
    "rounding",
    "[torch]") {
  seeded const seed{3};
  problem const p;
  auto const run = [&](bool looped) {
    auto const loss = ten_steps(p.x, p.w, looped).pow(2).sum();
    auto const by_x = torch::autograd::grad({loss}, {p.x}, {}, true, true)[0];
    (loss + 0.1 * by_x.pow(2).sum()).backward();
    auto all = take_grads({p.x, p.w});
    all.insert(all.end(), {loss.detach(), by_x.detach()});
    return all;
  };
  auto const looped = run(true), plain = run(false);
  CHECK(same_bits(looped[2], plain[2]));
  CHECK(same_bits(looped[3], plain[3]));
  for (std::size_t k = 0; k < 2; ++k) CHECK(torch::allclose(looped[k], plain[k], 1e-13, 1e-13));
}

}  // namespace rounding_tests
