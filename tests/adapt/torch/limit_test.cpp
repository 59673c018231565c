// SPDX-License-Identifier: Apache-2.0
#include "support/torch.hpp"
#include <algorithm>
#include <functional>
#include <memory>
#include <tuple>
#include <utility>
#include <vector>
#include <cairn/adapt/torch/memory/byte_meter.hpp>
#include <cairn/adapt/torch/loop/loop.hpp>
#include <cairn/adapt/torch/loop/loop_estimate.hpp>
#include <cairn/adapt/torch/loop/while.hpp>

namespace limit_tests {

using at::Tensor;
using cl::LoopOptions;
using support::same_bits;
using state = std::vector<Tensor>;

/// A step, where it starts, and what it is differentiated with respect to.
struct problem {
  std::function<state(state const&, cairn::step_index)> step;
  state x0;
  std::vector<Tensor> inputs;
};
/// An LSTM cell with dropout, whose weights weigh more than a tape or less.
problem lstm(int width, int batch) {
  auto const cell = std::make_shared<torch::nn::LSTMCellImpl>(width, width);
  problem p{[cell](state const& s, cairn::step_index) {
              auto const [h, c] = cell->forward(torch::dropout(s[0], 0.2, true), std::tuple{s[0], s[1]});
              return state{h, c};
            },
            {torch::randn({batch, width}), torch::zeros({batch, width})}, cell->parameters()};
  return p;
}
/// Convolutions, whose state requires a gradient, too.
problem convolution() {
  auto const net = std::make_shared<torch::nn::Conv2dImpl>(torch::nn::Conv2dOptions(4, 4, 3).padding(1));
  problem p{[net](state const& s, cairn::step_index) { return state{torch::tanh(net->forward(s[0]))}; },
            {torch::randn({2, 4, 16, 16}).requires_grad_(true)}, net->parameters()};
  p.inputs.push_back(p.x0[0]);
  return p;
}
/// Two time levels and the speed of a wave, which is carried along.
problem wave() {
  auto const speed = torch::rand({40, 40}).requires_grad_(true);
  problem p{[](state const& s, cairn::step_index) {
              auto const around = s[1].roll(1, 0) + s[1].roll(-1, 0) + s[1].roll(1, 1) + s[1].roll(-1, 1) - 4 * s[1];
              return state{s[1], 2 * s[1] - s[0] + 0.1 * s[2] * around, s[2]};
            },
            {torch::rand({40, 40}), torch::rand({40, 40}), speed}, {speed}};
  return p;
}
/// Nothing but elementwise steps with a large part that is an integer, one that is not there, and one that is only
/// carried along.
problem mixed() {
  auto const w = torch::rand({300}).requires_grad_(true);
  problem p{[w](state const& s, cairn::step_index) { return state{torch::sin(s[0] * w), s[1] + 1, Tensor{}, s[3]}; },
            {torch::rand({300}), torch::zeros({200}, torch::kLong), Tensor{}, torch::rand({900})}, {w}};
  return p;
}
std::vector<problem> problems() { return {lstm(24, 4), lstm(8, 64), convolution(), wave(), mixed()}; }

struct outcome {
  std::vector<Tensor> grads;
  std::int64_t peak = 0;
};
Tensor loss(state const& x) {
  Tensor sum = x[0].pow(2).sum();
  for (std::size_t k = 1; k < x.size(); ++k)
    if (x[k].defined() && x[k].is_floating_point()) sum = sum + x[k].pow(2).sum();
  return sum;
}
/// The gradients, and the most bytes of tensors that were held, the loss's own included.
template <class Run>
outcome measured(problem const& p, Run run) {
  support::seeded const seed{3};
  cl::byte_meter const meter;
  loss(run()).backward();
  return {support::take_grads(p.inputs), meter.peak()};
}
outcome plain(problem const& p, cairn::step_index steps) {
  return measured(p, [&] {
    auto x = p.x0;
    for (cairn::step_index i = 0; i < steps; ++i) x = p.step(x, i);
    return x;
  });
}
/// A copy, so that an initial state is counted, too.
state made_here(state const& x) {
  state copy;
  for (auto const& t : x) copy.push_back(t.defined() ? t.clone() : t);
  return copy;
}
outcome looped(problem const& p, cairn::step_index steps, LoopOptions const& options) {
  return measured(p, [&] { return cl::checkpointed_loop(p.step, made_here(p.x0), steps, options); });
}

TEST_CASE("a memory limit is never exceeded, measuring included, and what is estimated is what runs", "[torch]") {
  constexpr int scalars = 64;  // of the loss
  int number = 0;
  for (auto const& p : problems()) {
    for (cairn::step_index const steps : {1, 2, 3, 4, 5, 23}) {
      auto const want = plain(p, steps);
      auto const least = cl::estimate(p.step, p.x0, steps, LoopOptions()).least_bytes;
      for (double factor = 1; factor < 20; factor *= 1.25) {
        auto const limit = cairn::wide(double(least) * factor);
        auto const limited = looped(p, steps, LoopOptions().memory_limit(limit));
        auto const e = cl::estimate(p.step, p.x0, steps, LoopOptions().memory_limit(limit));
        auto const stats = std::make_shared<cl::StepStats>();
        auto const chosen =
            looped(p, steps, LoopOptions().checkpoints(e.checkpoints).block_size(e.block_size).stats(stats));
        CAPTURE(number, steps, std::int64_t(limit), limited.peak, e.checkpoints, e.block_size, chosen.peak,
                std::int64_t(e.peak_bytes));
        REQUIRE(same_bits(want.grads, limited.grads));
        REQUIRE(limited.peak <= std::int64_t(limit) + scalars);
        REQUIRE(e.fits());
        REQUIRE(chosen.peak <= std::int64_t(e.peak_bytes) + scalars);
        auto const& c = e.costs;
        auto const guess = c.block_bytes + std::max(c.tape_bytes + c.state_bytes,
                                                    c.gradient_bytes);  // where there is no room to run a pair
        bool const guessed = e.block_size > 1 && c.pair_bytes == guess;
        auto slack =
            c.state_bytes + c.generator_bytes;  // where sums of gradients stand, the last slot may be free again
        if (guessed || e.engine_calls == 1) slack += c.gradient_bytes;
        REQUIRE(double(e.peak_bytes) <= 1.05 * double(chosen.peak) + double(slack));
        REQUIRE(stats->forward == e.forward);
        REQUIRE(stats->recompute == e.recompute);
        REQUIRE(stats->vjp == e.vjp);
        REQUIRE(stats->engine_calls == e.engine_calls);
        REQUIRE(stats->slots_peak == e.checkpoints);
      }
    }
    ++number;
  }
}

/// A loop of unknown length, the states that it asked about, and the last step that was run.
struct open_loop {
  problem const& p;
  cairn::step_index steps;
  std::function<void(state const&)> look = [](state const&) {};
  std::vector<cairn::step_index> asked = {};
  cairn::step_index last_step = -1;

