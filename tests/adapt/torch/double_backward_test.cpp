// SPDX-License-Identifier: Apache-2.0
#include "support/torch.hpp"
#include <cairn/adapt/torch/loop/loop.hpp>
#include <functional>
#include <string>
#include <vector>

namespace double_backward_tests {

using at::Tensor;
using cl::LoopOptions;
using Catch::Matchers::ContainsSubstring;

struct problem {
  Tensor x = torch::linspace(0.1, 1, 4, at::kDouble).requires_grad_(true),
         w = torch::full({4}, 0.9, at::TensorOptions(at::kDouble).requires_grad(true));
  Tensor v = w * w;  // captured, and no leaf

  [[nodiscard]] Tensor run(bool looped, LoopOptions const& options) const {
    auto const step = [w = w, v = v](Tensor const& s) { return torch::sin(s * w) + torch::dropout(v * s, 0.2, true); };
    torch::manual_seed(3);
    if (looped) return cl::checkpointed_loop(step, x, 9, options);
    Tensor s = x;
    for (int i = 0; i < 9; ++i) s = step(s);
    return s;
  }
  [[nodiscard]] std::vector<Tensor> second(bool looped, LoopOptions const& options = LoopOptions()) const {
    auto const y = run(looped, options);
    auto const first = torch::autograd::grad({y.pow(3).sum()}, {x, w}, {}, true, true);
    auto all = torch::autograd::grad({first[0].pow(2).sum() + first[1].sin().sum()}, {x, w}, {}, true);
    all.insert(all.end(), {first[0].detach(), first[1].detach()});
    return all;
  }
};

TEST_CASE("a loop over tensors can be differentiated twice", "[torch]") {
  problem const p;
  auto const want = p.second(false);
  for (int const size : {0, 1, 3}) {
    auto const got = p.second(true, LoopOptions().checkpoints(2).block_size(size));
    for (std::size_t k = 0; k < want.size(); ++k) CHECK(torch::allclose(want[k], got[k], 1e-12, 1e-14));
    CHECK(support::same_bits(want[2], got[2]));
  }
}

TEST_CASE("hooks run once in a backward that is differentiated again", "[torch]") {
  problem const p;
  int calls = 0;
  p.w.register_hook([&](Tensor const& grad) {
    ++calls;
    return 2 * grad;
  });
  auto const count = [&](bool looped) {
    calls = 0;
    (p.run(looped, LoopOptions().checkpoints(2)).pow(2).sum()).backward({}, true, true);
    auto const first = p.w.grad();
    p.w.mutable_grad() = Tensor{};
    p.x.mutable_grad() = Tensor{};
    first.sum().backward({}, true);
    auto const grads = support::take_grads({p.x, p.w});
    return std::pair{calls, grads};
  };
  auto const want = count(false), got = count(true);
  CHECK(want.first == got.first);
  for (std::size_t k = 0; k < 2; ++k) CHECK(torch::allclose(want.second[k], got.second[k], 1e-12, 1e-14));
}

TEST_CASE("a second derivative may be switched off, and a third one is refused", "[torch]") {
  problem const p;
  CHECK_THAT(support::said<cairn::invalid_call>([&] { (void)p.second(true, LoopOptions().double_backward(false)); }),
             ContainsSubstring("the options of the loop forbid differentiating it twice"));
  auto const y = p.run(true, LoopOptions());
  auto const first = torch::autograd::grad({y.pow(2).sum()}, {p.x}, {}, true, true);
  CHECK_THAT(
      support::said<cairn::invalid_call>([&] { (void)torch::autograd::grad({first[0].sum()}, {p.x}, {}, true, true); }),
      ContainsSubstring("the loop can be differentiated twice, not three times"));
}

}  // namespace double_backward_tests
