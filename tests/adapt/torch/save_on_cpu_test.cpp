// SPDX-License-Identifier: Apache-2.0
#include "support/torch.hpp"
#include <optional>
#include <string>
#include <vector>
#include <cairn/adapt/torch/memory/byte_meter.hpp>
#include <cairn/adapt/torch/record/region.hpp>
#include <cairn/adapt/torch/checkpoint/saved_tensors_hooks.hpp>

namespace save_on_cpu_tests {

using at::Tensor;
using cl::save_on_cpu;
using Catch::Matchers::ContainsSubstring;
using support::message_of;
using support::same_bits;
using support::seeded;
using support::take_grads;

TEST_CASE("tensors saved on the CPU give the bits of the plain program, in any layout", "[torch][hooks]") {
  bool const copies = GENERATE(false, true);
  seeded const seed{1};
  auto const x = torch::randn({6, 4}).requires_grad_(true), w = torch::randn({6, 1}).requires_grad_(true);
  auto const run = [&](bool with) {
    std::optional<save_on_cpu> scope;
    if (with) scope.emplace(copies);
    auto const wide = w.expand({6, 5});
    auto const y = torch::mm(x.t(), wide * wide) + wide.t().mm(x).t().sigmoid().select(0, 1).exp();
    y.slice(0, 0, 4, 2).pow(3).sum().backward();
    return take_grads({x, w});
  };
  CHECK(same_bits(run(false), run(true)));
}

TEST_CASE("a tensor of the CPU is copied where that is asked for, and its bytes are counted while they stand",
          "[torch][hooks]") {
  auto const x = torch::ones({1 << 10}).requires_grad_(true);
  auto const bytes = std::int64_t(x.nbytes());
  cl::byte_meter const meter;
  {
    save_on_cpu const scope;
    auto const y = x.sin().sum();
    CHECK(scope.bytes() == 0);
    CHECK(meter.allocated() < bytes);
    y.backward();
    (void)take_grads({x});
  }
  {
    save_on_cpu const scope{true};
    auto y = x.sin().sum();
    CHECK(scope.bytes() == bytes);
    CHECK(meter.allocated() >= bytes);
    y.backward();
    CHECK(scope.bytes() == 0);
    auto const z = (x * torch::ones({1}).expand({1 << 10})).sum();  // the factor is there once
    CHECK(scope.bytes() == 4);
    (void)take_grads({x});
  }
  CHECK(meter.allocated() == 0);
}

TEST_CASE("a tensor of the CPU that was not copied must not be changed in place, and a copied one may",
          "[torch][hooks]") {
  auto const x = torch::ones({3}).requires_grad_(true);
  auto const changed = [&](bool copies) {
    auto const a = x * 2;
    auto const y = [&] {
      save_on_cpu const scope{copies};
      return a.sin().sum();
    }();
    a.add_(1);
    y.backward();
    return take_grads({x})[0];
  };
  CHECK_THAT(message_of([&] { changed(false); }),
             ContainsSubstring("a tensor saved for backward was changed in place afterwards"));
  CHECK(same_bits(changed(true), (2 * x.detach()).cos() * 2));
}

TEST_CASE("sparse tensors are saved on the CPU, too", "[torch][hooks]") {
  auto const sparse = torch::eye(4).mul(3).to_sparse();
  auto const w = torch::ones({4, 2}).requires_grad_(true);
  for (bool const copies : {false, true}) {
    save_on_cpu const scope{copies};
    torch::mm(sparse, w).sum().backward();
    CHECK(same_bits(take_grads({w}), {torch::full({4, 2}, 3.f)}));
  }
}

TEST_CASE("a region in a scope keeps its inputs on the CPU", "[torch][hooks][region]") {
  auto const x = torch::linspace(0, 1, 8).requires_grad_(true);
  auto const f = [](Tensor const& a) { return a.sin().exp().tanh(); };
  f(x).sum().backward();
  auto const expected = take_grads({x});
  save_on_cpu const scope{true};
  auto const y = cl::checkpoint(f, x);
  CHECK(scope.bytes() == std::int64_t(x.nbytes()));
  y.sum().backward();
  CHECK(same_bits(take_grads({x}), expected));
}

}  // namespace save_on_cpu_tests
