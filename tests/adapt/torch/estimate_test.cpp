// SPDX-License-Identifier: Apache-2.0
#include "support/torch.hpp"
#include <memory>
#include <sstream>
#include <string>
#include <vector>
#include <cairn/adapt/torch/memory/byte_meter.hpp>
#include <cairn/adapt/torch/loop/loop.hpp>
#include <cairn/adapt/torch/loop/loop_estimate.hpp>
#include <cairn/schedule/two_level.hpp>
#include <cairn/schedule/uniform.hpp>

namespace estimate_tests {

using at::Tensor;
using cl::LoopOptions;

/// A step whose tape is five times its state.
struct cell {
  Tensor w = torch::randn({16, 16}).requires_grad_(true), x = torch::randn({32, 16});
  Tensor operator()(Tensor const& s) const { return torch::sin(torch::tanh(torch::cos(s).mm(w)) * torch::sigmoid(s)); }
};

TEST_CASE("estimate counts and weighs any schedule as it then runs", "[torch]") {
  cell const c;
  cairn::step_index const steps = 24;
  std::vector<LoopOptions> all{LoopOptions(), LoopOptions().checkpoints(3), LoopOptions().checkpoints(2).block_size(5),
                               LoopOptions().block_size(24)};
  std::vector<cairn::any_schedule> const plans{cairn::revolve{steps, 2, {.free_initial = true}}, cairn::uniform{steps},
                                               cairn::store_all(steps), cairn::two_level{steps, 6, 2},
                                               cairn::leaves{steps, 7, cairn::uniform{4}}};
  for (auto const& plan : plans) all.push_back(LoopOptions().schedule(plan));
  for (auto const& options : all) {
    auto const e = cl::estimate(c, c.x, steps, options);
    auto const stats = std::make_shared<cl::StepStats>();
    std::int64_t peak = 0;
    {
      cl::byte_meter const meter;
      cl::checkpointed_loop(c, c.x, steps, LoopOptions(options).stats(stats)).pow(2).sum().backward();
      (void)support::take_grads({c.w});
      peak = meter.peak();
    }
    CAPTURE(peak, std::int64_t(e.peak_bytes), e.checkpoints, e.block_size);
    CHECK(stats->forward == e.forward);
    CHECK(stats->recompute == e.recompute);
    CHECK(stats->vjp == e.vjp);
    CHECK(stats->engine_calls == e.engine_calls);
    CHECK(stats->slots_peak == e.checkpoints);
    CHECK(peak <= std::int64_t(e.peak_bytes) + 64);
    auto const slack =
        2 * e.costs.state_bytes + e.costs.generator_bytes + (e.engine_calls == 1 ? e.costs.gradient_bytes : 0);
    CHECK(double(e.peak_bytes) <= 1.05 * double(peak) + double(slack));
    CHECK(e.slowdown() > 0);
  }
}

TEST_CASE("the table of an estimate begins at the least and ends at all tapes", "[torch]") {
  cell const c;
  auto const e = cl::estimate(c, c.x, 1000, LoopOptions());
  std::istringstream lines{e.table()};
  std::vector<std::string> all;
  for (std::string line; std::getline(lines, line);) all.push_back(line);
  REQUIRE(all.size() > 3);
  CHECK(all.front().find("checkpoints") != std::string::npos);
  for (auto const& line : all) CHECK(line.size() == all.front().size());
  CHECK(cl::LoopEstimate{}.table().size() == all.front().size() + 1);
}

TEST_CASE("a loop that nothing is differentiated through weighs no tape", "[torch]") {
  auto const e = cl::estimate([](Tensor const& s) { return s.sin(); }, torch::ones({100}), 10, LoopOptions());
  CHECK(e.costs.tape_bytes == 0);
  CHECK(e.costs.gradient_bytes == 0);
  CHECK(e.costs.state_bytes == 400);
}

TEST_CASE("estimate weighs by name what a state, a tape and the gradients take", "[torch]") {
  cell const c;
  auto const e = cl::estimate(c, c.x, 30, LoopOptions().checkpoints(1).block_size(1));
  int const one = 32 * 16 * 4;
  CHECK(e.costs.state_bytes == one);
  CHECK(e.costs.gradient_bytes == 16 * 16 * 4);
  // cos and sigmoid save s, mm what cos gives, tanh and sigmoid what they give, mul both, sin its argument: s is the
  // state itself
  CHECK(e.costs.tape_bytes == 5 * one);
}

}  // namespace estimate_tests
