// SPDX-License-Identifier: Apache-2.0
// A second run of a region draws the random numbers of the first one, wherever the generator stood.
#include "support/torch.hpp"
#include <cstdint>
#include <vector>
#include <cairn/adapt/torch/record/region.hpp>

namespace region_numbers_tests {

using at::Tensor;
using support::same_bits;
using support::seeded;

TEST_CASE("a region that begins or ends between two numbers of a pair has the gradients of the plain call",
          "[torch][region]") {
  auto const x = torch::randn({5}).requires_grad_();
  for (auto const type : {at::kFloat, at::kDouble})
    for (std::int64_t const before : {0, 1, 700})  // 700: the generator makes its numbers 624 at a time
      for (std::int64_t const inside : {0, 1, 2, 5}) {
        auto const run = [&](bool checkpointed) {
          seeded const seed{std::uint64_t(3 + before)};
          std::vector<Tensor> all;
          for (std::int64_t k = 0; k < before; ++k) all.push_back(torch::randn({1}, type));
          auto const f = [&](Tensor const& t) {
            auto y = t.to(type).sin();
            for (std::int64_t k = 0; k < inside; ++k) y = (y * torch::randn({1}, type)).tanh();
            return y;
          };
          auto const y = checkpointed ? cl::checkpoint(f, x) : f(x);
          all.push_back(torch::randn({3}, type));
          auto const gradient = torch::autograd::grad({y}, {x}, {torch::ones({5}, type)})[0];
          all.insert(all.end(), {y.detach(), gradient, torch::randn({3}, type)});
          return all;
        };
        CHECK(same_bits(run(true), run(false)));
      }
}

TEST_CASE("a region whose first run draws nothing leaves the generator to others", "[torch][region]") {
  auto const x = torch::randn({5}).requires_grad_();
  auto const numbers = [&](bool checkpointed) {
    seeded const seed{1};
    auto const f = [](Tensor const& t) { return t.sin().cos().exp(); };
    auto const y = checkpointed ? cl::checkpoint(f, x) : f(x);
    std::vector<Tensor> all{torch::randn({3})};
    y.sum().backward();
    all.push_back(torch::randn({3}));
    return all;
  };
  CHECK(same_bits(numbers(true), numbers(false)));
}

}  // namespace region_numbers_tests
