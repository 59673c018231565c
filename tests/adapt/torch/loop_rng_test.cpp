// SPDX-License-Identifier: Apache-2.0
#include "support/torch.hpp"
#include <cairn/adapt/torch/loop/loop.hpp>
#include <cairn/adapt/torch/state/rng_states.hpp>
#include <cairn/adapt/torch/loop/scan.hpp>
#include <cairn/adapt/torch/loop/while.hpp>
#include <torch/csrc/autograd/forward_grad.h>
#include <atomic>
#include <barrier>
#include <functional>
#include <stdexcept>
#include <string>
#include <thread>
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
  CHECK_THAT(said<cairn::invalid_call>([&] { (void)cl::checkpointed_while(going, step, dual, LoopOptions()); }),
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

  Tensor plain = dual;
  for (int i = 0; i < 3; ++i) plain = step(plain);
  at::NoGradGuard const no_grad;
  CHECK(same_bits(cl::checkpointed_loop(step, dual, 3, LoopOptions())._fw_grad(0), plain._fw_grad(0)));
  CHECK(same_bits(cl::checkpointed_while(going, step, dual, LoopOptions())._fw_grad(0), plain._fw_grad(0)));
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

constexpr auto at_once = "random numbers were drawn while another thread ran a checkpointed computation, too";

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
  auto const in_two = [&](std::function<void(int)> const& f) {
    std::thread other{[&] { f(1); }};
    f(0);
    other.join();
  };
  SECTION("where both draw") {
    std::barrier<> meet{2};
    std::string words[2];
    in_two([&](int k) {
      words[k] = said<cairn::invalid_call>([&] {
        (void)has_its_masks(
            [&](auto i) {
              if (i == 3) meet.arrive_and_wait();
            },
            options);
      });
    });
    for (auto const& one : words) CHECK_THAT(one, ContainsSubstring(at_once));
  }
  SECTION("not where they draw none, nor where one that draws none says so") {
    for (bool const one_draws : {false, true}) {
      std::barrier<> meet{2};
      std::string words[2];
      in_two([&](int k) {
        words[k] = support::message_of([&] {
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
      });
      CHECK(words[0] == "");
      CHECK(words[1] == "");
    }
  }
  SECTION("whenever they meet") {
    std::atomic<int> wrong = 0, refused = 0, right = 0;
    in_two([&](int) {
      for (int k = 0; k < 100; ++k) {
        try {
          ++(has_its_masks([](auto) {}, options) ? right : wrong);
        } catch (cairn::invalid_call const& e) {
          ++(std::string{e.what()}.find(at_once) != std::string::npos ? refused : wrong);
        }
      }
    });
    CHECK(wrong == 0);
    CHECK(right + refused == 200);
  }
  CHECK(has_its_masks([](auto) {}, options));
}

}  // namespace loop_rng_tests
