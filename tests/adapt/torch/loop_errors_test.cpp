// SPDX-License-Identifier: Apache-2.0
#include "support/torch.hpp"
#include <cairn/adapt/torch/loop/loop.hpp>
#include <cairn/adapt/torch/loop/while.hpp>
#include <cairn/schedule/mixed.hpp>
#include <cairn/schedule/uniform.hpp>
#include <bit>
#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <stdexcept>
#include <string>
#include <tuple>
#include <vector>

namespace loop_errors_tests {

using at::Tensor;
using cl::LoopOptions;
using Catch::Matchers::ContainsSubstring;
using support::said;
using support::same_bits;

Tensor leaf(double value = 0.5) { return torch::full({4}, value, torch::requires_grad()); }

struct unlucky : std::runtime_error { using std::runtime_error::runtime_error; };

TEST_CASE("plans that cannot be are refused before a step runs", "[torch]") {
  auto const x = leaf();
  int calls = 0;
  auto const run = [&](cairn::step_index steps, LoopOptions const& options) {
    return said<cairn::invalid_plan>([&] {
      (void)cl::checkpointed_loop([&](Tensor const& s) {
        ++calls;
        return s.sin();
      }, x, steps, options);
    });
  };
  CHECK_THAT(run(-1, LoopOptions()), ContainsSubstring("the number of steps is negative"));
  CHECK_THAT(run(5, LoopOptions().checkpoints(-1)),
             ContainsSubstring("checkpoints and block sizes are 1 or more, or 0 for the default"));
  CHECK_THAT(run(5, LoopOptions().block_size(-2)), ContainsSubstring("block size = -2"));
  CHECK_THAT(run(5, LoopOptions().schedule(cairn::uniform{6})),
             ContainsSubstring("the schedule is for another number of steps (its steps = 6, steps = 5)"));
  CHECK_THAT(run(6, LoopOptions().schedule(cairn::uniform{6}).checkpoints(2)),
             ContainsSubstring("a schedule brings its own checkpoints and blocks"));
  CHECK_THAT(run(6, LoopOptions().schedule(cairn::mixed{6, 4, {.tape_units = 1}})),
             ContainsSubstring("the schedule keeps tapes"));
  {
    at::NoGradGuard const no_grad;
    CHECK_THAT(run(-1, LoopOptions()), ContainsSubstring("the number of steps is negative"));
  }
  CHECK(calls == 0);
}

TEST_CASE("a second backward through a graph that was not retained says what to do", "[torch]") {
  auto const x = leaf();
  auto const y = cl::checkpointed_loop([](Tensor const& s) { return s.sin(); }, x, 5, LoopOptions());
  auto const total = y.sum();
  total.backward();
  CHECK_THAT(
      said<cairn::invalid_call>([&] { y.sum().backward(); }),
      ContainsSubstring("the checkpoints were used up by an earlier backward; give that one retain_graph = true"));
}

TEST_CASE("a tensor that only later steps use is named by the step", "[torch]") {
  auto const x = leaf(), w = leaf(), v = leaf();
  auto const step = [&](Tensor const& s, cairn::step_index i) { return torch::sin(s * (i == 4 ? v : w)); };
  auto const late =
      "the step uses a differentiable tensor that the first steps did not use (step = 4, captured tensors known = 1)";
  for (int const size : {1, 3, 6})
    CHECK_THAT(said<cairn::invalid_call>([&] {
                 cl::checkpointed_loop(step, x, 6, LoopOptions().checkpoints(2).block_size(size)).sum().backward();
               }),
               ContainsSubstring(late));
  CHECK_THAT(said<cairn::invalid_call>([&] {
               (void)cl::checkpointed_loop(step, x, 6, LoopOptions().capture(cl::Capture::Explicit).captures({v}));
             }),
             ContainsSubstring("the step uses a differentiable tensor that captures() does not name (step = 0)"));
  using pair = std::pair<Tensor, Tensor>;
  auto const swaps = [&](pair const& s, cairn::step_index i) {
    return i == 3 ? pair{s.second, s.first * 2} : pair{s.first.sin(), s.second};
  };
  CHECK_THAT(
      said<cairn::invalid_call>([&] {
        cl::checkpointed_loop(swaps, pair{x, torch::ones({4})}, 6, LoopOptions().checkpoints(2)).first.sum().backward();
      }),
      ContainsSubstring(
          "a part of the state becomes differentiable later than in the first steps (step = 3, part = 1)"));
  pair const last = cl::checkpointed_loop(swaps, pair{x, torch::ones({4})}, 6,
                                          LoopOptions().checkpoints(2).capture(cl::Capture::EveryStep));
  last.second.sum().backward();
  CHECK(x.grad().defined());
}

TEST_CASE("changes in place are found and named", "[torch]") {
  auto const x = leaf(), w = leaf();
  auto const options = LoopOptions().checkpoints(2);
  auto const eats = [&](Tensor const& s, cairn::step_index i) { return i == 3 ? Tensor(s).mul_(2) : s * w; };
  CHECK_THAT(said<cairn::invalid_call>([&] { (void)cl::checkpointed_loop(eats, x * 1, 6, options); }),
             ContainsSubstring("the step changed its state in place (step = 3, part = 0)"));
  auto const step = [&](Tensor const& s) { return torch::sin(s * w); };
  SECTION("a captured leaf before backward") {
    auto const y = cl::checkpointed_loop(step, x, 6, options);
    {
      at::NoGradGuard const no_grad;
      Tensor(w).add_(1);
    }
    CHECK_THAT(said<cairn::invalid_call>([&] { y.sum().backward(); }),
               ContainsSubstring("a captured tensor was changed in place since the loop used it: Float[4] on cpu (step "
                                 "= 0, captured tensor = 0, of = 1)"));
  }
  SECTION("a captured leaf by a step") {
    auto const spoils = [&](Tensor const& s) {
      at::NoGradGuard const no_grad;
      Tensor(w).add_(1);
      at::AutoGradMode const with_grad{true};
      return s * w;
    };
    CHECK_THAT(said<cairn::invalid_call>([&] { (void)cl::checkpointed_loop(spoils, x, 6, options); }),
               ContainsSubstring("a captured tensor was changed in place"));
  }
  SECTION("a captured tensor that is no leaf") {
    auto v = w * 2;
    auto const y = cl::checkpointed_loop([&](Tensor const& s) { return torch::sin(s * v); }, x, 6, options);
    v.add_(1);
    CHECK_THAT(
        said<cairn::invalid_call>([&] { y.sum().backward(); }),
        ContainsSubstring("a captured tensor was changed in place since the loop used it: Float[4] on cpu (step = 0"));
  }
  SECTION("the initial state") {
    auto const start = x * 1;
    auto const y = cl::checkpointed_loop(step, start, 6, options);
    start.detach().add_(1);
    CHECK_THAT(said<cairn::invalid_call>([&] { y.sum().backward(); }),
               ContainsSubstring("a state was changed in place after it was kept (state = 0, part = 0)"));
  }
}

TEST_CASE("a step that is no function of its state is found, by its number, its part and what differs", "[torch]") {
  auto const x = leaf();
  int calls = 0;
  auto const run = [&](std::function<Tensor(Tensor const&, cairn::step_index)> const& step, cl::Check check) {
    calls = 0;
    return said<cl::recompute_mismatch>(
        [&] { cl::checkpointed_loop(step, x, 6, LoopOptions().checkpoints(2).determinism(check)).sum().backward(); });
  };
  auto const drifts = [&](Tensor const& s, cairn::step_index i) { return i == 2 && ++calls > 1 ? s + 1e-3 : s.sin(); };
  CHECK_THAT(run(drifts, cl::Check::Bits),
             ContainsSubstring("a step gives different bits when it is run again (step = 2, part = 0)"));
  CHECK(run(drifts, cl::Check::Metadata) == "nothing was thrown");
  auto const changes_type = [&](Tensor const& s, cairn::step_index i) {
    return i == 2 && ++calls > 1 ? s.to(at::kDouble) : s.sin();
  };
  CHECK_THAT(run(changes_type, cl::Check::Metadata),
             ContainsSubstring(
                 "a step gives Double[4] on cpu when it is run again, and gave Float[4] on cpu (step = 2, part = 0)"));
  auto const changes_size = [&](Tensor const& s, cairn::step_index i) {
    return i == 2 && ++calls > 1 ? s.slice(0, 0, 2) : s.sin();
  };
  CHECK_THAT(run(changes_size, cl::Check::Metadata),
             ContainsSubstring("a step gives Float[2] on cpu when it is run again, and gave Float[4] on cpu"));
}

TEST_CASE("the replay check of a loop over tensors finds a step that is no function of its state, wherever it is",
          "[torch][replay]") {
  auto const x = leaf();
  constexpr cairn::step_index steps = 17;
  int found = 0;
  for (auto const block : {1, 3, 5, 17})
    for (auto const slots : {1, 2, 4})
      for (cairn::step_index bad = -1; bad < steps; ++bad)
        for (bool const is_open : {false, true})
          for (auto const verify : {cairn::replay_check::checkpoints, cairn::replay_check::every_step}) {
            CAPTURE(block, slots, bad, is_open, verify == cairn::replay_check::every_step);
            int calls = 0;
            auto const drifts = [&](Tensor const& s, cairn::step_index i) {
              return i == bad && ++calls > 1 ? s.sin() + 1e-3 : s.sin();
            };
            auto const options =
                LoopOptions().checkpoints(slots).block_size(block).determinism(cl::Check::Off).verify(verify);
            auto const text = said<cl::recompute_mismatch>([&] {
              if (is_open)
                cl::checkpointed_while(drifts, x, [&](Tensor const&, cairn::step_index i) { return i < steps; },
                                       options)
                    .sum()
                    .backward();
              else cl::checkpointed_loop(drifts, x, steps, options).sum().backward();
            });
            auto const number = std::to_string(bad);
            if (bad < 0) REQUIRE(text == "nothing was thrown");
            else if (verify == cairn::replay_check::every_step)
              REQUIRE_THAT(text, ContainsSubstring("a step gives different bits when it is run again (step = " +
                                                   number + ", part = 0)"));
            else
              REQUIRE_THAT(
                  text, ContainsSubstring("(first step = " + std::to_string(bad / block * block) + ", last step = "));
            if (bad >= 0) ++found;
          }
  CHECK(found == 4 * 3 * 17 * 2 * 2);
}

TEST_CASE("the replay check of a loop over tensors compares bits: the sign of a zero and what a NaN carries count",
          "[torch][replay]") {
  double const quiet = std::numeric_limits<double>::quiet_NaN(),
               carries = std::bit_cast<double>(std::bit_cast<std::uint64_t>(quiet) + 1);
  auto const run = [](double first, double again, cairn::replay_check verify) {
    std::map<cairn::step_index, int> runs;
    auto const step = [&](Tensor const& s, cairn::step_index i) {
      auto y = s * 1;
      torch::NoGradGuard const untold;
      *static_cast<double*>(y.data_ptr()) = runs[i]++ == 0 ? first : again;
      return y;
    };
    auto const x = torch::ones({2}, torch::dtype(torch::kDouble).requires_grad(true));
    return said<cl::recompute_mismatch>(
        [&] { cl::checkpointed_loop(step, x, 7, LoopOptions().checkpoints(2).verify(verify)).sum().backward(); });
  };
  for (auto const verify : {cairn::replay_check::checkpoints, cairn::replay_check::every_step}) {
    CHECK_THAT(run(0.0, -0.0, verify), ContainsSubstring("different bits when"));
    CHECK_THAT(run(quiet, carries, verify), ContainsSubstring("different bits when"));
    CHECK(run(quiet, quiet, verify) == "nothing was thrown");
    CHECK(run(-0.0, -0.0, verify) == "nothing was thrown");
  }
}

TEST_CASE("a step must return the parts that it was given", "[torch]") {
  using list = std::vector<Tensor>;
  CHECK_THAT(
      said<cairn::invalid_call>([&] {
        (void)cl::checkpointed_loop([](list const& s, cairn::step_index i) { return i == 2 ? list{s[0]} : s; },
                                    list{leaf(), leaf()}, 5, LoopOptions());
      }),
      ContainsSubstring(
          "the step returned a state with different parts from the one it was given (step = 2, parts returned = 1, "
          "parts = 2)"));
  using dictionary = torch::OrderedDict<std::string, Tensor>;
  dictionary x;
  x.insert("h", leaf());
  x.insert("c", leaf());
  CHECK_THAT(said<cairn::invalid_call>([&] {
    (void)cl::checkpointed_loop([](dictionary const& s) {
      dictionary y;
      y.insert("c", s["c"]);
      y.insert("h", s["h"]);
      return y;
    }, x, 5, LoopOptions());
  }), ContainsSubstring("the step returned a state with different parts from the one it was given"));
}

TEST_CASE("what a step throws passes through, and generators, casts and grad mode are as before", "[torch]") {
  auto const x = leaf();
  bool armed = true;
  auto const step = [&](Tensor const& s, cairn::step_index i) {
    if (armed && i == 3) throw unlucky{"three"};
    return torch::dropout(s.sin(), 0.5, true);
  };
  auto const options = LoopOptions().checkpoints(2);
  CHECK_THROWS_AS(cl::checkpointed_loop(step, x, 6, options), unlucky);
  CHECK(at::GradMode::is_enabled());
  armed = false;
  auto const y = cl::checkpointed_loop(step, x, 6, options);
  auto const want = torch::autograd::grad({y.sum()}, {x}, {}, true)[0];
  armed = true;
  auto const before = at::detail::getDefaultCPUGenerator().get_state();
  CHECK_THROWS_AS(torch::autograd::grad({y.sum()}, {x}, {}, true), unlucky);
  CHECK(same_bits(before, at::detail::getDefaultCPUGenerator().get_state()));
  CHECK_FALSE(cl::detail::autocast_is_on(at::kCPU));
  CHECK(at::GradMode::is_enabled());
  armed = false;
  CHECK(same_bits(want, torch::autograd::grad({y.sum()}, {x}, {}, true)[0]));
  armed = true;
  auto const last = y.sum();
  CHECK_THROWS_AS(last.backward(), unlucky);
  CHECK_THAT(said<cairn::invalid_call>([&] { y.sum().backward(); }), ContainsSubstring("the checkpoints were used up"));
}

}  // namespace loop_errors_tests
