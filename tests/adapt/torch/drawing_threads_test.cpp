// SPDX-License-Identifier: Apache-2.0
// Generators belong to the process: computations of two threads that draw from them at once are refused, and never get
// gradients of other numbers.
#include "support/torch.hpp"
#include "support/two_threads.hpp"
#include <barrier>
#include <cstddef>
#include <exception>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <torch/nn/modules/container/functional.h>
#include <utility>
#include <vector>
#include <cairn/adapt/torch/record/region.hpp>
#include <cairn/adapt/torch/record/sequential.hpp>
#include <cairn/adapt/torch/graph/checkpoint_module.hpp>
#include <cairn/core/error.hpp>

namespace drawing_threads_tests {

using at::Tensor;
using Catch::Matchers::ContainsSubstring;
using support::drawn_at_once;
using support::said;
using support::said_in_two_threads;
using support::same_bits;

Tensor new_input() { return torch::ones({64}, torch::requires_grad()); }

TEST_CASE("threads that draw random numbers never get gradients of other numbers", "[torch][rng][threads]") {
  auto const masks = [](Tensor const& t) {
    auto y = t;
    for (int k = 0; k < 6; ++k) y = torch::dropout(y, 0.5, true);
    return y;
  };
  std::function<Tensor(int, Tensor const&)> run;
  SECTION("in a region") {
    run = [masks](int, Tensor const& x) { return cl::checkpoint(masks, x); };
  }
  SECTION("in a Sequential") {
    torch::nn::Sequential const three(torch::nn::Functional{masks}, torch::nn::Functional{masks},
                                      torch::nn::Functional{masks});
    run = [three](int, Tensor const& x) { return cl::checkpoint_sequential(three, 3, x); };
  }
  SECTION("in a module within a limit") {
    auto const silent = cl::ModuleOptions().notice([](std::string const&) {});
    std::vector const modules(2, cl::checkpoint_module(masks, 1, silent));
    run = [modules](int k, Tensor const& x) { return modules[std::size_t(k)](x); };
  }
  support::meetings const met{200, [&](int thread) {
                                auto const x = new_input();
                                auto const y = run(thread, x);
                                y.sum().backward();
                                return same_bits(x.grad(), y);
                              }};
  CAPTURE(met.right.load(), met.refused.load());
  CHECK(met.wrong == 0);
  CHECK(met.right == 400);
}

}  // namespace drawing_threads_tests
