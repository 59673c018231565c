// SPDX-License-Identifier: Apache-2.0
#include "support/tensor_verbs.hpp"
#include "support/torch.hpp"
#include <cairn/adapt/torch/loop/loop.hpp>
#include <functional>
#include <string>
#include <vector>

namespace loop_versions_tests {

using at::Tensor;
using cl::Capture;
using cl::LoopOptions;
using Catch::Matchers::ContainsSubstring;
using Catch::Matchers::StartsWith;
using support::said;
using support::same_bits;
using step = support::tensor_step;

constexpr auto changed = "a captured tensor was changed in place since the loop used it";

Tensor numbers(double value, bool requires_grad = false) {
  return torch::full({3}, value, torch::dtype(torch::kDouble).requires_grad(requires_grad));
}

auto const verbs = support::tensor_verbs(4);

/// Where the plain loop raises in backward, all three verbs raise, whatever the plan is.
void refused(step const& f, std::function<void()> const& change, std::function<void()> const& undo,
             std::string const& words, LoopOptions const& base = LoopOptions()) {
  {
    auto const x = numbers(1, true);
    Tensor y = x * 1;
    for (cairn::step_index i = 0; i < 4; ++i) y = f(y, i);
    change();
    CHECK_THAT(said<c10::Error>([&] { y.sum().backward(); }), ContainsSubstring("modified by an inplace operation"));
    undo();
  }
  for (auto const& verb : verbs)
    for (auto const& options : {LoopOptions(base), LoopOptions(base).checkpoints(1),
                                LoopOptions(base).checkpoints(2).block_size(2), LoopOptions(base).block_size(4)}) {
      auto const x = numbers(1, true);
      auto const y = verb(f, x, options);
      change();
      CHECK_THAT(said<cairn::invalid_call>([&] { y.sum().backward(); }), ContainsSubstring(words));
      CHECK_FALSE(x.grad().defined());
      undo();
    }
}

TEST_CASE("what a step reads and was changed before backward is refused, as by the plain loop", "[torch][versions]") {
  SECTION("a tensor that needs no gradient") {
    auto s = numbers(2);
    refused([s](Tensor const& x, cairn::step_index) { return x * s; }, [&] { s.fill_(3); }, [&] { s.fill_(2); },
            std::string(changed) + ": Double[3] on cpu (step = 0, captured tensor = 0, of = 1)");
  }
  SECTION("through a view that the step makes, of a tensor that something else made a view of, too") {
    auto table = torch::full({4, 3}, 2, torch::kDouble);
    auto const row = table[1];
    refused([table](Tensor const& x, cairn::step_index i) { return x * table[i] * 1; }, [&] { row.fill_(3); },
            [&] { row.fill_(2); }, "Double[4, 3] on cpu (step = 0");
  }
  SECTION("a detached tensor") {
    auto s = numbers(2, true);
    refused([s](Tensor const& x, cairn::step_index) { return x * s.detach(); }, [&] { s.detach().fill_(3); },
            [&] { s.detach().fill_(2); }, changed);
  }
  SECTION("a tensor with a history") {
    auto w = numbers(2, true), v = w * 1;
    auto fill = [v](double value) mutable {
      at::NoGradGuard const no_grad;  // no node of its own
      v.fill_(value);
    };
    refused([v](Tensor const& x, cairn::step_index) { return x * v; }, [&] { fill(3); }, [&] { fill(2); }, changed);
  }
  SECTION("a buffer of a named module, by the module or by hand, in any mode") {
    torch::nn::BatchNorm1d norm(torch::nn::BatchNorm1dOptions(3).momentum(0));
    norm->to(torch::kDouble);
    bool const trains = GENERATE(true, false), by_hand = GENERATE(true, false);
    norm->train(trains);
    if (trains && !by_hand) return;  // then it does not read the buffer
    refused(
        [=](Tensor const& x, cairn::step_index) mutable {
          if (by_hand) return norm(x.expand({2, 3}).sin()).sum(0) + x * norm->running_var;
          return norm(x.expand({2, 3}).sin()).sum(0);
        },
        [&] { norm->running_var.fill_(3); }, [&] { norm->running_var.fill_(1); }, changed, LoopOptions().module(norm));
  }
  SECTION("an argument that may be left out") {
    auto s = numbers(2);
    refused([s](Tensor const& x,
                cairn::step_index i) { return torch::layer_norm(x * double(i + 2) + x.cumsum(0), {3}, s); },
            [&] { s.fill_(3); }, [&] { s.fill_(2); }, changed);
  }
  SECTION("one of a list of arguments") {
    auto order = torch::tensor({2, 0, 1});
    refused([order](Tensor const& x, cairn::step_index) { return x.sin().index({order}); }, [&] { order.fill_(1); },
            [&] {
              order.copy_(torch::tensor({2, 0, 1}));
            },
            "Long[3] on cpu");
  }
}

TEST_CASE("a tensor with a history is watched, and so is what is read and not saved", "[torch][versions]") {
  for (auto const& verb : verbs) {
    auto const w = numbers(2, true);
    auto v = w * 1, shift = numbers(1);
    auto const x = numbers(1, true);
    auto const y =
        verb([v, shift](Tensor const& s, cairn::step_index) { return s * v + shift; }, x, LoopOptions().checkpoints(1));
    {
      at::NoGradGuard const no_grad;
      v.fill_(3);  // no node of its own
    }
    CHECK_THAT(said<cairn::invalid_call>([&] { y.sum().backward(); }), ContainsSubstring(changed));
    auto const z = verb([v, shift](Tensor const& s, cairn::step_index) { return s.sin() + shift; }, x,
                        LoopOptions().checkpoints(1));
    shift.add_(1);  // the plain loop has not saved it; run again, the steps would give other states
    CHECK_THAT(said<cairn::invalid_call>([&] { z.sum().backward(); }), ContainsSubstring(changed));
  }
}

TEST_CASE("with Capture::EveryStep what a later step reads is watched, too", "[torch][versions]") {
  std::vector<Tensor> scales{numbers(1), numbers(2), numbers(3), numbers(4)};
  auto const x = numbers(1, true);
  auto const y =
      cl::checkpointed_loop([scales](Tensor const& s, cairn::step_index i) { return s * scales[std::size_t(i)]; }, x, 4,
                            LoopOptions().capture(Capture::EveryStep));
  scales[2].fill_(5);
  CHECK_THAT(said<cairn::invalid_call>([&] { y.sum().backward(); }),
             ContainsSubstring("(step = 2, captured tensor = 2, of = 4)"));
}

TEST_CASE("what only later steps read is watched by all verbs", "[torch][versions]") {
  SECTION("a tensor for each step") {
    std::vector<Tensor> scales{numbers(1), numbers(2), numbers(3), numbers(4)};
    for (std::size_t const changes : {1u, 2u, 3u})
      refused([scales](Tensor const& s, cairn::step_index i) { return s * scales[std::size_t(i)]; },
              [&] { scales[changes].fill_(5); }, [&] { scales[changes].fill_(double(changes + 1)); }, changed);
  }
  SECTION("one for the last step") {
    auto s = numbers(2);
    refused([s](Tensor const& x, cairn::step_index i) { return i == 3 ? x * s : x.sin(); }, [&] { s.fill_(3); },
            [&] { s.fill_(2); }, "Double[3] on cpu (step = 3, captured tensor = 0, of = 1)");
  }
  SECTION("in a long loop") {
    auto const first = numbers(0.5), x = numbers(1, true);
    std::vector<Tensor> rows;
    for (int i = 0; i < 60; ++i) rows.push_back(numbers(0.1 * i));
    auto const later = [&](Tensor const& s, cairn::step_index i) {
      return (s * first + (i < 20 ? first : rows[std::size_t(i)])).sin();
    };
    for (std::size_t const row : {20u, 40u, 59u}) {
      auto const y = cl::checkpointed_loop(later, x, 60, LoopOptions().checkpoints(3));
      auto const before = rows[row].clone();
      rows[row].fill_(9);
      // steps 16 and 17 read what they always read, 32 does not; all that follow are watched
      CHECK((said<cairn::invalid_call>([&] { y.sum().backward(); }).find(changed) != std::string::npos) == (row > 20));
      rows[row].detach_().copy_(before);
      (void)support::take_grads({x});
    }
  }
}

/// How many of 60 steps are looked at.
int steps_watched(std::function<Tensor(cairn::step_index)> const& factor) {
  int watched = 0;
  auto const f = [&](Tensor const& s, cairn::step_index i) {
    if (at::hasThreadLocalCallbacks()) ++watched;
    return (s * factor(i)).sin();
  };
  (void)cl::checkpointed_loop(f, numbers(1, true), 60, LoopOptions().checkpoints(3));
  return watched;
}

TEST_CASE("steps that read rows of one tensor are watched as seldom as steps that read the same", "[torch][versions]") {
  auto const one = numbers(0.5);
  int const seldom = steps_watched([&](cairn::step_index) { return one; });
  CHECK(seldom == 13);  // 0, 1, 2, 3, 4, 5, 8, 9, 16, 17, 32, 33 and 59
  auto const table = torch::full({60, 3}, 0.5, torch::kDouble);
  CHECK(steps_watched([&](cairn::step_index i) { return table[i]; }) == seldom);
  auto const rows = table.unbind();
  CHECK(steps_watched([&](cairn::step_index i) { return rows[std::size_t(i)]; }) == seldom);
  std::vector<Tensor> separate;
  for (auto const& row : rows) separate.push_back(row.clone());
  CHECK(steps_watched([&](cairn::step_index i) { return separate[std::size_t(i)]; }) == 60);
}

TEST_CASE("what only one step of large operations reads is watched", "[torch][versions]") {
  auto const large = [](double value) { return torch::full({1 << 17}, value, torch::kDouble); };
  auto const always = large(0.5), once = large(0.25);
  for (bool const is_large : {false, true}) {
    auto const part = [&](Tensor const& t) { return is_large ? t : t.slice(0, 0, 3).clone(); };
    auto const first = part(always), middle = part(once), x = part(once).clone().requires_grad_();
    auto const f = [&](Tensor const& s, cairn::step_index i) { return (s * (i == 21 ? middle : first)).sin(); };
    auto const y = cl::checkpointed_loop(f, x, 30, LoopOptions().checkpoints(3));
    middle.fill_(9);
    auto const message = said<cairn::invalid_call>([&] { y.sum().backward(); }, "");
    if (is_large) {
      CHECK_THAT(message, ContainsSubstring("Double[131072] on cpu (step = 21"));
      continue;
    }
    CHECK(message.empty());  // this is not seen; the two options that look at every step see it
    for (auto const& every : {LoopOptions().capture(Capture::EveryStep),
                              LoopOptions().verify(cairn::replay_check::every_step)}) {
      middle.fill_(0.25);
      auto const z = cl::checkpointed_loop(f, x, 30, LoopOptions(every).checkpoints(3));
      middle.fill_(9);
      CHECK(support::message_of([&] { z.sum().backward(); }) != "");
    }
  }
}

TEST_CASE("a state that forward stopped at is watched", "[torch][versions]") {
  for (int const steps : {1, 4}) {
    auto const x = numbers(2, true);
    auto start = x * 1;
    auto const y =
        cl::checkpointed_loop([](Tensor const& s) { return s * s; }, start, steps, LoopOptions().block_size(4));
    start.detach().fill_(3);
    CHECK_THAT(said<cairn::invalid_call>([&] { y.sum().backward(); }),
               ContainsSubstring("a state was changed in place after it was kept (state = 0, part = 0)"));
  }
  Tensor seen;
  auto const x = numbers(2, true);
  auto const last_seen = [&](Tensor const& s, cairn::step_index i) {
    if (i == 3) seen = s.detach();
    return s.sin();
  };
  auto const y = cl::checkpointed_loop(last_seen, x, 4, LoopOptions().checkpoints(2));
  seen.fill_(1);
  CHECK_THAT(said<cairn::invalid_call>([&] { y.sum().backward(); }),
             ContainsSubstring("a state was changed in place after it was kept (state = 3, part = 0)"));
}

TEST_CASE("a second derivative, and a second backward, look again", "[torch][versions]") {
  auto s = numbers(2);
  auto const x = numbers(1, true);
  auto const y = cl::checkpointed_loop([s](Tensor const& t) { return (t * s).sin(); }, x, 4, LoopOptions());
  auto const g = torch::autograd::grad({y.sum()}, {x}, {}, true, true)[0];
  s.fill_(3);
  CHECK_THAT(said<cairn::invalid_call>([&] { g.sum().backward({}, true); }), ContainsSubstring(changed));
  CHECK_THAT(said<cairn::invalid_call>([&] { y.sum().backward({}, true); }), ContainsSubstring(changed));
}

/// Steps that change captured tensors and still give the same again.
TEST_CASE("what a step itself writes before it reads is no alarm", "[torch][versions]") {
  auto const x = numbers(0.5, true);
  auto const scale = numbers(0.9);
  auto const plain_of = [&](step const& f) {
    Tensor y = x;
    for (cairn::step_index i = 0; i < 4; ++i) y = f(y, i);
    y.sum().backward();
    return support::take_grads({x})[0];
  };
  auto counter = torch::zeros({}, torch::kLong), buffer = numbers(0), history = torch::zeros({4, 3}, torch::kDouble);
  auto mean = torch::zeros({3}, torch::kDouble), variance = torch::ones({3}, torch::kDouble);
  std::vector<Tensor> log;
  Tensor cache;
  std::vector<step> const steps{
      [&](Tensor const& s, cairn::step_index) { counter.add_(1); return s.sin() * scale; },
      [&](Tensor const& s, cairn::step_index) {
        at::mul_out(buffer, s.detach(), scale);
        return s.sin() + buffer;
      },
      [&](Tensor const& s, cairn::step_index i) {
        buffer.fill_(double(i));
        return s.sin() + buffer;
      },
      [&](Tensor const& s, cairn::step_index i) {
        history[i].copy_(s.detach());
        return s.sin() * scale;
      },
      [&](Tensor const& s, cairn::step_index) {  // a composite operation, which writes to what it reads
        auto const rows = s.expand({2, 3}).reshape({1, 3, 2});
        return torch::instance_norm(rows * rows.sum(2, true), {}, {}, mean, variance, true, 0.1, 1e-3, false)
                   .sum(at::IntArrayRef{0, 2}) +
               s.sin();
      },
      [&](Tensor const& s, cairn::step_index) {
        auto const norm = s.detach().norm();
        (void)norm.item<double>();
        log.push_back(norm);
        return s.sin() * scale;
      },
      [&](Tensor const& s, cairn::step_index) {
        if (!cache.defined()) cache = scale * 2;
        return s.sin() * cache;
      },
  };
  for (auto const& f : steps) {
    auto const plain = plain_of(f);
    for (auto const& verb : verbs) {
      log.clear();
      verb(f, x, LoopOptions().checkpoints(2).capture(Capture::EveryStep)).sum().backward();
      CHECK(same_bits(support::take_grads({x})[0], plain));
      auto const y = verb(f, x, LoopOptions().checkpoints(2));
      counter.zero_();
      buffer.zero_();
      history.zero_();
      for (auto& one : log) one.mul_(2);
      y.sum().backward();
      CHECK(same_bits(support::take_grads({x})[0], plain));
    }
  }
}

TEST_CASE("a loop in a loop watches for both", "[torch][versions]") {
  auto s = numbers(0.9), t = numbers(0.8);
  auto const x = numbers(0.5, true);
  auto const inner = [t](Tensor const& y) { return (y * t).sin(); };
  auto const outer = [s, inner](Tensor const& y) { return cl::checkpointed_loop(inner, y * s, 3, LoopOptions()); };
  for (auto* const one : {&s, &t}) {
    auto const y = cl::checkpointed_loop(outer, x, 4, LoopOptions().checkpoints(2));
    one->mul_(2);
    CHECK_THAT(said<cairn::invalid_call>([&] { y.sum().backward(); }), ContainsSubstring(changed));
  }
}

}  // namespace loop_versions_tests