  state run(LoopOptions const& options) {
    asked.clear();
    last_step = -1;
    auto const keep_going = [&](state const& x, cairn::step_index i) {
      asked.push_back(i);
      look(x);
      return i < steps;
    };
    auto const step = [this](state const& x, cairn::step_index i) {
      last_step = std::max(last_step, i);
      return p.step(x, i);
    };
    return cl::checkpointed_while(step, made_here(p.x0), keep_going, options);
  }
  [[nodiscard]] bool asked_each_once() const {
    for (std::size_t i = 0; i < asked.size(); ++i) if (asked[i] != cairn::step_index(i)) return false;
    return asked.size() == std::size_t(steps) + 1;
  }
  /// That a refusal speaks of.
  [[nodiscard]] cairn::wide least() {
    try {
      (void)run(LoopOptions().memory_limit(1));
    } catch (cairn::infeasible_budget const& refused) {
      return refused.value(1).magnitude;
    }
    return 0;
  }
};
/// Takes more than the tape of a step and everything else in backward.
void looks_hard(state const& x) { (void)torch::cat(std::vector<Tensor>(200, x[0])); }

TEST_CASE("a memory limit of a loop of unknown length is never exceeded, and no state is asked about twice",
          "[torch]") {
  constexpr int scalars = 64;  // of the loss
  int number = 0;
  for (auto const& p : problems()) {
    for (bool const hard : {false, true})
      for (cairn::step_index const steps : {1, 2, 3, 4, 5, 6, 23}) {
        auto const want = plain(p, steps);
        open_loop loop{p, steps};
        auto const easy = loop.least();
        if (hard) loop.look = looks_hard;
        auto const least = loop.least();
        if (hard) CHECK(least > easy);
        for (double factor = 1; factor < 20; factor *= 1.7) {
          auto const limit = cairn::wide(double(least) * factor);
          auto const stats = std::make_shared<cl::StepStats>();
          auto const limited = measured(p, [&] { return loop.run(LoopOptions().memory_limit(limit).stats(stats)); });
          CAPTURE(number, hard, steps, factor, std::int64_t(limit), limited.peak, stats->slots_peak,
                  stats->engine_calls);
          REQUIRE(same_bits(want.grads, limited.grads));
          REQUIRE(limited.peak <= std::int64_t(limit) + scalars);
          REQUIRE(loop.asked_each_once());
          REQUIRE(loop.last_step == steps - 1);
          REQUIRE(stats->forward == steps);
          REQUIRE(stats->vjp == steps);
        }
      }
    ++number;
  }
}

TEST_CASE("a loop of unknown length asks no more than a long one of known length, and leaves no room for another slot",
          "[torch]") {
  cairn::step_index const steps = 150;
  for (auto const& p : problems()) {
    open_loop loop{p, steps};
    auto const least = loop.least();
    auto const costs = cl::estimate(p.step, p.x0, steps, LoopOptions()).costs;
    CHECK(least == cl::least_bytes(costs));
    for (double const factor : {1.0, 1.7, 3.0}) {
      auto const limit = cairn::wide(double(least) * factor);
      auto const stats = std::make_shared<cl::StepStats>();
      cl::StepCallbacks look;
      cairn::step_index size = 0;
      look.run_backward = [&](std::int64_t begin, std::int64_t end) { size = std::max(size, end - begin); };
      auto const got =
          measured(p, [&] { return loop.run(LoopOptions().memory_limit(limit).stats(stats).callbacks(look)); });
      CHECK(got.peak <= std::int64_t(limit) + 64);
      CHECK(cl::detail::bytes_of_while(costs, {stats->slots_peak, size}) <= limit);
      bool const needs_more =
          stats->slots_peak < stats->engine_calls - 1;  // a state is kept for each block but the last
      if (needs_more) CHECK(cl::detail::bytes_of_while(costs, {stats->slots_peak + 1, size}) > limit);
      else CHECK(factor == 3.0);
    }
  }
}

TEST_CASE("a limit below the least of a loop of unknown length is refused before the loop, and nothing is changed",
          "[torch]") {
  for (auto const& p : problems()) {
    for (cairn::step_index const steps : {1, 2, 3, 30}) {
      open_loop loop{p, steps};
      auto const least = loop.least();
      auto const at = at::detail::getDefaultCPUGenerator().get_state();
      CHECK_THROWS_AS(loop.run(LoopOptions().memory_limit(least - 1)), cairn::infeasible_budget);
      CHECK(loop.asked.size() <= 5);
      CHECK(loop.last_step < std::min<cairn::step_index>(steps, 5));
      CHECK(same_bits(at, at::detail::getDefaultCPUGenerator().get_state()));
      CHECK_NOTHROW(loop.run(LoopOptions().memory_limit(least)));
    }
    open_loop none{p, 0};
    CHECK(same_bits(none.run(LoopOptions().memory_limit(1)), p.x0));
    at::NoGradGuard const no_grad;
    CHECK_NOTHROW(open_loop{p, 9}.run(LoopOptions().memory_limit(1)));
  }
  for (auto const& p : problems()) CHECK(support::take_grads(p.inputs)[0].defined() == false);
}

TEST_CASE("measuring a loop of unknown length leaves generators, buffers and gradients as its plain loop finds them",
          "[torch]") {
  torch::nn::BatchNorm1d norm{5};
  auto const x = torch::randn({6, 5}).requires_grad_(true);
  auto const step = [&](Tensor const& s) {
    return torch::dropout(norm->forward(s) + 0.1 * s, 0.3, true) + norm->running_mean.norm();
  };
  auto const until = [&](Tensor const&, cairn::step_index i) { return i < 9; };
  for (auto const rng : {cl::Rng::Preserve, cl::Rng::Ignore}) {
    norm->running_mean.zero_();
    norm->num_batches_tracked.zero_();
    support::seeded const seed{4};
    cl::StepCallbacks look;
    std::vector<Tensor> seen;
    look.state = [&](std::int64_t i, at::TensorList parts) {
      if (std::size_t(i) == seen.size()) seen.push_back(parts[0].detach().clone());
    };
    auto const y =
        cl::checkpointed_while(step, x, until, LoopOptions().module(norm).rng(rng).callbacks(look).memory_limit("1MB"));
    CHECK(norm->num_batches_tracked.item<std::int64_t>() == 9);
    CHECK_FALSE(x.grad().defined());
    auto const random = torch::rand({3});
    norm->running_mean.zero_();
    torch::manual_seed(4);
    Tensor plain = x.detach();
    for (std::size_t i = 0; i < 9; ++i) {
      CHECK(same_bits(seen.at(i), plain));
      plain = step(plain).detach();
    }
    CHECK(same_bits(y, plain));
    CHECK(same_bits(random, torch::rand({3})));
  }
}

TEST_CASE("a memory limit below the least is refused before the loop, and by the least itself it is not", "[torch]") {
  for (auto const& p : problems()) {
    auto const least = cl::estimate(p.step, p.x0, 30, LoopOptions()).least_bytes;
    int calls = 0;
    auto const counted = [&](state const& s, cairn::step_index i) {
      ++calls;
      return p.step(s, i);
    };
    auto const at = at::detail::getDefaultCPUGenerator().get_state();
    CHECK_THROWS_AS(cl::checkpointed_loop(counted, p.x0, 30, LoopOptions().memory_limit(least - 1)),
                    cairn::infeasible_budget);
    CHECK(calls <= 5 + 8);  // looked at, and measured
    CHECK(same_bits(at, at::detail::getDefaultCPUGenerator().get_state()));
    CHECK_NOTHROW(cl::checkpointed_loop(counted, p.x0, 30, LoopOptions().memory_limit(least)));
    auto const e = cl::estimate(p.step, p.x0, 30, LoopOptions().memory_limit(least - 1));
    CHECK_FALSE(e.fits());
    CHECK(e.least_bytes == least);
  }
  for (auto const& p : problems()) CHECK(support::take_grads(p.inputs)[0].defined() == false);
}

TEST_CASE("a memory limit takes the place of checkpoints, blocks and schedules", "[torch]") {
  auto const p = mixed();
  CHECK_THROWS_AS(cl::checkpointed_loop(p.step, p.x0, 9, LoopOptions().memory_limit("1GB").checkpoints(2)),
                  cairn::invalid_plan);
  CHECK_THROWS_AS(cl::checkpointed_loop(p.step, p.x0, 9, LoopOptions().memory_limit("1GB").block_size(2)),
                  cairn::invalid_plan);
  CHECK_THROWS_AS(
      cl::checkpointed_loop(p.step, p.x0, 9, LoopOptions().memory_limit("1GB").schedule(cairn::revolve{9, 2})),
      cairn::invalid_plan);
  for (double const share : {0.0, -0.5, 1.5, 4e9})
    CHECK_THROWS_AS(LoopOptions().memory_limit(share), cairn::invalid_plan);
  CHECK_THROWS_AS(LoopOptions().memory_limit("4G"), cairn::invalid_size);
  CHECK(LoopOptions().memory_limit(0.5).memory_limit("2kB").memory_share() == 0);
  CHECK_FALSE(LoopOptions().memory_limit("2kB").memory_limit(0.5).memory_limit().has_value());
  CHECK(LoopOptions().memory_limit("2kB").memory_limit()->count() == 2000);
  CHECK_FALSE(LoopOptions().memory_limit(0.5).no_memory_limit().has_memory_limit());
}

TEST_CASE("a share of what is free is a limit, too", "[torch]") {
  auto const p = mixed();
  auto const want = plain(p, 30);
  CHECK(same_bits(want.grads, looped(p, 30, LoopOptions().memory_limit(0.01)).grads));
  CHECK(cl::estimate(p.step, p.x0, 30, LoopOptions().memory_limit(0.5)).limit_bytes > 1'000'000);
  CHECK(cl::free_memory() > 1'000'000);
}

TEST_CASE("a loop without a gradient or without steps runs within any limit, unmeasured", "[torch]") {
  auto const p = mixed();
  int calls = 0;
  auto const counted = [&](state const& s, cairn::step_index i) {
    ++calls;
    return p.step(s, i);
  };
  CHECK(same_bits(cl::checkpointed_loop(counted, p.x0, 0, LoopOptions().memory_limit(1)), p.x0));
  {
    at::NoGradGuard const no_grad;
    auto const limited = cl::checkpointed_loop(counted, p.x0, 9, LoopOptions().memory_limit(1));
    CHECK(same_bits(limited, cl::checkpointed_loop(p.step, p.x0, 9, LoopOptions())));
  }
  CHECK(calls == 9);
  auto const e = cl::estimate(counted, p.x0, 0, LoopOptions().memory_limit(1));
  CHECK(calls == 9);
  CHECK(e.fits());
  CHECK(e.slowdown() == 1);
}

TEST_CASE("measuring leaves generators, buffers, gradients and callbacks alone", "[torch]") {
  torch::nn::BatchNorm1d norm{5};
  auto const x = torch::randn({6, 5}).requires_grad_(true);
  auto const step = [&](Tensor const& s) { return torch::dropout(norm->forward(s) + 0.1 * s, 0.3, true); };
  cl::StepCallbacks look;
  int seen = 0;
  look.state = [&](std::int64_t, at::TensorList) { ++seen; };
  auto const stats = std::make_shared<cl::StepStats>();
  auto const mean = norm->running_mean.clone();
  for (auto const rng : {cl::Rng::Preserve, cl::Rng::Ignore}) {
    auto const at = at::detail::getDefaultCPUGenerator().get_state();
    auto const e = cl::estimate(step, x, 50, LoopOptions().module(norm).rng(rng).callbacks(look).stats(stats));
    CHECK(e.costs.tape_bytes > 0);
    CHECK(same_bits(at, at::detail::getDefaultCPUGenerator().get_state()));
  }
  CHECK(same_bits(mean, norm->running_mean));
  CHECK(norm->num_batches_tracked.item<std::int64_t>() == 0);
  CHECK_FALSE(x.grad().defined());
  CHECK_FALSE(norm->weight.grad().defined());
  CHECK(seen == 0);
  CHECK(stats->forward == 0);
}

TEST_CASE("a step that throws while it is measured leaves everything as it was", "[torch]") {
  auto const x = torch::ones({4}, torch::requires_grad());
  struct stop {};
  for (int const when : {0, 1, 2, 3, 4, 7}) {
    int calls = 0;
    auto const step = [&](Tensor const& s) {
      if (calls++ == when) throw stop{};
      return torch::dropout(s * 0.9, 0.5, true);
    };
    auto const at = at::detail::getDefaultCPUGenerator().get_state();
    CHECK_THROWS_AS(cl::checkpointed_loop(std::ref(step), x, 20, LoopOptions().memory_limit("1MB")), stop);
    calls = 0;
    auto const until = [](Tensor const&, cairn::step_index i) { return i < 20; };
    CHECK_THROWS_AS(cl::checkpointed_while(std::ref(step), x, until, LoopOptions().memory_limit("1MB")), stop);
    CHECK(same_bits(at, at::detail::getDefaultCPUGenerator().get_state()));
    CHECK(at::GradMode::is_enabled());
    CHECK(cl::byte_meter::possible());
  }
}

TEST_CASE("under automatic casts a memory limit holds, and a cast weight counts once a block", "[torch]") {
  std::int64_t const width = GENERATE(64, 256);
  auto const w = torch::randn({width, width}).requires_grad_(true), x = torch::randn({4, width}).requires_grad_(true);
  auto const step = [&](Tensor const& s) { return torch::tanh(s.mm(w)).to(at::kFloat); };
  cl::detail::switch_autocast(at::kCPU, true);
  auto const least = cl::estimate(step, x, 40, LoopOptions()).least_bytes;
  auto const tape = cl::estimate(step, x, 40, LoopOptions()).costs.tape_bytes;
  for (double const factor : {1.0, 1.3, 1.5, 2.0, 4.0}) {
    cl::byte_meter const meter;
    auto const limit = cairn::wide(double(least) * factor);
    cl::checkpointed_loop(step, x, 40, LoopOptions().memory_limit(limit)).pow(2).sum().backward();
    CHECK(meter.peak() <= std::int64_t(limit) + 64);
    (void)support::take_grads({w, x});
    at::autocast::clear_cache();
  }
  cl::detail::switch_autocast(at::kCPU, false);
  at::autocast::clear_cache();
  CHECK(tape < cairn::wide(width * width * 2));
}

}  // namespace limit_tests
