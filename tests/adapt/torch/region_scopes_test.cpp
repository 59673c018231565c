// SPDX-License-Identifier: Apache-2.0
// What early_stop, debug and leftovers mean to the whole of a scope or of a backward pass.
#include "support/torch.hpp"
#include <string>
#include <utility>
#include <cairn/adapt/torch/checkpoint/checkpoint_guards.hpp>
#include <cairn/adapt/torch/checkpoint/region.hpp>

namespace region_scopes_tests {

using at::Tensor;
using cl::checkpoint;
using cl::CheckpointOptions;
using support::message_of;

TEST_CASE(
    "early stop is set for a region, or for all regions of a scope, which wins and counts where the region was made",
    "[torch][checkpoint]") {
  int calls = 0;
  auto const a = torch::full({}, 1.0).requires_grad_(true);
  auto const f = [&](Tensor const& x) {
    auto const y = x.sin().cos();
    ++calls;  // nothing after it saves a tensor
    return y.clone();
  };
  auto const calls_of = [&](Tensor const& y) {
    y.backward();
    return std::exchange(calls, 0);
  };
  CHECK(calls_of(checkpoint(f, a)) == 1);
  CHECK(calls_of(checkpoint(f, a, CheckpointOptions().early_stop(false))) == 2);
  CHECK(calls_of(checkpoint(f, a, CheckpointOptions().early_stop(true))) == 1);
  auto const within = [&](bool outer, bool inner, CheckpointOptions const& options) {
    cl::checkpoint_early_stop_guard const first{outer};
    cl::checkpoint_early_stop_guard const second{inner};
    return checkpoint(f, a, options);
  };
  CHECK(calls_of(within(false, false, CheckpointOptions())) == 2);
  CHECK(calls_of(within(true, true, CheckpointOptions())) == 1);
  CHECK(calls_of(within(false, true, CheckpointOptions().early_stop(false))) == 1);
  CHECK(calls_of(within(false, false, CheckpointOptions().early_stop(true))) == 2);
  CHECK(calls_of(within(true, true, CheckpointOptions().early_stop(false))) == 1);
  CHECK(calls_of(checkpoint(f, a, CheckpointOptions().early_stop(false))) == 2);
}

TEST_CASE("an error of a second run lists the operations of both runs where that is asked for", "[torch][checkpoint]") {
  auto const x = torch::randn({1}).requires_grad_(true);
  auto const error = [&](CheckpointOptions const& options) {
    int calls = 0;
    auto const f = [&](Tensor const& a) { return ++calls == 1 ? a.sin().exp() : a.sin() * torch::full({2}, 2.0); };
    return message_of([&] { checkpoint(f, x, options).backward(); });
  };
  CHECK(error({}).find("aten::exp") == std::string::npos);
  auto const listed = error(CheckpointOptions().debug(true));
  CHECK(listed.find("aten::exp") != std::string::npos);
  CHECK(listed.find("aten::mul") != std::string::npos);
  {
    cl::checkpoint_debug_guard const on{true};
    CHECK(error(CheckpointOptions().debug(false)).find("aten::exp") != std::string::npos);
  }
  cl::checkpoint_debug_guard const off{false};
  CHECK(error(CheckpointOptions().debug(true)).find("aten::exp") == std::string::npos);
}

TEST_CASE("two backward passes through parts of a region run it again once each", "[torch][checkpoint]") {
  int calls = 0;
  auto const x = torch::randn({3, 3}).requires_grad_(true);
  auto const f = [&](Tensor const& a) {
    ++calls;
    auto const y = a.sin().cos();
    return std::pair{y, y.sin().cos()};
  };
  auto const passes = [&](CheckpointOptions const& options) {
    calls = 0;
    auto const [y, z] = checkpoint(f, x, options);
    auto const by_y = torch::autograd::grad({z}, {y}, {torch::ones({3, 3})})[0];
    auto const by_x = torch::autograd::grad({y}, {x}, {by_y})[0];
    auto const plain = f(x).second;
    CHECK(torch::allclose(by_x, torch::autograd::grad({plain}, {x}, {torch::ones({3, 3})})[0]));
    return calls - 1;
  };
  CHECK(passes({}) == 3);
  CHECK(passes(CheckpointOptions().keep_leftovers(true)) == 2);
}

}  // namespace region_scopes_tests
