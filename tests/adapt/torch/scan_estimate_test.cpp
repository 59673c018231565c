// SPDX-License-Identifier: Apache-2.0
#include "support/torch.hpp"
#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <tuple>
#include <utility>
#include <vector>
#include <cairn/adapt/torch/loop/loop_estimate.hpp>
#include <cairn/adapt/torch/loop/scan.hpp>
#include <cairn/adapt/torch/memory/byte_meter.hpp>
#include <cairn/schedule/two_level.hpp>
#include <cairn/schedule/uniform.hpp>

namespace scan_estimate_tests {

using at::Tensor;
using cl::LoopOptions;
using cl::StepStats;
using support::same_bits;

/// Dropout, an output that is computed and one that is the state.
struct cell {
  Tensor w = torch::randn({16, 16}).mul_(0.2).requires_grad_(true), out = torch::randn({16, 24}).requires_grad_(true),
         h0 = torch::randn({32, 16});
  std::pair<Tensor, std::tuple<Tensor, Tensor>> operator()(Tensor const& h, Tensor const& x) const {
    auto const next = torch::tanh(torch::dropout(h, 0.2, true).mm(w) + x * h);
    return {next, {next, torch::sigmoid(next.mm(out))}};
  }
  static constexpr std::int64_t state = 32 * 16 * 4, outputs = state + 32 * 24 * 4;
};
struct outcome {
  std::vector<Tensor> grads;
  std::int64_t peak = 0;  ///< beside the gradients with which backward begins
};
outcome scanned(cell const& c, Tensor const& xs, LoopOptions const& options) {
  support::seeded const seed{3};
  auto const hs = torch::ones({xs.size(0), 32, 16}), zs = torch::ones({xs.size(0), 32, 24});
  cl::byte_meter const meter;
  auto const ys = cl::checkpointed_scan(c, c.h0, xs, options).second;
  std::vector<Tensor> wanted{c.w, c.out};
  if (xs.requires_grad()) wanted.push_back(xs);
  outcome done{torch::autograd::grad({std::get<0>(ys), std::get<1>(ys)}, wanted, {hs, zs}), 0};
  done.peak = meter.peak();
  return done;
}

TEST_CASE("estimate counts and weighs a scan by any schedule as it then runs", "[torch]") {
  cell const c;
  for (bool const differentiable : {false, true})
    for (cairn::step_index const steps : {1, 2, 3, 5, 24}) {
      auto const xs = torch::randn({steps, 32, 16}).requires_grad_(differentiable);
      std::vector<LoopOptions> all{LoopOptions(), LoopOptions().checkpoints(3),
                                   LoopOptions().checkpoints(2).block_size(5), LoopOptions().block_size(24)};
      if (steps == 24)
        for (cairn::any_schedule const& plan :
             std::vector<cairn::any_schedule>{cairn::revolve{24, 2, {.free_initial = true}}, cairn::uniform{24},
                                              cairn::store_all(24), cairn::two_level{24, 6, 2}})
          all.push_back(LoopOptions().schedule(plan));
      for (auto const& options : all) {
        auto const e = cl::estimate(c, c.h0, xs, options);
        auto const stats = std::make_shared<StepStats>();
        auto const ran = scanned(c, xs, LoopOptions(options).stats(stats));
        CAPTURE(differentiable, steps, ran.peak, std::int64_t(e.peak_bytes), e.checkpoints, e.block_size);
        REQUIRE(stats->forward == e.forward);
        REQUIRE(stats->recompute == e.recompute);
        REQUIRE(stats->vjp == e.vjp);
        REQUIRE(stats->engine_calls == e.engine_calls);
        REQUIRE(stats->slots_peak == e.checkpoints);
        REQUIRE(std::int64_t(e.caller_bytes) == steps * (cell::outputs + (differentiable ? cell::state : 0)));
        REQUIRE(stats->tensor_bytes == ran.peak);
        auto const beside = ran.peak - std::int64_t(e.caller_bytes);
        REQUIRE(beside <= std::int64_t(e.peak_bytes));
        auto const first_steps = std::min<cairn::step_index>(steps, 3) *
                                 (2 * cell::outputs + cell::state);  // measured as if they were the loop's
        auto slack = 2 * e.costs.state_bytes + e.costs.generator_bytes + cairn::wide(first_steps);
        // one block: all tapes are gone before the gradients stand in their places
        if (e.engine_calls == 1)
          slack += e.costs.gradient_bytes + cairn::wide(differentiable ? steps * cell::state : 0);
        CHECK(double(e.peak_bytes) <= 1.05 * double(beside) + double(slack));
      }
    }
}

TEST_CASE("the least that estimate names for a scan is accepted as a limit and kept, and a byte less is not",
          "[torch]") {
  cell const c;
  for (cairn::step_index const steps : {1, 2, 3, 5, 50}) {
    auto const xs = torch::randn({steps, 32, 16}).requires_grad_(true);
    auto const want = scanned(c, xs, LoopOptions().block_size(steps)).grads;
    auto const least = cl::estimate(c, c.h0, xs, LoopOptions()).least_bytes;
    for (double const factor : {1.0, 1.5, 4.0, 20.0}) {
      auto const limit = cairn::wide(double(least) * factor);
      auto const e = cl::estimate(c, c.h0, xs, LoopOptions().memory_limit(limit));
      auto const ran = scanned(c, xs, LoopOptions().memory_limit(limit));
      CAPTURE(steps, std::int64_t(limit), ran.peak);
      CHECK(e.fits());
      CHECK(e.least_bytes == least);
      CHECK(ran.peak <= std::int64_t(limit + e.caller_bytes));
      CHECK(same_bits(want, ran.grads));
      auto const chosen = scanned(c, xs, LoopOptions().checkpoints(e.checkpoints).block_size(e.block_size));
      CHECK(chosen.peak <= std::int64_t(e.peak_bytes + e.caller_bytes));
    }
    CHECK_THROWS_AS(cl::checkpointed_scan(c, c.h0, xs, LoopOptions().memory_limit(least - 1)),
                    cairn::infeasible_budget);
    CHECK_FALSE(cl::estimate(c, c.h0, xs, LoopOptions().memory_limit(least - 1)).fits());
  }
}

TEST_CASE("a scan of no steps weighs nothing, and nothing is run for it", "[torch]") {
  int calls = 0;
  auto const step = [&](Tensor const& h, Tensor const& x) {
    ++calls;
    return std::pair{h + x, h};
  };
  auto const h0 = torch::ones({4}, torch::requires_grad());
  for (auto const& e : {cl::estimate(step, h0, torch::ones({0, 4}), LoopOptions()),
                        cl::estimate(step, h0, std::vector<Tensor>{}, LoopOptions().memory_limit(1))}) {
    CHECK(e.fits());
    CHECK(e.peak_bytes == 0);
    CHECK(e.caller_bytes == 0);
    CHECK(e.forward == 0);
  }
  CHECK(calls == 0);
  CHECK_THROWS_AS(cl::estimate(step, h0, torch::ones({}), LoopOptions()), cairn::invalid_call);
  CHECK_THROWS_AS(cl::estimate(step, h0, torch::ones({3, 4}), LoopOptions().checkpoints(-1)), cairn::invalid_plan);
  CHECK(calls == 0);
}

TEST_CASE("inputs in vectors and tuples are estimated as they run, and leave everything as it was", "[torch]") {
  auto const w = torch::rand({300}).requires_grad_(true), h0 = torch::rand({300});
  std::vector<Tensor> xs, ys;
  for (int i = 0; i < 17; ++i) {
    xs.push_back(torch::rand({300}).requires_grad_(i % 2 == 0));
    ys.push_back(torch::rand({1}));
  }
  auto const step = [&](Tensor const& h, std::tuple<Tensor, Tensor> const& x, cairn::step_index) {
    auto const next = torch::dropout(torch::sin(h * w) * std::get<0>(x) + std::get<1>(x), 0.1, true);
    return std::pair{next, torch::cos(next)};
  };
  auto const sequences = std::tuple{xs, ys};
  auto const at = at::detail::getDefaultCPUGenerator().get_state();
  auto const e = cl::estimate(step, h0, sequences, LoopOptions().checkpoints(4).block_size(2));
  CHECK(same_bits(at, at::detail::getDefaultCPUGenerator().get_state()));
  CHECK_FALSE(w.grad().defined());
  CHECK(e.caller_bytes == 26 * 1200);  // 17 outputs and 9 gradients
  auto const stats = std::make_shared<StepStats>();
  auto const given =
      cl::checkpointed_scan(step, h0, sequences, LoopOptions().checkpoints(4).block_size(2).stats(stats)).second;
  std::vector<Tensor> const bars(given.size(), torch::ones({300}));
  (void)torch::autograd::grad(given, {w, xs[0], xs[8], xs[16]}, bars);
  CHECK(stats->recompute == e.recompute);
  CHECK(stats->engine_calls == e.engine_calls);
  CHECK(stats->tensor_bytes <= std::int64_t(e.peak_bytes + e.caller_bytes));
}

TEST_CASE("a number of steps of any integer type is one, and a tensor of one is a sequence", "[torch]") {
  auto const w = torch::ones({3}, torch::requires_grad());
  auto const of_loop = [&](Tensor const& h) { return h * w; };
  auto const of_scan = [&](Tensor const& h, Tensor const& x) { return std::pair{h * w, x}; };
  auto const forward = [&](auto const& count) { return cl::estimate(of_loop, w, count, LoopOptions()).forward; };
  CHECK(forward(7) == 7);
  CHECK(forward(7u) == 7);
  CHECK(forward(short{7}) == 7);
  CHECK(forward(std::size_t{7}) == 7);
  CHECK(forward(std::int64_t{7}) == 7);
  CHECK(cl::estimate(of_scan, w, torch::ones({7}), LoopOptions()).forward == 7);
}

}  // namespace scan_estimate_tests
