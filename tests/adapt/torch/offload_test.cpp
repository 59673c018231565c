// SPDX-License-Identifier: Apache-2.0
#include "support/torch.hpp"
#include <functional>
#include <memory>
#include <stdexcept>
#include <tuple>
#include <vector>
#include <cairn/adapt/torch/memory/byte_meter.hpp>
#include <cairn/adapt/torch/loop/detail/loop_sweep.hpp>
#include <cairn/adapt/torch/loop/loop.hpp>
#include <cairn/adapt/torch/loop/loop_estimate.hpp>
#include <cairn/adapt/torch/loop/while.hpp>
#include <cairn/cairn.hpp>
#include <cairn/schedule/two_level.hpp>

namespace offload_tests {

using at::Tensor;
using cl::LoopOptions;
using cl::Offload;
using cl::SlotMode;
using support::same_bits;
using state = std::vector<Tensor>;

/// Dropout and tied weights; parts that are transposed, carried along, the same tensor twice, broken by gaps,
/// stretched, and not there.
struct network {
  explicit network(at::Device device)
      : w{torch::randn({5, 5}, device).mul_(0.4).requires_grad_(true)},
        h0{torch::randn({5, 5}, device).requires_grad_(true)},
        speed{torch::rand({5}, device).requires_grad_(true)},
        gaps{torch::rand({5, 3}, device)} {}

  [[nodiscard]] state operator()(state const& s, cairn::step_index) const {
    auto const z = torch::dropout(torch::tanh(s[0].mm(w) + s[2]), 0.3, true);
    auto const mixed = torch::sigmoid(z.mm(s[1]) * s[4].sum()) + s[3];
    auto const sliced = torch::cos(torch::cat({s[4], z}, 1)).slice(1, 1, 3);
    return {mixed.t(), z, s[2], z, sliced, s[5].sin().mean().expand({3}), {}};
  }
  [[nodiscard]] state start() const {
    return {h0, h0 * 0.5, speed, h0, gaps.slice(1, 0, 2), torch::ones({3}, h0.options().requires_grad(false)), {}};
  }
  [[nodiscard]] std::vector<Tensor> inputs() const { return {w, h0, speed}; }

