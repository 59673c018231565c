// SPDX-License-Identifier: Apache-2.0
#include "support/torch.hpp"
#include "support/two_threads.hpp"
#include <cairn/adapt/torch/loop/loop.hpp>
#include <cairn/adapt/torch/state/rng_states.hpp>
#include <cairn/adapt/torch/loop/scan.hpp>
#include <cairn/adapt/torch/loop/while.hpp>
#include <torch/csrc/autograd/forward_grad.h>
#include <atomic>
#include <barrier>
#include <exception>
#include <functional>
#include <stdexcept>
#include <utility>
#include <vector>

namespace loop_rng_tests {

using at::Tensor;
using cl::LoopOptions;
using Catch::Matchers::ContainsSubstring;
using support::said;
using support::same_bits;

/// A level of forward mode, as `torch::autograd::forward_ad` has it in Python.
struct forward_level {
  std::uint64_t const index = torch::autograd::ForwardADLevel::get_next_idx();
  forward_level() = default;
  forward_level(forward_level const&) = delete;
  forward_level& operator=(forward_level const&) = delete;
  ~forward_level() { torch::autograd::ForwardADLevel::release_idx(index); }
};

TEST_CASE("a tangent of forward mode is refused before a step runs, and kept without grad mode",
          "[torch][forward_mode]") {
  constexpr auto lost = "a tensor has a tangent of forward mode, which would be lost (tensor = ";
  forward_level const level;
  auto const value = torch::full({3}, 0.5, torch::kDouble), tangent = torch::full({3}, 2.0, torch::kDouble);
  auto const dual = at::_make_dual(value, tangent, 0);
  int calls = 0;
  auto const step = [&](Tensor const& s) {
    ++calls;
    return s.sin();
  };
  auto const scan_step = [&](Tensor const& s, Tensor const& x) { return std::pair{step(s + x), s}; };
  auto const going = [](Tensor const&, cairn::step_index i) { return i < 3; };
  auto const xs = torch::zeros({3, 3}, torch::kDouble);
  CHECK_THAT(said<cairn::invalid_call>([&] { (void)cl::checkpointed_loop(step, dual, 3, LoopOptions()); }),
             ContainsSubstring(lost));
  CHECK_THAT(
      said<cairn::invalid_call>([&] { (void)cl::checkpointed_loop(step, dual, 3, LoopOptions().memory_limit("1GB")); }),
      ContainsSubstring(lost));
  CHECK_THAT(said<cairn::invalid_call>([&] { (void)cl::checkpointed_while(step, dual, going, LoopOptions()); }),
             ContainsSubstring(lost));
  CHECK_THAT(said<cairn::invalid_call>([&] { (void)cl::checkpointed_scan(scan_step, dual, xs, LoopOptions()); }),
             ContainsSubstring(lost));
  auto const dual_xs = at::_make_dual(xs, torch::ones_like(xs), 0);
  CHECK_THAT(said<cairn::invalid_call>([&] { (void)cl::checkpointed_scan(scan_step, value, dual_xs, LoopOptions()); }),
             ContainsSubstring(lost));
  CHECK(calls == 0);
  auto const captures = [&](Tensor const& s) { return step(s * dual); };
  CHECK_THAT(said<cairn::invalid_call>([&] { (void)cl::checkpointed_loop(captures, value, 3, LoopOptions()); }),
             ContainsSubstring(lost));
  CHECK(calls == 1);
  for (cairn::step_index const late : {5, 6, 7}) {  // by a step that is run without a tape
    auto const later = [&](Tensor const& s, cairn::step_index i) { return i == late ? s * dual : s.sin(); };
    CHECK_THAT(said<cairn::invalid_call>([&] { (void)cl::checkpointed_loop(later, value, 9, LoopOptions()); }),
               ContainsSubstring(lost));
  }

  Tensor plain = dual;
  for (int i = 0; i < 3; ++i) plain = step(plain);
  at::NoGradGuard const no_grad;
  CHECK(same_bits(cl::checkpointed_loop(step, dual, 3, LoopOptions())._fw_grad(0), plain._fw_grad(0)));
  CHECK(same_bits(cl::checkpointed_while(step, dual, going, LoopOptions())._fw_grad(0), plain._fw_grad(0)));
  CHECK(same_bits(cl::checkpointed_scan(scan_step, dual, xs, LoopOptions()).first._fw_grad(0), plain._fw_grad(0)));
}

TEST_CASE("the states of generators are read and put back", "[torch][rng]") {
  support::seeded const seeds{3};
  auto const x = torch::zeros({2});
  auto const states = cl::get_device_states({x, Tensor{}});
  REQUIRE(states.size() == 1);
  CHECK(states[0].first == at::Device(at::kCPU));
  auto const first = torch::rand({5}), second = torch::rand({5});
  cl::set_device_states(states);
  CHECK(same_bits(torch::rand({5}), first));
  CHECK(same_bits(torch::rand({5}), second));
  CHECK(said<c10::Error>([] { cl::set_device_states({{at::kCPU, torch::zeros({7}, torch::kByte)}}); }, "") != "");
}

/// Whether backward draws the masks of forward: y is x times the masks.
bool has_its_masks(std::function<void(cairn::step_index)> const& on_step, LoopOptions const& options) {
  auto const x = torch::ones({64}, torch::requires_grad());
  auto const step = [&](Tensor const& s, cairn::step_index i) {
    on_step(i);
    return torch::dropout(s, 0.2, true);
  };
  auto const y = cl::checkpointed_loop(step, x, 6, options);
  y.sum().backward();
  return same_bits(x.grad(), y);
}

TEST_CASE("loops of two threads that draw random numbers at once are refused", "[torch][rng][threads]") {
  auto const options = LoopOptions().checkpoints(2);
  SECTION("where both draw") {
    std::barrier<> meet{2};
    auto const words = support::said_in_two_threads<cairn::invalid_call>(
        [&](int) {
          (void)has_its_masks(
              [&](auto i) {
                if (i == 3) meet.arrive_and_wait();
              },
              options);
        });
    for (auto const& one : words) CHECK_THAT(one, ContainsSubstring(support::drawn_at_once));
  }
  SECTION("not where they draw none, nor where one that draws none says so") {
    for (bool const one_draws : {false, true}) {
      std::barrier<> meet{2};
      auto const words = support::said_in_two_threads<std::exception>([&](int k) {
        bool const draws = k == 0 && one_draws;
        auto const x = torch::ones({64}, torch::requires_grad());
        bool waited = false;
        auto const step = [&](Tensor const& s, cairn::step_index i) {
          if (i == 3 && !std::exchange(waited, true)) meet.arrive_and_wait();
          return draws ? torch::dropout(s, 0.2, true) : s * 0.5;
        };
        auto mine = options;
        if (one_draws && !draws) mine.rng(cl::Rng::Ignore);
        auto const y = cl::checkpointed_loop(step, x, 6, mine);
        y.sum().backward();
        if (!same_bits(x.grad(), y)) throw std::runtime_error("other masks");
      });
      CHECK(words[0] == "");
      CHECK(words[1] == "");
    }
  }
  SECTION("whenever they meet") {
    support::meetings const met{100, [&](int) { return has_its_masks([](auto) {}, options); }};
    CHECK(met.wrong == 0);
    CHECK(met.right + met.refused == 200);
  }
  CHECK(has_its_masks([](auto) {}, options));
}

TEST_CASE("steps draw the same numbers again from generators of the program's own", "[torch][rng]") {
  support::seeded const seed{4};
  auto const x = torch::rand({16}).requires_grad_();
  auto const start = at::detail::createCPUGenerator(7).get_state();
  auto const late = GENERATE(0, 1, 2);  // the first step that draws
  auto own = at::detail::createCPUGenerator(7);
  auto const step = [&own, late](Tensor const& s, cairn::step_index i) {
    if (i < late) return s.sin();
    auto const mask = torch::empty_like(s).bernoulli_(0.5, own);
    return (s * mask + torch::empty_like(s).uniform_(0, 1, own)).tanh();
  };
  for (cairn::step_index const n : {1, 2, 3, 12, 25}) {
    own.set_state(start);
    auto plain = x * 1;
    for (cairn::step_index i = 0; i < n; ++i) plain = step(plain, i);
    auto const after = own.get_state();
    auto const wanted = torch::autograd::grad({plain.sum()}, {x})[0];
    for (auto const& options : {LoopOptions().checkpoints(1), LoopOptions().checkpoints(3).block_size(2), LoopOptions(),
                                LoopOptions().capture(cl::Capture::EveryStep), LoopOptions().memory_limit("60kB")}) {
      own.set_state(start);
      auto const y = cl::checkpointed_loop(step, x * 1, n, options);
      CHECK(same_bits(own.get_state(), after));
      CHECK(same_bits(y, plain));
      CHECK(same_bits(torch::autograd::grad({y.sum()}, {x})[0], wanted));
      CHECK(same_bits(own.get_state(), after));
    }
  }
}

TEST_CASE("a generator of the program's own that steps may have used unseen is refused", "[torch][rng]") {
  auto own = at::detail::createCPUGenerator(7);
  auto const start = own.get_state();
  auto const x = torch::ones({16}).requires_grad_();
  auto const step = [&own](Tensor const& s, cairn::step_index i) {
    return i < 6 ? s.sin() : s * torch::empty_like(s).uniform_(0, 1, own);
  };
  CHECK_THAT(support::message_of([&] { (void)cl::checkpointed_loop(step, x, 12, LoopOptions().checkpoints(2)); }),
             ContainsSubstring("a generator of its own, and it is not known whether earlier steps did"));
  own.set_state(start);
  auto const y = cl::checkpointed_loop(step, x, 12, LoopOptions().checkpoints(2).capture(cl::Capture::EveryStep));
  own.set_state(start);
  auto plain = x * 1;
  for (int i = 0; i < 12; ++i) plain = step(plain, i);
  CHECK(same_bits(torch::autograd::grad({y.sum()}, {x})[0], torch::autograd::grad({plain.sum()}, {x})[0]));
}

}  // namespace loop_rng_tests
