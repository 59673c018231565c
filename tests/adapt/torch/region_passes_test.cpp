// SPDX-License-Identifier: Apache-2.0
// What a region makes again, in how many passes, and what it leaves.
#include "support/torch.hpp"
#include <utility>
#include <cairn/adapt/torch/memory/byte_meter.hpp>
#include <cairn/adapt/torch/record/region.hpp>

namespace region_passes_tests {

using at::Tensor;
using cl::checkpoint;
using cl::CheckpointOptions;
using support::same_bits;
using support::take_grads;

TEST_CASE("a function may differentiate something itself inside a region, and use it there", "[torch][region]") {
  auto const x = torch::randn({4}).requires_grad_(true), w = torch::randn({4}).requires_grad_(true);
  auto const f = [&](Tensor const& a) {
    auto const h = a.pow(3) * w;
    return torch::autograd::grad({h.sum()}, {a}, {}, true, true)[0].sin() * a.exp() * h;
  };
  f(x).sum().backward();
  auto const plain = take_grads({x, w});
  checkpoint(f, x).sum().backward();
  CHECK(same_bits(plain, take_grads({x, w})));
}

TEST_CASE("what a backward pass of a retained graph leaves is dropped at its end, or kept by choice",
          "[torch][region]") {
  bool const keep = GENERATE(true, false);
  auto const x = torch::randn({1 << 12}).requires_grad_(true), w = torch::randn({1 << 12}).requires_grad_(true);
  auto const f = [&](Tensor const& a) { return a.sin() * w.cos().exp(); };
  auto const y = checkpoint(f, x, CheckpointOptions().keep_leftovers(keep)).sum();
  auto const plain = f(x).sum();
  auto const& again = cl::detail::region_totals()->again;
  auto const before = again.load();
  auto const gradient = [](Tensor const& of, Tensor const& by) {
    return torch::autograd::grad({of}, {by}, {}, true)[0];
  };
  cl::byte_meter const meter;
  CHECK(same_bits(gradient(y, x), gradient(plain, x)));
  CHECK((meter.allocated() > 0) == keep);
  CHECK(again == before + 3);
  CHECK(same_bits(gradient(y, w), gradient(plain, w)));
  CHECK(again > before + 3);
}

TEST_CASE("two backward passes through parts of a region make it again once each, or once together",
          "[torch][region]") {
  auto const x = torch::randn({3, 3}).requires_grad_(true);
  auto const& again = cl::detail::region_totals()->again;
  auto const f = [](Tensor const& a) {
    auto const y = a.sin().cos();
    return std::pair{y, y.sin().cos()};
  };
  auto const passes = [&](CheckpointOptions const& options) {
    auto const [y, z] = checkpoint(f, x, options);
    auto const before = again.load();
    auto const by_y = torch::autograd::grad({z}, {y}, {torch::ones({3, 3})})[0];
    auto const by_x = torch::autograd::grad({y}, {x}, {by_y})[0];
    auto const count = again - before;
    auto const plain = f(x).second;
    CHECK(same_bits(by_x, torch::autograd::grad({plain}, {x}, {torch::ones({3, 3})})[0]));
    return count;
  };
  CHECK(passes({}) == 2 + 1);  // both sines, and the first one again
  CHECK(passes(CheckpointOptions().keep_leftovers(true)) == 2);
}

}  // namespace region_passes_tests