  Tensor w, h0, speed, gaps;
};
struct outcome {
  std::vector<Tensor> grads, last;
};
Tensor loss(state const& x) { return x[0].pow(2).sum() + x[1].sum() + x[3].sum() + x[4].sum() + x[5].sum(); }
template <class Run>
outcome differentiated(network const& net, Run run) {
  support::seeded const seed{7};
  auto const x = run();
  loss(x).backward();
  outcome done{support::take_grads(net.inputs()), {}};
  for (auto const& t : x) done.last.push_back(t.defined() ? t.detach() : t);
  return done;
}
outcome plain(network const& net, cairn::step_index steps) {
  return differentiated(net, [&] {
    auto x = net.start();
    for (cairn::step_index i = 0; i < steps; ++i) x = net(x, i);
    return x;
  });
}
outcome looped(network const& net, cairn::step_index steps, LoopOptions const& options) {
  return differentiated(net, [&] { return cl::checkpointed_loop(net, net.start(), steps, options); });
}
bool same(outcome const& x, outcome const& y) { return same_bits(x.grads, y.grads) && same_bits(x.last, y.last); }

/// All (slots, block) pairs and some schedules have the bits of the plain loop, and the counts of slots that refer.
void check_everywhere(network const& net, std::function<LoopOptions(LoopOptions)> const& kept) {
  for (cairn::step_index const steps : {1, 2, 3, 24}) {
    auto const want = plain(net, steps);
    std::vector<LoopOptions> all{LoopOptions()};
    for (auto const slots : {1, 2, 3, 24})
      for (auto const size : {1, 2, 5, 24}) all.push_back(LoopOptions().checkpoints(slots).block_size(size));
    for (cairn::any_schedule const& plan :
         std::vector<cairn::any_schedule>{cairn::revolve{steps, 2, {.free_initial = true}}, cairn::uniform{steps},
                                          cairn::store_all(steps), cairn::two_level{steps, 1, 2}})
      all.push_back(LoopOptions().schedule(plan));
    for (auto const& options : all) {
      auto const stats = std::make_shared<cl::StepStats>(), as_before = std::make_shared<cl::StepStats>();
      REQUIRE(same(want, looped(net, steps, LoopOptions(options).stats(as_before))));
      REQUIRE(same(want, looped(net, steps, kept(LoopOptions(options).stats(stats).determinism(cl::Check::Bits)))));
      REQUIRE(stats->forward == as_before->forward);
      REQUIRE(stats->recompute == as_before->recompute);
      REQUIRE(stats->vjp == as_before->vjp);
      REQUIRE(stats->slots_peak == as_before->slots_peak);
      REQUIRE(stats->bytes_peak == as_before->bytes_peak);
    }
  }
}
/// A graph that is retained has the gradients of the plain loop each time.
void check_retained(network const& net, LoopOptions const& options) {
  support::seeded const seed{7};
  auto const start = net.start();
  auto x = start;
  for (cairn::step_index i = 0; i < 30; ++i) x = net(x, i);
  auto const want = torch::autograd::grad({loss(x)}, net.inputs(), {}, true);
  torch::manual_seed(7);
  auto const y = cl::checkpointed_loop(net, start, 30, options);
  for (int times = 0; times < 3; ++times)
    CHECK(same_bits(want, torch::autograd::grad({loss(y)}, net.inputs(), {}, true)));
  CHECK(same_bits(want, torch::autograd::grad({loss(y)}, net.inputs())));
}

using cl::detail::loop_slot;
struct slots_in {
  SlotMode slots;
  Offload offload;
};
state put(loop_slot& slot, state live, slots_in place, state const& initial = {}) {
  std::vector<cl::detail::saved_tensor> first;
  for (auto const& t : initial) first.emplace_back(t);
  slot.put(live, first, {}, place.slots, place.offload);
  return live;
}
constexpr slots_in eager{SlotMode::Eager, Offload::Off};

TEST_CASE("eager slots change no bit and no count of a loop", "[torch]") {
  support::seeded const seed{1};
  check_everywhere(network{at::kCPU}, [](LoopOptions options) { return options.slots(SlotMode::Eager); });
}

TEST_CASE("a loop on the processor has nothing to offload", "[torch]") {
  support::seeded const seed{2};
  check_everywhere(network{at::kCPU}, [](LoopOptions options) { return options.offload(Offload::Pinned); });
  loop_slot slot;
  auto const x = torch::rand({3});
  CHECK(put(slot, {x}, {SlotMode::Lazy, Offload::Pinned})[0].is_same(x));
  CHECK(slot.get("test", 0)[0].is_same(x));
}

TEST_CASE("a retained graph with eager slots is differentiated again with the same bits", "[torch]") {
  support::seeded const seed{3};
  network const net{at::kCPU};
  for (auto const slots : {1, 2, 3, 5}) check_retained(net, LoopOptions().checkpoints(slots).slots(SlotMode::Eager));
}

TEST_CASE("an eager slot makes its tensor once, and another one where somebody looks at it", "[torch]") {
  loop_slot slot;
  auto const x = torch::rand({4, 3}), y = torch::rand({4, 3});
  auto live = put(slot, {x}, eager);
  CHECK_FALSE(live[0].is_same(x));
  CHECK(live[0].is_same(slot.get("test", 0)[0]));
  auto const* const at = live[0].data_ptr();
  CHECK(at != x.data_ptr());
  live.clear();
  slot.drop();
  CHECK(slot.bytes() == 0);
  live = put(slot, {y}, eager);
  CHECK(live[0].data_ptr() == at);
  CHECK(same_bits(slot.get("test", 0)[0], y));
  auto const view = live[0].detach();  // as a tape has it
  live.clear();
  live = put(slot, {x}, eager);
  CHECK(same_bits(view, y));
  CHECK(live[0].data_ptr() != at);
  auto copy = slot;  // as a retained graph's backward makes it
  live.clear();
  (void)put(copy, {y}, eager);
  CHECK(same_bits(slot.get("test", 0)[0], x));
  CHECK(same_bits(copy.get("test", 0)[0], y));
}

TEST_CASE("an eager slot keeps layouts, shared parts, and by reference what it cannot copy as it lies", "[torch]") {
  auto const x = torch::rand({4, 3});
  auto const initial = torch::rand({2});
  state const parts{x.t(), x, {}, x, x.slice(1, 0, 2), initial.detach(),
                    initial.expand({3, 2}), torch::rand({0, 2}), torch::rand({2}, at::kComplexFloat).conj()};
  loop_slot slot;
  auto const live = put(slot, parts, eager, {initial});
  auto const kept = slot.get("test", 0);
  REQUIRE(kept.size() == parts.size());
  for (std::size_t k = 0; k + 1 < kept.size(); ++k) {
    CAPTURE(k);
    CHECK(same_bits(kept[k], parts[k]));
    CHECK(kept[k].is_same(live[k]));
    if (kept[k].defined()) CHECK(kept[k].strides() == parts[k].strides());
  }
  CHECK(kept[3].is_same(kept[1]));
  for (std::size_t const k : {4U, 5U, 6U, 8U}) CHECK(kept[k].is_same(parts[k]));
  for (std::size_t const k : {0U, 1U, 7U}) CHECK_FALSE(kept[k].is_same(parts[k]));
  state const other{torch::rand({4, 3}), torch::rand({4, 3}).to(at::kDouble)};  // other sizes, another type
  CHECK(put(slot, other, eager).size() == 2);
  CHECK(same_bits(slot.get("test", 0), other));
}

TEST_CASE("a state in an eager slot that is changed in place is refused with its number and part", "[torch]") {
  loop_slot slot;
  auto const live = put(slot, {torch::rand({2}), torch::rand({2})}, eager);
  live[1].add_(1);
  CHECK_THROWS_WITH(slot.get("test", 7), Catch::Matchers::ContainsSubstring(
                                             "a state was changed in place after it was kept (state = 7, part = 1)"));
  auto const w = torch::full({4}, 0.9, torch::requires_grad());
  std::vector<Tensor> seen;
  cl::StepCallbacks look;
  look.state = [&](std::int64_t, at::TensorList x) { seen.push_back(x[0]); };
  auto const y = cl::checkpointed_loop([&](Tensor const& s) { return torch::sin(s * w); }, torch::ones({4}), 20,
                                          LoopOptions().checkpoints(3).slots(SlotMode::Eager).callbacks(look));
  for (std::size_t i = 1; i < seen.size(); ++i) seen[i].detach().zero_();
  CHECK_THROWS_AS(y.sum().backward(), cairn::invalid_call);
}

TEST_CASE("a step that throws leaves a retained graph with eager slots whole", "[torch]") {
  auto const w = torch::full({4}, 0.9, torch::requires_grad());
  int left = 1000;
  auto const step = [&](Tensor const& s) {
    if (--left < 0) throw std::runtime_error{"enough"};
    return torch::sin(s * w);
  };
  auto const y = cl::checkpointed_loop(step, torch::ones({4}), 20, LoopOptions().checkpoints(3).slots(SlotMode::Eager));
  auto const want = torch::autograd::grad({y.sum()}, {w}, {}, true);
  for (int const calls : {0, 1, 5, 20, 30}) {
    left = calls;
    CHECK_THROWS_WITH(torch::autograd::grad({y.sum()}, {w}, {}, true), Catch::Matchers::ContainsSubstring("enough"));
    left = 1000;
    CHECK(same_bits(want, torch::autograd::grad({y.sum()}, {w}, {}, true)));
  }
}

TEST_CASE("a loop of unknown length has eager slots, too", "[torch]") {
  auto const w = torch::full({4}, 0.9, torch::requires_grad());
  auto const step = [&](Tensor const& s) { return torch::sin(s * w); };
  for (auto const steps : {1, 2, 3, 40}) {
    auto const run = [&](SlotMode mode) {
      auto const y = cl::checkpointed_while(step, torch::ones({4}),
                                            [&](Tensor const&, cairn::step_index i) { return i < steps; },
                                            LoopOptions().checkpoints(3).slots(mode));
      return torch::autograd::grad({y.sum()}, {w})[0];
    };
    CHECK(same_bits(run(SlotMode::Lazy), run(SlotMode::Eager)));
  }
}

TEST_CASE("eager slots stay within a memory limit", "[torch]") {
  constexpr int scalars = 64;  // of the loss
  auto const w = torch::rand({1000}).requires_grad_(true), speed = torch::rand({500});
  std::function<state(state const&, cairn::step_index)> const simple = [&](state const& s, cairn::step_index) {
    return state{torch::sin(s[0] * w)};
  };
  auto const lstm = std::make_shared<torch::nn::LSTMCellImpl>(24, 24);
  std::function<state(state const&, cairn::step_index)> const cell = [&](state const& s, cairn::step_index) {
    auto const [h, c] = lstm->forward(torch::dropout(s[0], 0.2, true), std::tuple{s[0], s[1]});
    return state{h, c};
  };
  std::function<state(state const&, cairn::step_index)> const wave = [&](state const& s, cairn::step_index) {
    return state{s[1], 2 * s[1] - s[0] + 0.1 * s[2] * s[1].roll(1, 0) * w.slice(0, 0, 500), s[2]};
  };
  struct problem {
    std::function<state(state const&, cairn::step_index)> step;
    state x0;
  };
  for (auto const& [step, x0] : std::vector<problem>{{simple, {torch::rand({1000})}},
                                                     {cell, {torch::randn({40, 24}), torch::zeros({40, 24})}},
                                                     {wave, {torch::rand({500}), torch::rand({500}), speed}}})
    for (cairn::step_index const steps : {1, 2, 3, 5, 23, 60}) {
      auto const least = cl::estimate(step, x0, steps, LoopOptions().slots(SlotMode::Eager)).least_bytes;
      for (double factor = 1; factor < 20; factor *= 1.5) {
        auto const limit = cairn::wide(double(least) * factor);
        auto const measured = [&](SlotMode mode) {
          cl::byte_meter const meter;
          {
            auto const y = cl::checkpointed_loop(step, x0, steps, LoopOptions().memory_limit(limit).slots(mode));
            y[y.size() > 1 ? 1 : 0].sum().backward();
          }
          w.mutable_grad() = Tensor{};
          lstm->zero_grad();
          return meter.peak();
        };
        CAPTURE(steps, factor, std::int64_t(limit));
        REQUIRE(measured(SlotMode::Lazy) <= std::int64_t(limit) + scalars);
        REQUIRE(measured(SlotMode::Eager) <= std::int64_t(limit) + scalars);
      }
    }
}

TEST_CASE("states of a CUDA device in pinned memory give the bits of the plain loop, retained or not",
          "[torch][cuda]") {
  if (!torch::cuda::is_available()) CAIRN_SKIP("no CUDA device");
  torch::manual_seed(4);
  network const net{at::kCUDA};
  for (auto const mode : {SlotMode::Lazy, SlotMode::Eager}) {
    check_everywhere(net, [&](LoopOptions options) { return options.offload(Offload::Pinned).slots(mode); });
    for (auto const slots : {1, 2, 5})
      check_retained(net, LoopOptions().checkpoints(slots).offload(Offload::Pinned).slots(mode));
  }
}

TEST_CASE("a large state of a CUDA device survives offloading while the device is busy", "[torch][cuda]") {
  if (!torch::cuda::is_available()) CAIRN_SKIP("no CUDA device");
  auto const x = torch::rand({1 << 22}, at::kCUDA),
             w = torch::full({1 << 22}, 0.9, torch::dtype(at::kFloat).device(at::kCUDA)).requires_grad_(true);
  auto const step = [&](Tensor const& s) { return torch::sin(s * w); };
  Tensor y = x;
  for (int i = 0; i < 40; ++i) y = step(y);
  auto const want = torch::autograd::grad({y.sum()}, {w});
  for (auto const slots : {2, 3, 8, 40})
    for (int times = 0; times < 3; ++times) {
      auto const z = cl::checkpointed_loop(step, x, 40, LoopOptions().checkpoints(slots).offload(Offload::Pinned));
      CHECK(same_bits(want, torch::autograd::grad({z.sum()}, {w})));
    }
}

}  // namespace offload_tests
