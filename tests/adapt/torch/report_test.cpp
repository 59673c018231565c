// SPDX-License-Identifier: Apache-2.0
#include "support/torch.hpp"
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <set>
#include <sstream>
#include <string>
#include <tuple>
#include <utility>
#include <vector>
#include <torch/csrc/autograd/profiler.h>
#include <cairn/adapt/torch/memory/byte_meter.hpp>
#include <cairn/adapt/torch/loop/loop.hpp>
#include <cairn/adapt/torch/loop/loop_estimate.hpp>
#include <cairn/adapt/torch/memory/process_memory.hpp>
#include <cairn/adapt/torch/loop/scan.hpp>
#include <cairn/adapt/torch/loop/while.hpp>

namespace report_tests {

using at::Tensor;
using cl::LoopOptions;
using cl::StepStats;
using support::same_bits;

/// A step with a tape of five states, where it starts, and gradients to begin backward with.
struct cell {
  Tensor w = torch::randn({64, 64}).mul_(0.1).requires_grad_(true), x = torch::randn({128, 64}),
         bar = torch::ones({128, 64});
  Tensor operator()(Tensor const& s) const { return torch::sin(torch::tanh(torch::cos(s).mm(w)) * torch::sigmoid(s)); }
  static constexpr std::int64_t state = 128 * 64 * 4, weights = 64 * 64 * 4;
};
std::shared_ptr<StepStats> new_stats() { return std::make_shared<StepStats>(); }

/// A profiler of LibTorch's in this thread.
struct profiled {
  profiled() {
    namespace profiler = torch::profiler::impl;
    profiler::ProfilerConfig const config(profiler::ProfilerState::KINETO);
    std::set<profiler::ActivityType> const activities{profiler::ActivityType::CPU};
    torch::autograd::profiler::prepareProfiler(config, activities);
    torch::autograd::profiler::enableProfiler(config, activities);
  }
  ~profiled() { torch::autograd::profiler::disableProfiler(); }
};

TEST_CASE("the memory of the process grows by what is written to, and its peak stays", "[torch]") {
  auto const before = cl::process_memory();
  CHECK(before.resident > 1'000'000);
  CHECK(before.peak >= before.resident);
  std::uint64_t const bytes = 64'000'000;
  {
    auto const written = torch::ones({std::int64_t(bytes / 4)});
    CHECK(cl::process_memory().resident >= before.resident + bytes / 10 * 9);
  }
  auto const after = cl::process_memory();
  CHECK(after.resident < before.resident + bytes / 2);
  CHECK(after.peak >= before.resident + bytes / 10 * 9);
}

TEST_CASE("a report counts the bytes of tensors that a meter round the loop counts", "[torch]") {
  cell const c;
  for (cairn::step_index const steps : {1, 2, 3, 30})
    for (auto const rng : {cl::Rng::Preserve, cl::Rng::Ignore})
      for (auto const mode : {cl::SlotMode::Lazy, cl::SlotMode::Eager})
        for (auto const& options : {LoopOptions(), LoopOptions().checkpoints(1),
                                    LoopOptions().checkpoints(4).block_size(2), LoopOptions().block_size(30)}) {
          auto const stats = new_stats();
          cl::byte_meter const meter;
          auto const last =
              cl::checkpointed_loop(c, c.x, steps, LoopOptions(options).rng(rng).slots(mode).stats(stats));
          CAPTURE(steps, options.checkpoints(), options.block_size());
          REQUIRE(stats->tensor_bytes == meter.peak());
          auto const gradient = torch::autograd::grad({last}, {c.w}, {c.bar});
          REQUIRE(stats->tensor_bytes == meter.peak());
          REQUIRE(stats->uncounted == 0);
        }
}

TEST_CASE("a last state that the caller has let go counts no more in backward", "[torch]") {
  cell const c;
  std::int64_t bytes[2];
  for (bool const kept : {false, true}) {
    auto const stats = new_stats();
    Tensor last = cl::checkpointed_loop(c, c.x, 10, LoopOptions().checkpoints(3).stats(stats));
    auto const sum = (last * c.bar).sum();
    if (!kept) last = Tensor{};
    sum.backward();
    bytes[kept] = stats->tensor_bytes;
  }
  CHECK(bytes[true] - bytes[false] == cell::state);
}

TEST_CASE("a report holds what an estimate says, and both stand side by side in a table", "[torch]") {
  cell const c;
  for (auto const& options : {LoopOptions(), LoopOptions().checkpoints(3), LoopOptions().checkpoints(2).block_size(5),
                              LoopOptions().block_size(24)}) {
    auto const e = cl::estimate(c, c.x, 24, options);
    auto const stats = new_stats();
    cl::checkpointed_loop(c, c.x, 24, LoopOptions(options).stats(stats)).pow(2).sum().backward();
    (void)support::take_grads({c.w});
    auto const slack =
        2 * e.costs.state_bytes + e.costs.generator_bytes + (e.engine_calls == 1 ? e.costs.gradient_bytes : 0);
    CAPTURE(stats->tensor_bytes, std::int64_t(e.peak_bytes));
    CHECK(stats->tensor_bytes <= std::int64_t(e.peak_bytes));
    CHECK(double(e.peak_bytes) <= 1.05 * double(stats->tensor_bytes) + double(slack));
    CHECK(stats->forward_seconds > 0);
    CHECK(stats->backward_seconds > 0);
    CHECK(e.forward_seconds > 0);
    CHECK(e.forward_seconds < e.seconds);
    std::istringstream alone{stats->table()}, beside{e.table(*stats)};
    for (std::string row, wide; std::getline(alone, row);) {
      REQUIRE(std::getline(beside, wide));
      CHECK(wide.substr(0, row.size()) == row);
      CHECK(row.size() == 34);
      CHECK(wide.size() == 46);
    }
  }
}

TEST_CASE("a report sees memory that is no tensor's", "[torch]") {
  cell const c;
  std::size_t const bytes = 100'000'000;
  auto const report = [&](bool forward, bool backward) {
    std::vector<std::unique_ptr<char[]>> more;
    cairn::step_index calls = 0;
    auto const step = [&](Tensor const& s) {
      ++calls;
      if ((forward && calls == 3) || (backward && calls == 12)) {
        more.emplace_back(new char[bytes]);
        std::memset(more.back().get(), 1, bytes);
      }
      return c(s);
    };
    auto const stats = new_stats();
    cl::checkpointed_loop(step, c.x, 10, LoopOptions().checkpoints(10).stats(stats)).pow(2).sum().backward();
    (void)support::take_grads({c.w});
    CHECK(stats->tensor_bytes < std::int64_t(bytes) / 10);
    return double(stats->resident_bytes);
  };
  (void)report(false, false);  // what LibTorch makes at its first use
  auto const all = double(bytes);
  CHECK(report(false, false) < 0.2 * all);
  CHECK(report(true, false) > 0.95 * all);
  CHECK(report(true, false) < 1.2 * all);
  CHECK(report(false, true) > 0.95 * all);
  CHECK(report(true, true) > 1.9 * all);
  CHECK(report(true, true) < 2.2 * all);
}

TEST_CASE("a report sees memory that came and went within a step, if the process never had as much", "[torch]") {
  cell const c;
  auto const now = cl::process_memory();
  std::size_t const bytes = std::size_t(now.peak - now.resident) + 64'000'000;
  auto const step = [&](Tensor const& s, int i) {
    if (i == 5) {
      std::unique_ptr<char[]> const brief{new char[bytes]};
      for (std::size_t k = 0; k < bytes; k += 4096) static_cast<char volatile*>(brief.get())[k] = 1;
    }
    return c(s);
  };
  auto const stats = new_stats();
  (void)cl::checkpointed_loop(step, c.x, 10, LoopOptions().stats(stats));
  CHECK(double(stats->resident_bytes) > 0.95 * double(bytes));
}

TEST_CASE("a report looks at the first block of backward, with its tapes, where the process once had more", "[torch]") {
  cell const c;
  constexpr std::size_t bytes = 100'000'000;
  std::unique_ptr<char[]> of_block;
  auto const fill = [&](std::size_t size) {
    of_block.reset(new char[size]);
    std::memset(of_block.get(), 1, size);
  };
  fill(3 * bytes);
  of_block.reset();
  cl::StepCallbacks look;
  int blocks = 0;
  look.run_backward = [&](auto, auto) { if (blocks++ == 0) fill(bytes); };
  look.grad = [&](auto, auto const&) { of_block.reset(); };
  auto const stats = new_stats();
  cl::checkpointed_loop(c, c.x, 10, LoopOptions().checkpoints(10).callbacks(look).stats(stats)).pow(2).sum().backward();
  CHECK(double(stats->resident_bytes) > 0.95 * double(bytes));
  CHECK(double(stats->resident_bytes) < 1.5 * double(bytes));
}

TEST_CASE("counts and seconds of several loops and backwards add up, and of memory the report has the most",
          "[torch]") {
  cell const c;
  auto const options = LoopOptions().checkpoints(3).block_size(2);
  auto const once = new_stats(), twice = new_stats(), again = new_stats();
  auto const loop = [&](auto const& stats, cairn::step_index steps) {
    return cl::checkpointed_loop(c, c.x, steps, LoopOptions(options).stats(stats));
  };
  (void)torch::autograd::grad({loop(once, 20)}, {c.w}, {c.bar});
  {
    cl::byte_meter const meter;
    auto const last = loop(twice, 20);
    (void)torch::autograd::grad({last}, {c.w}, {c.bar}, true);
    CHECK(twice->tensor_bytes == meter.peak());
    auto const first = twice->backward_seconds;
    CHECK(first > 0);
    (void)torch::autograd::grad({last}, {c.w}, {c.bar});
    CHECK(twice->tensor_bytes == meter.peak());
    CHECK(twice->backward_seconds > first);
  }
  CHECK(twice->vjp == 40);
  CHECK(twice->recompute == 2 * once->recompute);
  CHECK(twice->forward == 20);
  CHECK(twice->tensor_bytes > once->tensor_bytes);  // slots stay full for the second backward
  for (cairn::step_index const steps : {3, 20, 4}) (void)torch::autograd::grad({loop(again, steps)}, {c.w}, {c.bar});
  CHECK(again->forward == 27);
  CHECK(again->tensor_bytes == once->tensor_bytes);
}

TEST_CASE("a second derivative is reported, its tapes of all steps included", "[torch]") {
  cell const c;
  auto const stats = new_stats();
  auto const last = cl::checkpointed_loop(c, c.x, 20, LoopOptions().checkpoints(2).stats(stats));
  auto const gradient = torch::autograd::grad({last}, {c.w}, {c.bar}, true, true)[0];
  auto const first = *stats;
  CHECK(first.tensor_bytes < 20 * 5 * cell::state);
  (void)torch::autograd::grad({gradient.pow(2).sum()}, {c.w});
  CHECK(stats->vjp == first.vjp + 20);
  CHECK(stats->engine_calls == first.engine_calls + 2);
  CHECK(stats->backward_seconds > first.backward_seconds);
  CHECK(stats->tensor_bytes > 20 * 5 * cell::state);
}

TEST_CASE("loops in the steps of a loop have reports of their own, and a meter round all counts the same", "[torch]") {
  cell const c;
  auto const inside = new_stats(), outside = new_stats();
  auto const step = [&](Tensor const& s) {
    return cl::checkpointed_loop(c, s, 6, LoopOptions().checkpoints(2).stats(inside));
  };
  cl::byte_meter const meter;
  auto const last =
      cl::checkpointed_loop(step, c.x, 7, LoopOptions().checkpoints(3).rng(cl::Rng::Ignore).stats(outside));
  auto const gradient = torch::autograd::grad({last}, {c.w}, {c.bar});
  CHECK(outside->tensor_bytes == meter.peak());
  CHECK(inside->tensor_bytes < outside->tensor_bytes);
  CHECK(inside->vjp == 42);
  CHECK(inside->forward == 6 * (7 + outside->recompute + 7));
  CHECK(inside->forward_seconds + inside->backward_seconds < outside->forward_seconds + outside->backward_seconds);
  CHECK(cl::byte_meter::possible());
}

TEST_CASE("where a profiler of LibTorch's is on, a loop runs, and its report says that tensors were not counted",
          "[torch]") {
  cell const c;
  auto const want = torch::autograd::grad({cl::checkpointed_loop(c, c.x, 9, LoopOptions())}, {c.w}, {c.bar});
  auto const all = new_stats(), half = new_stats();
  std::vector<Tensor> got;
  {
    profiled const here;
    got = torch::autograd::grad({cl::checkpointed_loop(c, c.x, 9, LoopOptions().stats(all))}, {c.w}, {c.bar});
    CHECK_FALSE(cl::byte_meter::possible());
  }
  CHECK(same_bits(want, got));
  CHECK(all->uncounted == 2);
  CHECK(all->tensor_bytes == 0);
  CHECK(all->vjp == 9);
  CHECK(all->backward_seconds > 0);
  CHECK(all->table().find("not counted\n") != std::string::npos);

  auto const last = cl::checkpointed_loop(c, c.x, 9, LoopOptions().stats(half));
  {
    profiled const here;
    CHECK(same_bits(want, torch::autograd::grad({last}, {c.w}, {c.bar})));
  }
  CHECK(half->uncounted == 1);
  CHECK(half->tensor_bytes >= 4 * cell::state);
  CHECK(half->table().find("not counted in") != std::string::npos);
  CHECK(cl::byte_meter::possible());
}

TEST_CASE("a scan's report counts its outputs and the gradients of its inputs, a while loop's the states that it keeps",
          "[torch]") {
  cell const c;
  auto const xs = torch::randn({12, 128, 64}).requires_grad_(true), bars = torch::ones({12, 128, 64});
  auto const step = [&](Tensor const& s, Tensor const& x) { return std::pair{c(s) + x, torch::sin(s * x)}; };
  for (bool const listed : {false, true}) {
    auto const stats = new_stats();
    auto const options = LoopOptions().checkpoints(3).block_size(2).stats(stats);
    cl::byte_meter const meter;
    if (listed) {
      auto const given = xs.unbind(0), of_each = bars.unbind(0);
      auto const ys = cl::checkpointed_scan(step, c.x, given, options).second;
      CHECK(stats->tensor_bytes == meter.peak());
      (void)torch::autograd::grad(ys, {c.w, given[1], given[7]}, of_each);
    } else {
      auto const ys = cl::checkpointed_scan(step, c.x, xs, options).second;
      CHECK(stats->tensor_bytes == meter.peak());
      CHECK(stats->tensor_bytes > 12 * cell::state);
      (void)torch::autograd::grad({ys}, {c.w, xs}, {bars});
      CHECK(stats->tensor_bytes > 24 * cell::state);
    }
    CHECK(stats->tensor_bytes == meter.peak());
  }
  auto const stats = new_stats();
  cl::byte_meter const meter;
  auto const below = [](Tensor const&, cairn::step_index i) { return i < 20; };
  auto const last = cl::checkpointed_while(c, c.x, below, LoopOptions().checkpoints(4).stats(stats));
  CHECK(stats->tensor_bytes == meter.peak());
  (void)torch::autograd::grad({last}, {c.w}, {c.bar});
  CHECK(stats->tensor_bytes == meter.peak());
}

TEST_CASE("without grad mode a report has the plain loop's time and bytes", "[torch]") {
  cell const c;
  at::NoGradGuard const no_grad;
  auto const stats = new_stats(), of_scan = new_stats(), of_while = new_stats();
  cl::byte_meter const meter;
  (void)cl::checkpointed_loop(c, c.x, 9, LoopOptions().stats(stats));
  CHECK(stats->forward == 9);
  CHECK(stats->tensor_bytes == meter.peak());
  CHECK(stats->forward_seconds > 0);
  auto const step = [&](Tensor const& s, Tensor const& x) { return std::pair{c(s) + x, s}; };
  (void)cl::checkpointed_scan(step, c.x, torch::zeros({9, 64}), LoopOptions().stats(of_scan));
  CHECK(of_scan->forward == 9);
  CHECK(of_scan->tensor_bytes >= 9 * cell::state);
  (void)cl::checkpointed_while(c, c.x, [](Tensor const&, cairn::step_index i) { return i < 9; },
                               LoopOptions().stats(of_while));
  CHECK(of_while->forward == 9);
  CHECK(of_while->tensor_bytes == stats->tensor_bytes);
  CHECK(of_while->forward_seconds > 0);
}

TEST_CASE("a loop of no steps reports nothing taken", "[torch]") {
  auto const stats = new_stats();
  (void)cl::checkpointed_loop(cell{}, torch::ones({2}), 0, LoopOptions().stats(stats));
  CHECK(stats->tensor_bytes == 0);
  CHECK(stats->forward == 0);
  CHECK(stats->table().find("bytes of tensors               0 B\n") != std::string::npos);
}

TEST_CASE("a step that throws leaves a report, no meter, and a loop that runs", "[torch]") {
  cell const c;
  struct stop {};
  for (int const when : {1, 5, 11, 15}) {
    int calls = 0;
    auto const step = [&](Tensor const& s) {
      if (++calls == when) throw stop{};
      return c(s);
    };
    auto const stats = new_stats();
    auto const before = c10::ThreadLocalDebugInfo::current();
    CHECK_THROWS_AS(cl::checkpointed_loop(step, c.x, 9, LoopOptions().checkpoints(2).stats(stats)).sum().backward(),
                    stop);
    CHECK(c10::ThreadLocalDebugInfo::current() == before);
    CHECK(stats->forward_seconds > 0);
    CHECK((stats->backward_seconds > 0) == (when > 9));
  }
}

TEST_CASE("a loop without a report has no meter", "[torch]") {
  cell const c;
  bool metered = false;
  auto const step = [&](Tensor const& s) {
    metered = metered || c10::ThreadLocalDebugInfo::get(c10::DebugInfoKind::PROFILER_STATE) != nullptr;
    return c(s);
  };
  cl::checkpointed_loop(step, c.x, 9, LoopOptions()).sum().backward();
  CHECK_FALSE(metered);
  cl::checkpointed_loop(step, c.x, 9, LoopOptions().stats(new_stats())).sum().backward();
  CHECK(metered);
}

}  // namespace report_tests
