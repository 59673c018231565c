// SPDX-License-Identifier: Apache-2.0
#include "support/torch.hpp"
#include <cstdint>
#include <functional>
#include <memory>
#include <thread>
#include <tuple>
#include <utility>
#include <vector>
#include <cairn/adapt/torch/loop/checkpointed_rnn.hpp>
#include <cairn/adapt/torch/loop/loop.hpp>
#include <cairn/adapt/torch/loop/loop_plan.hpp>
#include <cairn/adapt/torch/loop/scan.hpp>
#include <cairn/adapt/torch/loop/step_stats.hpp>
#include <cairn/adapt/torch/loop/while.hpp>
#include <cairn/adapt/torch/memory/byte_meter.hpp>

namespace loop_plans_tests {

using at::Tensor;
using cl::LoopOptions;
using cl::LoopPlans;
using support::message_of;
using support::same_bits;
using support::seeded;
using support::take_grads;
namespace nn = torch::nn;

constexpr int steps = 24;
auto const limit = cairn::wide(60'000);

/// A dropout and a layer, and how often it was run.
struct counted_step {
  std::shared_ptr<int> runs = std::make_shared<int>(0);
  nn::Linear net{16, 16};

  auto step() const {
    return [count = runs, net = net](Tensor const& x) mutable {
      ++*count;
      return torch::tanh(net->forward(torch::dropout(x, 0.1, true)));
    };
  }
  LoopOptions options(std::shared_ptr<LoopPlans> const& plans) const {
    return LoopOptions().memory_limit(limit).plans(plans).module(net);
  }
  /// How often a loop and its backward run the step.
  int runs_of(Tensor const& x, int count, LoopOptions const& how) {
    *runs = 0;
    cl::checkpointed_loop(step(), x, count, how).sum().backward();
    (void)take_grads(net->parameters());
    return *runs;
  }
};

TEST_CASE("a second loop that is like the first measures nothing, and has the plain loop's bits", "[torch]") {
  counted_step of;
  auto const x = torch::rand({32, 16});
  auto const plans = std::make_shared<LoopPlans>();
  auto const grads = [&](bool loop) {
    seeded const seed{5};
    auto step = of.step();
    if (loop) cl::checkpointed_loop(step, x, steps, of.options(plans)).sum().backward();
    else {
      auto y = x;
      for (int i = 0; i < steps; ++i) y = step(y);
      y.sum().backward();
    }
    return take_grads(of.net->parameters());
  };
  auto const want = grads(false);
  REQUIRE(same_bits(want, grads(true)));
  int const first = std::exchange(*of.runs, 0);
  for (int k = 0; k < 3; ++k) REQUIRE(same_bits(want, grads(true)));
  CHECK(plans->made() == 1);
  CHECK(plans->size() == 1);
  auto const stats = std::make_shared<cl::StepStats>();
  int const second = of.runs_of(x, steps, of.options(plans).stats(stats));
  CHECK(second == stats->forward + stats->recompute + stats->vjp);
  CHECK(first > second + 8);
  CHECK(stats->tensor_bytes <= std::int64_t(limit));
  plans->clear();
  CHECK(of.runs_of(x, steps, of.options(plans)) > second + 8);
  CHECK(plans->made() == 2);
}

TEST_CASE("a loop with another shape, limit, number of steps, mode or option is measured again", "[torch]") {
  counted_step of;
  auto const plans = std::make_shared<LoopPlans>();
  auto const x = torch::rand({32, 16});
  std::int64_t made = 0;
  auto const measures = [&](Tensor const& from, int count, LoopOptions const& how) {
    (void)of.runs_of(from, count, how);
    bool const did = plans->made() > made;
    made = plans->made();
    (void)of.runs_of(from, count, how);
    CHECK(plans->made() == made);
    return did;
  };
  CHECK(measures(x, steps, of.options(plans)));
  CHECK(measures(torch::rand({31, 16}), steps, of.options(plans)));
  CHECK(measures(x, steps + 1, of.options(plans)));
  CHECK(measures(x, steps, of.options(plans).memory_limit(limit + 1)));
  CHECK(measures(x, steps, of.options(plans).memory_limit(0.001)));
  CHECK(measures(x, steps, of.options(plans).slots(cl::SlotMode::Eager)));
  CHECK(measures(x, steps, of.options(plans).rng(cl::Rng::Ignore)));
  CHECK(measures(torch::rand({16, 32}).t(), steps, of.options(plans)));
  CHECK(measures(torch::rand({32, 16}).requires_grad_(true), steps, of.options(plans)));
  of.net->eval();
  CHECK(measures(x, steps, of.options(plans)));
  of.net->bias.requires_grad_(false);
  CHECK(measures(x, steps, of.options(plans)));
  of.net->bias.requires_grad_(true);
  of.net->train();
  CHECK_FALSE(measures(x, steps, of.options(plans)));
  CHECK_FALSE(measures(torch::rand({32, 16}), steps, of.options(plans)));
  auto other = [net = of.net](Tensor const& y) mutable { return torch::sin(net->forward(y)); };
  (void)cl::checkpointed_loop(other, x, steps, of.options(plans));
  CHECK(plans->made() == made + 1);
}

TEST_CASE("the newest plans are kept, and one at least", "[torch]") {
  counted_step of;
  auto const plans = std::make_shared<LoopPlans>(2);
  auto const x = torch::rand({8, 16});
  for (int const count : {7, 8, 7, 9, 7, 8}) (void)of.runs_of(x, count, of.options(plans));
  CHECK(plans->made() == 4);
  CHECK(plans->size() == 2);
  CHECK(message_of([] { LoopPlans const none(0); }).find("it must be able to keep a plan (most = 0)") !=
        std::string::npos);
}

TEST_CASE("without a place for plans, a step that refers to something is measured in each call", "[torch]") {
  counted_step of;
  auto const x = torch::rand({32, 16});
  int const first = of.runs_of(x, steps, of.options(nullptr));
  CHECK(of.runs_of(x, steps, of.options(nullptr)) > 2 * steps + 8);
  CHECK(first > 2 * steps + 8);
}

/// A module that counts its runs.
struct counting_impl : nn::Cloneable<counting_impl> {
  counting_impl() { reset(); }
  void reset() override { net = register_module("net", nn::Linear(16, 16)); }
  Tensor forward(Tensor const& x) {
    ++runs;
    return torch::tanh(net->forward(x));
  }
  int runs = 0;
  nn::Linear net{nullptr};
};
struct counting : nn::ModuleHolder<counting_impl> {
  using nn::ModuleHolder<counting_impl>::ModuleHolder;
};

TEST_CASE("a step that is a module is known by its thread, and no other module has its plan", "[torch]") {
  auto const x = torch::rand({32, 16});
  auto const runs_of = [&](counting const& net) {
    net.ptr()->runs = 0;
    cl::checkpointed_loop(net, x, steps, LoopOptions().memory_limit(limit)).sum().backward();
    return net.ptr()->runs;
  };
  counting const one{std::make_shared<counting_impl>()}, two{std::make_shared<counting_impl>()};
  auto& place = cl::detail::loop_plans_of_this_thread();
  place.clear();
  auto const before = place.made();
  int const first = runs_of(one), second = runs_of(one);
  CHECK(second < first);
  CHECK(place.made() == before + 1);
  (void)runs_of(two);
  CHECK(place.made() == before + 2);
  for (int k = 0; k < 20; ++k) (void)runs_of(counting{std::make_shared<counting_impl>()});  // addresses come again
  CHECK(place.made() == before + 22);
  one.ptr()->eval();
  (void)runs_of(one);
  CHECK(place.made() == before + 23);
  CHECK(place.size() == 3);  // plans of modules that are gone are dropped
}

TEST_CASE("scans and layers keep what they have measured", "[torch]") {
  auto const xs = torch::rand({steps, 4, 16});
  auto const bytes = cairn::wide(400'000);
  cl::CheckpointedLSTM both{nn::LSTMOptions(16, 8).num_layers(2).bidirectional(true).dropout(0.2),
                            LoopOptions().memory_limit(bytes)};
  cl::CheckpointedLSTM lstm{nn::LSTMOptions(16, 8).num_layers(2).dropout(0.2), LoopOptions().memory_limit(bytes)};
  auto const grads = [&](auto& module, Tensor const& along) {
    seeded const seed{7};
    std::get<0>(module->forward(along)).sum().backward();
    return take_grads(module->parameters());
  };
  auto const check = [&](auto& module, std::int64_t scans) {
    auto const want = grads(module, xs);
    CHECK(module->plans_made() == scans);
    CHECK(same_bits(want, grads(module, xs)));
    CHECK(module->plans_made() == scans);
    (void)grads(module, torch::rand({steps + 1, 4, 16}));
    CHECK(module->plans_made() == 2 * scans);
    module->eval();
    (void)grads(module, xs);
    CHECK(module->plans_made() == 3 * scans);
  };
  check(both, 4);
  check(lstm, 1);
  auto const plans = std::make_shared<LoopPlans>();
  int runs = 0;
  nn::GRUCell const cell{16, 16};
  auto const step = [&](Tensor const& x, Tensor const& input) {
    ++runs;
    auto const y = torch::tanh(x + input * cell->weight_hh[0]);
    return std::pair{y, y};
  };
  auto const scan = [&](Tensor const& along) {
    runs = 0;
    cl::checkpointed_scan(step, torch::zeros({4, 16}), along, LoopOptions().memory_limit(bytes).plans(plans))
        .second.sum()
        .backward();
    return runs;
  };
  int const first = scan(xs);
  CHECK(scan(xs) < first);
  CHECK(plans->made() == 1);
  (void)scan(torch::rand({steps, 4, 16}).requires_grad_(true));
  CHECK(plans->made() == 2);
}

TEST_CASE("a loop of unknown length keeps what it measured over five steps, within the limit", "[torch]") {
  counted_step of;
  auto const plans = std::make_shared<LoopPlans>();
  auto const x = torch::rand({32, 16});
  auto const run = [&](cairn::step_index count) {
    *of.runs = 0;
    cl::byte_meter const meter;
    cl::checkpointed_while(of.step(), x, [count](Tensor const&, cairn::step_index i) { return i < count; },
                           of.options(plans))
        .sum()
        .backward();
    CHECK(meter.peak() <= std::int64_t(limit));
    (void)take_grads(of.net->parameters());
    return *of.runs;
  };
  (void)run(3);
  CHECK(plans->made() == 0);  // a longer loop may take more
  int const first = run(40);
  CHECK(plans->made() == 1);
  CHECK(run(40) < first);
  (void)run(3);
  CHECK(plans->made() == 1);
}

TEST_CASE("threads share plans, and a limit that is too small is refused each time", "[torch]") {
  auto const plans = std::make_shared<LoopPlans>();
  auto const x = torch::rand({32, 16});
  counted_step of;
  auto const how = [&] { return of.options(plans).rng(cl::Rng::Ignore); };  // generators are shared by threads
  auto const step = [net = of.net](Tensor const& y) { return torch::tanh(nn::Linear{net}->forward(y)); };
  (void)cl::checkpointed_loop(step, x, steps, how());
  std::vector<std::thread> threads;
  for (int k = 0; k < 3; ++k)
    threads.emplace_back([&] {
      for (int n = 0; n < 4; ++n) (void)cl::checkpointed_loop(step, x, steps, how());
    });
  for (auto& one : threads) one.join();
  CHECK(plans->made() == 1);
  for (int k = 0; k < 2; ++k)
    CHECK_THROWS_AS(of.runs_of(x, steps, of.options(plans).memory_limit(cairn::wide(5'000))),
                    cairn::infeasible_budget);
  CHECK(plans->made() == 1);
}

}  // namespace loop_plans_tests
