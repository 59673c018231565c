// SPDX-License-Identifier: Apache-2.0
#include "support/torch.hpp"
#include <string>
#include <cairn/adapt/torch/memory/byte_meter.hpp>
#include <cairn/adapt/torch/checkpoint/region.hpp>

namespace region_debug_tests {

using at::Tensor;
using cl::checkpoint;
using cl::CheckpointOptions;
using support::message_of;
using support::same_bits;
using support::take_grads;

TEST_CASE("a function may differentiate something itself inside a region, with and without early stop",
          "[torch][region]") {
  bool const early = GENERATE(true, false);
  auto const x = torch::randn({4}).requires_grad_(true), w = torch::randn({4}).requires_grad_(true);
  auto const f = [&](Tensor const& a) {
    auto const h = a.pow(3) * w;
    return torch::autograd::grad({h.sum()}, {a}, {}, true, true)[0].sin() * a.exp() * h;
  };
  f(x).sum().backward();
  auto const plain = take_grads({x, w});
  checkpoint(f, x, CheckpointOptions().early_stop(early)).sum().backward();
  CHECK(same_bits(plain, take_grads({x, w})));
}

TEST_CASE("what a backward pass of a retained graph leaves is dropped at its end, or kept by choice",
          "[torch][region]") {
  bool const keep = GENERATE(true, false);
  auto const x = torch::randn({1 << 12}).requires_grad_(true), w = torch::randn({1 << 12}).requires_grad_(true);
  int runs = 0;
  auto const f = [&](Tensor const& a) {
    ++runs;
    return a.sin() * w.cos().exp();
  };
  auto const y = checkpoint(f, x, CheckpointOptions().keep_leftovers(keep)).sum();
  auto const plain = f(x).sum();
  runs = 1;
  auto const gradient = [](Tensor const& of, Tensor const& by) {
    return torch::autograd::grad({of}, {by}, {}, true)[0];
  };
  cl::byte_meter const meter;
  CHECK(same_bits(gradient(y, x), gradient(plain, x)));
  CHECK((meter.allocated() > 0) == keep);
  CHECK(runs == 2);
  CHECK(same_bits(gradient(y, w), gradient(plain, w)));
  CHECK(runs == 3);
}

TEST_CASE("early stop is set for the regions of a scope", "[torch][region]") {
  auto const x = torch::ones({4}).requires_grad_(true);
  int after = 0;
  auto const f = [&](Tensor const& a) {
    auto const y = a.sin();
    ++after;
    return y + 1;
  };
  auto const count = [&](bool option) {
    auto const y = checkpoint(f, x, CheckpointOptions().early_stop(option)).sum();
    after = 0;
    y.backward();
    return after;
  };
  {
    cl::checkpoint_early_stop_guard const off{false};
    CHECK(count(true) == 1);
    {
      cl::checkpoint_early_stop_guard const on{true};
      CHECK(count(false) == 0);
    }
    CHECK(count(true) == 1);
  }
  CHECK(count(true) == 0);
  CHECK(count(false) == 1);
}

TEST_CASE("with debug an error of a second run that differs lists the operations of both runs", "[torch][region]") {
  auto const x = torch::ones({4}).requires_grad_(true);
  int calls = 0;
  auto const f = [&](Tensor const& a) {
    auto const h = a.mul(a);
    return ++calls == 1 ? h.sin().exp() : torch::cat({h, h}).cos().exp();
  };
  auto const said = [&](bool debug, bool guarded) {
    calls = 0;
    auto const y = [&] {
      cl::checkpoint_debug_guard const guard{guarded};
      return checkpoint(f, x, CheckpointOptions().debug(debug).early_stop(false)).sum();
    }();
    return support::said<cl::recompute_mismatch>([&] { y.backward(); });
  };
  auto const plain = said(true, false);
  CHECK(plain.find("aten::") == std::string::npos);
  auto const listed = said(false, true);
  CHECK(listed == plain + "\n"
                          "  first run                      second run\n"
                          "  aten::mul(Float[4], Float[4])  aten::mul(Float[4], Float[4])\n"
                          "> aten::sin(Float[4])            aten::cat(Float[4], Float[4])\n"
                          "  aten::exp(Float[4])            aten::cos(Float[8])\n"
                          "  -                              aten::exp(Float[8])\n");
}

}  // namespace region_debug_tests
