// SPDX-License-Identifier: Apache-2.0
#include "support/torch.hpp"
#include <cairn/adapt/torch/loop/loop.hpp>
#include <cairn/cairn.hpp>
#include <cairn/schedule/two_level.hpp>
#include <functional>
#include <memory>
#include <thread>
#include <tuple>
#include <utility>
#include <vector>

namespace loop_tests {

using at::Tensor;
using cl::LoopOptions;
using state = std::tuple<Tensor, Tensor>;
using support::same_bits;

/// Tied weights, dropout and a part that goes on with the last: what breaks a careless order of sums or of random
/// numbers.
struct cell {
  Tensor w = (torch::randn({6, 6}) * 0.4).requires_grad_(true);
  Tensor p = torch::randn({6}).requires_grad_(true);
  Tensor b = p * 0.1;  // captured, and no leaf
  Tensor xs = torch::randn({40, 3, 6});
  Tensor h0 = torch::randn({3, 6}).requires_grad_(true), c0 = torch::zeros({3, 6}).requires_grad_(true);

  [[nodiscard]] state operator()(state const& s, cairn::step_index i) const {
    auto const& [h, c] = s;
    auto const z = torch::dropout(torch::tanh(h.mm(w) + xs[i] + b), 0.3, true);
    auto const gate = torch::sigmoid(z.mm(w));
    return {torch::tanh(gate * z + c), gate * c + h};
  }
  [[nodiscard]] std::vector<Tensor> inputs() const { return {w, p, h0, c0}; }
};
struct outcome {
  std::vector<Tensor> grads;
  Tensor h, next_random;
};
template <class Run>
outcome differentiated(cell const& x, Run run) {
  support::seeded const seed{7};
  auto const [h, c] = run();
  outcome done{{}, h.detach(), torch::rand({4})};
  auto const at = at::detail::getDefaultCPUGenerator().get_state();
  (h.pow(2).sum() + c.sum()).backward({}, true);
  CHECK(same_bits(at, at::detail::getDefaultCPUGenerator().get_state()));
  done.grads = support::take_grads(x.inputs());
  return done;
}
outcome plain(cell const& x, cairn::step_index steps) {
  return differentiated(x, [&] {
    state s{x.h0, x.c0};
    for (cairn::step_index i = 0; i < steps; ++i) s = x(s, i);
    return s;
  });
}
outcome looped(cell const& x, cairn::step_index steps, LoopOptions const& options) {
  return differentiated(x, [&] { return cl::checkpointed_loop(x, state{x.h0, x.c0}, steps, options); });
}
bool same(outcome const& x, outcome const& y) {
  return same_bits(x.grads, y.grads) && same_bits(x.h, y.h) && same_bits(x.next_random, y.next_random);
}

/// One tensor, a tensor that is captured, and a loop over them.
struct scalar_loop {
  Tensor x = torch::linspace(0.1, 1, 4).requires_grad_(true), w = torch::full({4}, 0.9, torch::requires_grad());
  [[nodiscard]] auto step() const {
    return [w = w](Tensor const& s) { return torch::sin(s * w); };
  }
  [[nodiscard]] Tensor plain(int steps) const {
    Tensor s = x;
    for (int i = 0; i < steps; ++i) s = step()(s);
    return s;
  }
  [[nodiscard]] Tensor looped(int steps, LoopOptions const& options) const {
    return cl::checkpointed_loop(step(), x, steps, options);
  }
};

/// Sets CPU autocast to bf16 for a scope, as a user's region does.
class cast_region {
 public:
  explicit cast_region(bool cache) {
    cl::detail::switch_autocast(at::kCPU, true);
    at::autocast::set_autocast_cache_enabled(cache);
  }
  ~cast_region() {
    cl::detail::switch_autocast(at::kCPU, false);
    at::autocast::set_autocast_cache_enabled(true);
    at::autocast::clear_cache();
  }
};

TEST_CASE("a loop over tensors has the gradients, the random numbers and the result of the plain loop, bit for bit",
          "[torch]") {
  cell const x;
  for (cairn::step_index const steps : {1, 2, 3, 13, 40}) {
    auto const want = plain(x, steps);
    for (auto const slots : {1, 2, 3, 5, 40})
      for (auto const size : {1, 2, 4, 7, 50}) {
        CAPTURE(steps, slots, size);
        auto const stats = std::make_shared<cl::StepStats>();
        REQUIRE(same(want, looped(x, steps, LoopOptions().checkpoints(slots).block_size(size).stats(stats))));
      }
    CHECK(same(want, looped(x, steps, LoopOptions())));
    CHECK(same(want, looped(x, steps, LoopOptions().block_size(5))));
    CHECK(same(want, looped(x, steps, LoopOptions().checkpoints(2).determinism(cl::Check::Bits))));
  }
}

TEST_CASE("a loop over tensors obeys any schedule, and counts what the schedule's estimate says", "[torch]") {
  cell const x;
  cairn::step_index const steps = 24;
  auto const want = plain(x, steps);
  std::vector<cairn::any_schedule> const plans{cairn::revolve{steps, 3},
                                               cairn::revolve{steps, 2, {.free_initial = true}},
                                               cairn::uniform{steps},
                                               cairn::store_all(steps),
                                               cairn::leaves{steps, 5, cairn::revolve{5, 2}},
                                               cairn::two_level{steps, 6, 2},
                                               cairn::leaves{steps, 7, cairn::uniform{4}},
                                               cairn::verified{cairn::revolve{steps, 4}}};
  for (auto const& plan : plans) {
    auto const stats = std::make_shared<cl::StepStats>();
    CHECK(same(want, looped(x, steps, LoopOptions().schedule(plan).stats(stats))));
    auto const cost = cairn::estimate(plan);
    CHECK(stats->forward == steps);
    CHECK(cairn::wide(stats->forward + stats->recompute) == cost.counts.advances + cost.counts.turned);
    CHECK(cairn::wide(stats->vjp) == cost.counts.reversals);
    CHECK(stats->slots_peak == cost.counts.peak_slots);
    CHECK(stats->bytes_peak == stats->slots_peak * 2 * 3 * 6 * 4);
    CHECK(stats->engine_calls * plan.leaf() >= steps);
  }
}

TEST_CASE("a loop over tensors of no steps is its initial state, and without a gradient it keeps no graph", "[torch]") {
  scalar_loop const l;
  CHECK(l.looped(0, LoopOptions()).is_same(l.x));
  {
    at::NoGradGuard const no_grad;
    auto const stats = std::make_shared<cl::StepStats>();
    auto const y = l.looped(9, LoopOptions().stats(stats));
    CHECK(same_bits(y, l.plain(9)));
    CHECK_FALSE(y.requires_grad());
    CHECK(stats->forward == 9);
    CHECK(stats->slots_peak == 0);
  }
  {
    c10::InferenceMode const inference;
    CHECK(same_bits(l.looped(9, LoopOptions()), l.plain(9)));
  }
  CHECK_FALSE(cl::checkpointed_loop([](Tensor const& s) { return s.sin(); }, torch::ones({3}), 5, LoopOptions())
                  .requires_grad());
}

TEST_CASE("a graph that is retained is differentiated again with the same bits", "[torch]") {
  scalar_loop const l;
  auto const want = torch::autograd::grad({l.plain(30).sum()}, {l.x, l.w});
  auto const y = l.looped(30, LoopOptions().checkpoints(3));
  for (int times = 0; times < 3; ++times)
    CHECK(same_bits(want, torch::autograd::grad({y.sum()}, {l.x, l.w}, {}, times < 2)));
}

TEST_CASE("gradients that are not requested are not computed", "[torch]") {
  scalar_loop const l;
  auto const want = torch::autograd::grad({l.plain(30).sum()}, {l.x, l.w});
  for (int const size : {1, 4}) {
    auto const options = LoopOptions().checkpoints(3).block_size(size);
    CHECK(same_bits(want[0], torch::autograd::grad({l.looped(30, options).sum()}, {l.x})[0]));
    CHECK(same_bits(want[1], torch::autograd::grad({l.looped(30, options).sum()}, {l.w})[0]));
  }
  CHECK_FALSE(l.w.grad().defined());
}

TEST_CASE("a part of the last state that is not used leaves its gradient out", "[torch]") {
  auto const a = torch::ones({2}, torch::requires_grad()), b = torch::ones({2}, torch::requires_grad()),
             w = torch::full({2}, 0.5, torch::requires_grad());
  auto const step = [&](state const& s) { return state{std::get<0>(s) * w, std::get<1>(s).sin()}; };
  auto const last = cl::checkpointed_loop(step, state{a, b}, 5, LoopOptions().checkpoints(2));
  std::get<0>(last).sum().backward();
  CHECK(a.grad().defined());
  CHECK_FALSE(b.grad().defined());
}

TEST_CASE("hooks of the initial state and of captured tensors run once, with the gradient of the whole loop",
          "[torch]") {
  scalar_loop const l;
  auto const v = l.w * 2;  // no leaf
  auto const step = [&](Tensor const& s) { return torch::sin(s * l.w + v); };
  Tensor plain = l.x;
  for (int i = 0; i < 12; ++i) plain = step(plain);
  auto const want = torch::autograd::grad({plain.sum()}, {l.x, l.w, v}, {}, true);
  int calls[3] = {};
  Tensor seen[3];
  Tensor const all[3] = {l.x, l.w, v};
  for (int k = 0; k < 3; ++k)
    all[k].register_hook([&calls, &seen, k](Tensor const& grad) {
      ++calls[k];
      seen[k] = grad.clone();
      return 3 * grad;
    });
  cl::checkpointed_loop(step, l.x, 12, LoopOptions().checkpoints(2).block_size(2)).sum().backward();
  for (int const count : calls) CHECK(count == 1);
  CHECK(same_bits(want[0], seen[0]));
  CHECK(same_bits(want[2], seen[2]));
  CHECK(same_bits(3 * want[0], l.x.grad()));
}

TEST_CASE("a captured tensor may be computed from another one that is captured", "[torch]") {
  scalar_loop const l;
  auto const v = l.w * 2;
  auto const step = [&](Tensor const& s) { return torch::sin(s * v) * l.w; };
  Tensor plain = l.x;
  for (int i = 0; i < 11; ++i) plain = step(plain);
  auto const want = torch::autograd::grad({plain.sum()}, {l.x, l.w}, {}, true);
  for (int const size : {1, 3})
    CHECK(
        same_bits(want, torch::autograd::grad(
                            {cl::checkpointed_loop(step, l.x, 11, LoopOptions().checkpoints(2).block_size(size)).sum()},
                            {l.x, l.w}, {}, true)));
}

TEST_CASE("tensors that only later steps use are found by EveryStep", "[torch]") {
  std::vector<Tensor> w;
  for (int i = 0; i < 6; ++i) w.push_back(torch::full({4}, 0.5 + 0.1 * i, torch::requires_grad()));
  auto const x = torch::ones({4});  // itself without a gradient
  auto const step = [&](Tensor const& s, cairn::step_index i) {
    return i < 2 ? s.sin() : torch::sin(s * w[std::size_t(i)]);
  };
  Tensor plain = x;
  for (int i = 0; i < 6; ++i) plain = step(plain, i);
  plain.sum().backward();
  auto const want = support::take_grads(w);
  cl::checkpointed_loop(step, x, 6, LoopOptions().checkpoints(2).capture(cl::Capture::EveryStep)).sum().backward();
  CHECK(same_bits(want, support::take_grads(w)));
  cl::checkpointed_loop(step, x, 6, LoopOptions().checkpoints(2).captures(w)).sum().backward();
  CHECK(same_bits(want, support::take_grads(w)));
}

TEST_CASE("without Rng::Preserve the random numbers differ, and nothing else does", "[torch]") {
  cell const x;
  auto const kept = looped(x, 12, LoopOptions().checkpoints(2));
  auto const run = [&] {
    return cl::checkpointed_loop(x, state{x.h0, x.c0}, 12, LoopOptions().checkpoints(2).rng(cl::Rng::Ignore));
  };
  support::seeded const seed{7};
  auto const [h, c] = run();
  CHECK(same_bits(kept.h, h));
  (h.pow(2).sum() + c.sum()).backward();
  CHECK_FALSE(same_bits(kept.grads, support::take_grads(x.inputs())));
}

TEST_CASE("a loop in a region of automatic casts leaves the region's own casts in order", "[torch]") {
  torch::nn::Linear net{8, 8};
  auto const x = torch::randn({4, 8}).requires_grad_(true);
  auto const step = [&](Tensor const& s) {
    return torch::tanh(net->forward(s) + 0.5 * net->forward(s)).to(at::kFloat);
  };
  for (bool const before : {true, false})
    for (bool const inside : {true, false}) {
      auto const grads_of = [&](std::function<Tensor(Tensor)> const& run) {
        Tensor y = x * 1;
        {
          cast_region const casts{true};
          if (before) y = y + net->forward(y).to(at::kFloat);
          y = run(y);
          y = y + 20 * net->forward(y).to(at::kFloat);  // most of the gradient comes by the cast in the cache
          if (inside) y.sum().backward();
        }
        if (!inside) y.sum().backward();
        return support::take_grads({net->weight, net->bias, x});
      };
      auto const want = grads_of([&](Tensor s) {
        for (int i = 0; i < 20; ++i) s = step(s);
        return s;
      });
      for (int const size : {1, 4, 20}) {
        auto const got = grads_of([&](Tensor const& s) {
          return cl::checkpointed_loop(step, s, 20, LoopOptions().checkpoints(3).block_size(size));
        });
        // 42 gradients are summed in bf16, here by another order: each sum is wrong by 2^-9 at most
        for (std::size_t k = 0; k < want.size(); ++k)
          CHECK((want[k] - got[k]).abs().max().item<float>() <= 42.0F / 512 * want[k].abs().max().item<float>());
      }
      CHECK_FALSE(cl::detail::autocast_is_on(at::kCPU));
    }
}

TEST_CASE("bf16 autocast around a loop gives the bits of the plain loop", "[torch]") {
  torch::nn::Linear net{8, 8};
  auto const x = torch::randn({4, 8}).requires_grad_(true);
  auto const step = [&](Tensor const& s) {
    return torch::tanh(net->forward(s) + 0.5 * net->forward(s)).to(at::kFloat);
  };
  for (bool const cache : {true, false})
    for (int const size : {0, 1, 4, 20}) {
      Tensor y = x * 1;
      {
        cast_region const casts{cache};
        for (int i = 0; i < 20; ++i) y = step(y);
      }
      y.sum().backward();
      auto const want = support::take_grads({net->weight, net->bias, x});
      {
        cast_region const casts{cache};
        y = cl::checkpointed_loop(step, x * 1, 20, LoopOptions().checkpoints(3).block_size(size));
      }
      y.sum().backward();
      CHECK(same_bits(want, support::take_grads({net->weight, net->bias, x})));
    }
}

TEST_CASE("the buffers of a batch norm are as after one forward pass", "[torch]") {
  torch::nn::BatchNorm1d norm{5};
  auto const x = torch::randn({6, 5}).requires_grad_(true);
  auto const step = [&](Tensor const& s) { return norm->forward(s) + 0.1 * s; };
  auto const start = norm->running_mean.clone();
  auto const reset = [&] {
    at::NoGradGuard const no_grad;
    norm->running_mean.copy_(start);
    norm->num_batches_tracked.zero_();
  };
  Tensor plain = x;
  for (int i = 0; i < 8; ++i) plain = step(plain);
  auto const mean = norm->running_mean.clone();
  plain.sum().backward();
  auto const want = support::take_grads({x, norm->weight, norm->bias});
  reset();
  auto const options = LoopOptions().checkpoints(2).module(norm);
  cl::checkpointed_loop(step, x, 8, options).sum().backward();
  CHECK(same_bits(mean, norm->running_mean));
  CHECK(norm->num_batches_tracked.item<std::int64_t>() == 8);
  CHECK(same_bits(want, support::take_grads({x, norm->weight, norm->bias})));
  reset();
  cl::checkpointed_loop(step, x, 8, LoopOptions(options).side_effects(cl::SideEffects::Keep)).sum().backward();
  CHECK(norm->num_batches_tracked.item<std::int64_t>() > 8);
}

TEST_CASE("a step may be a compiled module of TorchScript, or run a loop of its own", "[torch]") {
  scalar_loop const l;
  auto const script = torch::jit::compile("def f(x, w):\n    return torch.sin(x * w)\n");
  auto const compiled = [&](Tensor const& s) { return script->run_method("f", s, l.w).toTensor(); };
  auto const want = torch::autograd::grad({l.plain(12).sum()}, {l.x, l.w});
  for (int times = 0; times < 3; ++times)
    CHECK(same_bits(
        want,
        torch::autograd::grad(
            {cl::checkpointed_loop(compiled, l.x, 12, LoopOptions().checkpoints(3).block_size(2)).sum()}, {l.x, l.w})));
  auto const nested = [&](Tensor const& s) {
    return cl::checkpointed_loop(l.step(), s, 4, LoopOptions().checkpoints(2));
  };
  auto const got =
      torch::autograd::grad({cl::checkpointed_loop(nested, l.x, 3, LoopOptions().checkpoints(2)).sum()}, {l.x, l.w});
  CHECK(same_bits(want[0], got[0]));
  CHECK(torch::allclose(want[1], got[1], 1e-6, 1e-8));
}

TEST_CASE("callbacks see each step, and threads run loops of their own", "[torch]") {
  scalar_loop const l;
  std::vector<std::pair<std::int64_t, std::int64_t>> back;
  std::vector<std::int64_t> states;
  cl::StepCallbacks look;
  look.run_backward = [&](std::int64_t begin, std::int64_t end) { back.emplace_back(begin, end); };
  look.state = [&](std::int64_t step, at::TensorList parts) {
    if (parts.size() == 1) states.push_back(step);
  };
  l.looped(6, LoopOptions().block_size(2).callbacks(look)).sum().backward();
  CHECK(back == std::vector<std::pair<std::int64_t, std::int64_t>>{{4, 6}, {2, 4}, {0, 2}});
  CHECK(std::vector<std::int64_t>(states.begin(), states.begin() + 6) == std::vector<std::int64_t>{0, 1, 2, 3, 4, 5});
  auto const want = torch::autograd::grad({l.plain(20).sum()}, {l.x})[0];
  auto const y = l.looped(20, LoopOptions().checkpoints(3));
  Tensor got[2];
  {
    std::vector<std::thread> threads;
    for (auto& g : got) threads.emplace_back([&] { g = torch::autograd::grad({y.sum()}, {l.x}, {}, true)[0]; });
    for (auto& t : threads) t.join();
  }
  for (auto const& g : got) CHECK(same_bits(want, g));
}

TEST_CASE("the core's loop and LibTorch's stand side by side, also under one name", "[torch][loop]") {
  using cairn::checkpointed_loop;  // the core's
  using cl::checkpointed_loop;
  auto const halves = [](auto const& x) { return x * 0.5; };
  auto const of_numbers = checkpointed_loop(halves, 1.0, cairn::revolve{10, 3});
  auto const x = torch::ones({2}, torch::kDouble).requires_grad_(true);
  auto const of_tensors = checkpointed_loop(halves, x, 10, LoopOptions());
  CHECK(of_tensors[1].item<double>() == of_numbers.final_state());
  CHECK(same_bits(torch::autograd::grad({of_tensors.sum()}, {x})[0], of_tensors.detach()));
}

}  // namespace loop_tests
