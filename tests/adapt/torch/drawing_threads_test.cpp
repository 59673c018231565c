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
#include <cairn/adapt/torch/checkpoint/keep.hpp>
#include <cairn/adapt/torch/checkpoint/region.hpp>
#include <cairn/adapt/torch/checkpoint/sequential.hpp>
#include <cairn/adapt/torch/graph/checkpoint_module.hpp>
#include <cairn/core/error.hpp>

namespace drawing_threads_tests {

using at::Tensor;
using Catch::Matchers::ContainsSubstring;
using support::drawn_at_once;
using support::said;
using support::said_in_two_threads;
using support::same_bits;

/// x times a mask, or times 0.5, by a region or by a Sequential of two segments.
struct masked {
  bool in_region, draws;
  cl::Rng rng = cl::Rng::Preserve;

  /// \param on_run  called by each run with its number
  [[nodiscard]] Tensor operator()(Tensor const& x, std::function<void(int)> on_run) const {
    auto const f = [draws = draws, on_run = std::move(on_run), runs = std::make_shared<int>(0)](Tensor const& t) {
      on_run(++*runs);
      auto const mask = draws ? torch::dropout(torch::ones_like(t), 0.5, true) : torch::full_like(t, 0.5);
      return t * mask;
    };
    if (in_region) return cl::checkpoint(f, x, cl::CheckpointOptions().rng(rng));
    torch::nn::Sequential const both{torch::nn::Functional(f),
                                     torch::nn::Functional([](Tensor const& t) { return t * 1; })};
    return cl::checkpoint_sequential(both, 2, x, cl::CheckpointedSequentialOptions().rng(rng));
  }
};

Tensor new_input() { return torch::ones({64}, torch::requires_grad()); }

TEST_CASE("regions and Sequentials of two threads that draw random numbers at once are refused",
          "[torch][region][rng][threads]") {
  bool const in_region = GENERATE(true, false);
  masked const draws{in_region, true};
  SECTION("in forward") {
    std::barrier<> meet{2};
    auto const words = said_in_two_threads<cairn::invalid_call>(
        [&](int) { (void)draws(new_input(), [&](int) { meet.arrive_and_wait(); }); });
    for (auto const& one : words) CHECK_THAT(one, ContainsSubstring(drawn_at_once));
  }
  SECTION("in backward, which can be called again") {
    std::barrier<> meet{2};
    Tensor x[2], y[2];
    for (int k : {0, 1}) {
      x[k] = new_input();
      y[k] = draws(x[k], [&](int run) {
        if (run == 2) meet.arrive_and_wait();
      });
    }
    auto const words = said_in_two_threads<cairn::invalid_call>([&](int k) { y[k].backward(torch::ones({64})); });
    for (int k : {0, 1}) {
      CHECK_THAT(words[std::size_t(k)], ContainsSubstring(drawn_at_once));
      y[k].backward(torch::ones({64}));
      CHECK(same_bits(x[k].grad(), y[k]));
    }
  }
  SECTION("not where they draw none, nor where one that draws none says so") {
    for (bool const one_draws : {false, true}) {
      std::barrier<> meet{2};
      auto const words = said_in_two_threads<std::exception>([&](int k) {
        masked one{in_region, k == 0 && one_draws};
        if (one_draws && !one.draws) one.rng = cl::Rng::Ignore;
        auto const x = new_input();
        auto const y = one(x, [&](int) { meet.arrive_and_wait(); });
        y.sum().backward();
        if (!same_bits(x.grad(), y)) throw std::runtime_error("other masks");
      });
      CHECK(words[0] == "");
      CHECK(words[1] == "");
    }
  }
}

TEST_CASE("regions of two threads that keep what they draw run at once where the error says so",
          "[torch][region][rng][threads]") {
  auto const words = said_in_two_threads<std::exception>([&](int) {
    for (int k = 0; k < 20; ++k) {
      auto const f = [](Tensor const& t) {
        return torch::exp(t * cl::keep([&] { return torch::dropout(torch::ones_like(t), 0.5, true); }));
      };
      auto const x = new_input();
      auto const y = cl::checkpoint(f, x, cl::CheckpointOptions().rng(cl::Rng::Ignore));
      y.sum().backward();
      auto const mask = torch::where(y > 1, 2., 0.);
      if (!torch::equal(x.grad(), mask * y)) throw std::runtime_error("other masks");
    }
  });
  for (auto const& one : words) CHECK(one == "");
}

TEST_CASE("threads that draw random numbers never get gradients of other numbers", "[torch][rng][threads]") {
  auto const masks = [](Tensor const& t) {
    auto y = t;
    for (int k = 0; k < 6; ++k) y = torch::dropout(y, 0.5, true);
    return y;
  };
  std::function<Tensor(int, Tensor const&)> run;
  SECTION("in a region") {
    run = [](int, Tensor const& x) { return masked{true, true}(x, [](int) {}); };
  }
  SECTION("in a Sequential") {
    run = [](int, Tensor const& x) { return masked{false, true}(x, [](int) {}); };
  }
  bool is_refused = true;
  SECTION("in a module within a limit") {
    is_refused = false;
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
  CHECK(met.right + met.refused == 400);
  if (!is_refused) CHECK(met.refused == 0);
}

}  // namespace drawing_threads_tests
