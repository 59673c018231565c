// SPDX-License-Identifier: Apache-2.0
#include "support/torch.hpp"
#include <cairn/adapt/torch/loop/while.hpp>
#include <cairn/cairn.hpp>
#include <algorithm>
#include <cstdint>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

namespace while_tests {

using at::Tensor;
using cl::LoopOptions;
using Catch::Matchers::ContainsSubstring;
using support::said;
using support::same_bits;
using state = std::pair<Tensor, Tensor>;

/// A captured weight, dropout and an integer part that counts.
struct iteration {
  Tensor w = (torch::randn({6, 6}) * 0.4).requires_grad_(true), h0 = torch::randn({3, 6}).requires_grad_(true);
  [[nodiscard]] state operator()(state const& s, cairn::step_index i) const {
    return {torch::tanh(torch::dropout(s.first.mm(w) + s.first, 0.3, true).mm(w) + 0.01 * double(i)), s.second + 1};
  }
  [[nodiscard]] state start() const { return {h0, torch::zeros({}, at::kLong)}; }
};
struct outcome {
  std::vector<Tensor> grads;
  Tensor h, next_random;
};
template <class Run>
outcome differentiated(iteration const& x, Run run) {
  support::seeded const seed{7};
  auto const [h, count] = run();
  outcome done{{}, h.detach(), torch::rand({4})};
  h.pow(2).sum().backward({}, true);
  done.grads = support::take_grads({x.w, x.h0});
  return done;
}
bool same(outcome const& x, outcome const& y) {
  return same_bits(x.grads, y.grads) && same_bits(x.h, y.h) && same_bits(x.next_random, y.next_random);
}

struct unlucky : std::runtime_error { using std::runtime_error::runtime_error; };

TEST_CASE("a loop of unknown length has the bits of the plain loop, and takes the steps of its plan", "[torch]") {
  iteration const x;
  for (cairn::step_index const steps : {1, 2, 3, 4, 5, 9, 26, 40}) {
    auto const want = differentiated(x, [&] {
      state s = x.start();
      for (cairn::step_index i = 0; i < steps; ++i) s = x(s, i);
      return s;
    });
    for (auto const slots : {0, 1, 2, 3, 5, 50}) {
      CAPTURE(steps, slots);
      auto const stats = std::make_shared<cl::StepStats>();
      std::vector<std::int64_t> asked;
      auto const keep_going = [&](state const& s, cairn::step_index i) {
        asked.push_back(i);
        CHECK(s.second.item<std::int64_t>() == i);
        CHECK_FALSE(s.first.requires_grad());
        return i < steps;
      };
      auto const got = differentiated(x, [&] {
        return cl::checkpointed_while(x, x.start(), keep_going, LoopOptions().checkpoints(slots).stats(stats));
      });
      REQUIRE(same(want, got));
      CHECK(asked.size() == std::size_t(steps) + 1);
      CHECK(asked.back() == steps);
      auto const counts = cairn::online{slots > 0 ? slots : 32}.stopping_at(steps).counts();
      CHECK(stats->forward == steps);
      CHECK(cairn::wide(stats->forward + stats->recompute) == counts.advances + counts.turned);
      CHECK(stats->vjp == steps);
      CHECK(stats->slots_peak == counts.peak_slots);
    }
    CHECK(same(want, differentiated(x, [&] {
                 return cl::checkpointed_while(
                     x, x.start(), [&](state const&, cairn::step_index i) { return i < steps; },
                     LoopOptions().checkpoints(2).determinism(cl::Check::Bits).capture(cl::Capture::EveryStep));
               })));
  }
}

TEST_CASE("blocks of a loop of unknown length have the bits of the plain loop, and run what online says over blocks",
          "[torch]") {
  iteration const x;
  for (cairn::step_index const steps : {1, 2, 3, 4, 7, 8, 9, 24, 40}) {
    auto const want = differentiated(x, [&] {
      state s = x.start();
      for (cairn::step_index i = 0; i < steps; ++i) s = x(s, i);
      return s;
    });
    for (auto const size : std::vector<cairn::step_index>{1, 2, 3, 8, 64, INT64_MAX})
      for (auto const slots : {1, 2, 3, 5}) {
        CAPTURE(steps, size, slots);
        auto const blocks = steps / size + (steps % size != 0 ? 1 : 0);
        auto const stats = std::make_shared<cl::StepStats>();
        std::vector<std::int64_t> asked, reversed;
        cl::StepCallbacks look;
        look.run_backward = [&](std::int64_t begin, std::int64_t end) {
          CHECK(begin % size == 0);
          CHECK(end == std::min<std::int64_t>(size < steps ? begin + size : steps, steps));
          reversed.push_back(begin);
        };
        auto const keep_going = [&](state const&, cairn::step_index i) {
          asked.push_back(i);
          return i < steps;
        };
        auto const options =
            LoopOptions().checkpoints(slots).block_size(size).stats(stats).callbacks(look).determinism(cl::Check::Bits);
        REQUIRE(
            same(want, differentiated(x, [&] { return cl::checkpointed_while(x, x.start(), keep_going, options); })));
        REQUIRE(asked.size() == std::size_t(steps) + 1);
        for (std::size_t i = 0; i < asked.size(); ++i) CHECK(asked[i] == std::int64_t(i));
        CHECK(std::is_sorted(reversed.rbegin(), reversed.rend()));
        CHECK(std::int64_t(reversed.size()) == blocks);
        CHECK(stats->forward == steps);
        CHECK(stats->vjp == steps);
        CHECK(stats->engine_calls == blocks);
        // after the turn whole blocks are run only: the last, short one is the first to be reversed
        auto const counts = cairn::online{slots}.stopping_at(blocks).counts();
        CHECK(stats->recompute ==
              std::int64_t(counts.advances + counts.turned - cairn::wide(blocks)) * (blocks > 1 ? size : 0));
        CHECK(stats->slots_peak == counts.peak_slots);
        bool const optimal = blocks <= (slots + 2) * (slots + 1) / 2 + 1;
        auto const fewest = cairn::revolve::advances(blocks, slots) + 1 - cairn::wide(blocks);
        if (optimal) CHECK(stats->recompute == std::int64_t(fewest) * (blocks > 1 ? size : 0));
      }
  }
}

TEST_CASE("a block of a loop of unknown length begins where its casts, buffers and numbers of the generators did",
          "[torch]") {
  torch::nn::BatchNorm1d norm{5};
  auto const w = torch::randn({5, 5}).requires_grad_(true), x = torch::randn({6, 5}).requires_grad_(true);
  auto const step = [&](Tensor const& s) {
    return torch::dropout(norm->forward(torch::tanh(s.mm(w)).to(at::kFloat)), 0.3, true);
  };
  auto const keep_going = [&](Tensor const& s, cairn::step_index i) {
    return i < 11 && s.mm(w).abs().max().item<float>() < 1e6F;
  };
  auto const run = [&](auto loop) {
    support::seeded const seed{5};
    norm->running_mean.zero_();
    norm->running_var.fill_(1);
    cl::detail::switch_autocast(at::kCPU, true);
    auto y = loop();
    y.sum().backward();
    cl::detail::switch_autocast(at::kCPU, false);
    at::autocast::clear_cache();
    auto all = support::take_grads({w, x, norm->weight});
    for (auto const& t : {norm->running_mean.clone(), norm->running_var.clone(), torch::rand({3})}) all.push_back(t);
    return all;
  };
  auto const want = run([&] {
    Tensor y = x;
    for (int i = 0; i < 11; ++i) y = step(y);
    return y;
  });
  for (int const size : {1, 2, 4, 16}) {
    CAPTURE(size);
    CHECK(same_bits(want, run([&] {
      return cl::checkpointed_while(step, x, keep_going, LoopOptions().checkpoints(2).block_size(size).module(norm));
    })));
    CHECK(same_bits(want, run([&] {
                      return cl::checkpointed_while(step, x, keep_going,
                                                    LoopOptions().memory_limit("1MB").module(norm));
                    })));
  }
  cl::detail::switch_autocast(at::kCPU, true);
  (void)cl::checkpointed_while([](Tensor const& s) { return s * 0.5; }, x, keep_going, LoopOptions());
  CHECK(x.detach().mm(w).requires_grad());  // no cast without a gradient is left for the caller
  cl::detail::switch_autocast(at::kCPU, false);
  at::autocast::clear_cache();
}

TEST_CASE("a loop that does not begin is its initial state, and one without grad mode keeps nothing", "[torch]") {
  auto const x = torch::ones({3}, torch::requires_grad());
  auto const halves = [](Tensor const& s) { return s * 0.5; };
  auto const is_large = [](Tensor const& s) { return s.max().item<float>() > 0.1F; };
  CHECK(cl::checkpointed_while(halves, x, [](Tensor const&) { return false; }, LoopOptions()).is_same(x));
  auto const y = cl::checkpointed_while(halves, x, is_large, LoopOptions());
  CHECK(y.requires_grad());
  CHECK(y[0].item<float>() == 0.0625F);
  auto const stats = std::make_shared<cl::StepStats>();
  at::NoGradGuard const no_grad;
  auto const plain = cl::checkpointed_while(halves, x, is_large, LoopOptions().stats(stats));
  CHECK_FALSE(plain.requires_grad());
  CHECK(same_bits(y, plain));
  CHECK(stats->forward == 4);
  CHECK(stats->slots_peak == 0);
}

TEST_CASE("a loop of unknown length is differentiated again where its graph is retained, and twice", "[torch]") {
  auto const options = at::TensorOptions(at::kDouble).requires_grad(true);
  auto const x = torch::full({4}, 0.7, options), w = torch::full({4}, 0.9, options);
  auto const step = [w](Tensor const& s) { return torch::sin(s * w); };
  Tensor plain = x;
  for (int i = 0; i < 9; ++i) plain = step(plain);
  auto const y = cl::checkpointed_while(step, x, [](Tensor const&, cairn::step_index i) { return i < 9; },
                                        LoopOptions().checkpoints(2));
  auto const want = torch::autograd::grad({plain.sum()}, {x, w}, {}, true);
  for (int times = 0; times < 2; ++times) CHECK(same_bits(want, torch::autograd::grad({y.sum()}, {x, w}, {}, true)));
  auto const nine = [](Tensor const&, cairn::step_index i) { return i < 9; };
  auto const in_blocks = cl::checkpointed_while(step, x, nine, LoopOptions().checkpoints(2).block_size(2));
  for (int times = 0; times < 2; ++times)
    CHECK(same_bits(want, torch::autograd::grad({in_blocks.sum()}, {x, w}, {}, true)));
  auto const twice = [&](Tensor const& last) {
    auto const first = torch::autograd::grad({last.pow(3).sum()}, {x, w}, {}, true, true);
    return torch::autograd::grad({first[0].pow(2).sum() + first[1].sin().sum()}, {x, w}, {}, true);
  };
  auto const a = twice(plain), b = twice(y);
  for (std::size_t k = 0; k < a.size(); ++k) CHECK(torch::allclose(a[k], b[k], 1e-12, 1e-14));
}

TEST_CASE("what is wrong with a loop of unknown length is said", "[torch]") {
  auto const x = torch::ones({3}, torch::requires_grad()), w = torch::ones({3}, torch::requires_grad());
  auto const halves = [](Tensor const& s) { return s * 0.5; };
  auto const nine = [](Tensor const&, cairn::step_index i) { return i < 9; };
  int calls = 0;
  auto const counted = [&](Tensor const&, cairn::step_index) { return ++calls < 5; };
  auto const refused = [&](LoopOptions const& options) {
    return said<cairn::invalid_plan>([&] { (void)cl::checkpointed_while(halves, x, counted, options); });
  };
  CHECK_THAT(refused(LoopOptions().schedule(cairn::revolve{9, 2})),
             ContainsSubstring(
                 "cairn::libtorch::checkpointed_while: a schedule is for a known number of steps (its steps = 9)"));
  for (auto const& options : {LoopOptions().checkpoints(-1), LoopOptions().block_size(-1)})
    CHECK_THAT(
        refused(options),
        ContainsSubstring(
            "cairn::libtorch::checkpointed_while: checkpoints and block sizes are 1 or more, or 0 for the default"));
  for (auto const& options : {LoopOptions().checkpoints(1), LoopOptions().block_size(1)})
    CHECK_THAT(
        refused(LoopOptions(options).memory_limit("1GB")),
        ContainsSubstring("cairn::libtorch::checkpointed_while: a memory limit chooses checkpoints and blocks itself"));
  CHECK(calls == 0);
  auto const late = [&](Tensor const& s, cairn::step_index i) { return i == 4 ? s * w : s.sin(); };
  CHECK_THAT(said<cairn::invalid_call>(
                 [&] { cl::checkpointed_while(late, x, nine, LoopOptions().checkpoints(2)).sum().backward(); }),
             ContainsSubstring("cairn::libtorch::checkpointed_while: the step uses a differentiable tensor that the "
                               "first steps did not use (step = 4"));
  using list = std::vector<Tensor>;
  CHECK_THAT(
      said<cairn::invalid_call>([&] {
        (void)cl::checkpointed_while([](list const& s, cairn::step_index i) { return i == 2 ? list{s[0]} : s; },
                                     list{x, w}, [](list const&, cairn::step_index i) { return i < 9; },
                                     LoopOptions());
      }),
      ContainsSubstring(
          "cairn::libtorch::checkpointed_while: the step returned a state with different parts from the one it was "
          "given (step = 2"));
  auto const throws_at = [&](cairn::step_index last) {
    return [last](Tensor const&, cairn::step_index i) {
      if (i == last) throw unlucky{"keep_going"};
      return i < 9;
    };
  };
  for (cairn::step_index const last : {0, 1, 6})
    for (auto const& options :
         {LoopOptions().checkpoints(2), LoopOptions().checkpoints(2).block_size(4), LoopOptions().memory_limit("1MB")})
      CHECK_THROWS_AS(cl::checkpointed_while(halves, x, throws_at(last), options), unlucky);
  auto const fails = [&](Tensor const& s, cairn::step_index i) { return i == 5 ? throw unlucky{"step"} : s * 0.5; };
  CHECK_THROWS_AS(cl::checkpointed_while(fails, x, nine, LoopOptions().checkpoints(2)), unlucky);
  CHECK(at::GradMode::is_enabled());
  auto const in_place = [](Tensor const& s) { return s.detach().mul_(2); };
  for (auto const& options : {LoopOptions(), LoopOptions().memory_limit("1MB")})
    CHECK_THAT(said<cairn::invalid_call>([&] { (void)cl::checkpointed_while(in_place, x, nine, options); }),
               ContainsSubstring("cairn::libtorch::checkpointed_while: the step changed its state in place (step = 0"));
  auto const y = cl::checkpointed_while(halves, x, nine, LoopOptions().checkpoints(2));
  y.sum().backward();
  CHECK_THAT(said<cairn::invalid_call>([&] { y.sum().backward(); }),
             ContainsSubstring("cairn::libtorch::checkpointed_while: the checkpoints were used up"));
}

}  // namespace while_tests
