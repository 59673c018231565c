// SPDX-License-Identifier: Apache-2.0
// What tensors hold: meters, statistics, hooks and slots, against sums done by hand.
#include "support/torch.hpp"
#include <cairn/adapt/torch/compat/memory_stats.hpp>
#include <cairn/adapt/torch/loop/loop_options.hpp>
#include <cairn/adapt/torch/memory/byte_meter.hpp>
#include <torch/csrc/autograd/profiler.h>
#include <map>
#include <stdexcept>
#include <thread>

namespace memory_tests {

using cl::byte_meter;
using cl::memory_hook_handle;
using cl::memory_stats;
using cl::slot_pool;
using cl::SlotMode;
using at::Tensor;

at::Tensor kilobytes(std::int64_t n) { return torch::zeros({n * 250}); }

/// A backward that runs a backward of its own, some levels deep: the engine gives the deepest to threads of its pool.
struct nested_backward : torch::autograd::Function<nested_backward> {
  static inline thread_local bool is_caller = false;
  static inline std::atomic<std::int64_t> elsewhere{0}, kept_elsewhere{0};
  static inline std::vector<Tensor> kept;

  static Tensor forward(torch::autograd::AutogradContext* context, Tensor x, std::int64_t levels) {
    context->saved_data["levels"] = levels;
    return x * 2;
  }
  static torch::autograd::variable_list backward(torch::autograd::AutogradContext* context,
                                                 torch::autograd::variable_list grads) {
    auto const levels = context->saved_data["levels"].toInt();
    if (!is_caller) {
      ++elsewhere;
      kept.push_back(kilobytes(1));
      kept_elsewhere += 1000;
    }
    if (levels > 0) {
      at::AutoGradMode const on{true};
      auto x = torch::ones({1}, at::TensorOptions().requires_grad(true));
      nested_backward::apply(x, levels - 1).sum().backward();
    }
    return {grads[0] * 2, Tensor()};
  }
};

TEST_CASE("a byte meter counts what is made while it lives and no block that is older", "[torch][memory]") {
  auto old = kilobytes(7);
  byte_meter meter;
  CHECK(meter.allocated() == 0);
  {
    auto a = kilobytes(1), b = kilobytes(2);
    CHECK(meter.allocated() == 3000);
    auto view = a.view({10, 25});  // holds no block of its own
    CHECK(meter.allocated() == 3000);
    a.reset();
    CHECK(meter.allocated() == 3000);
    view.reset();
    CHECK(meter.allocated() == 2000);
    auto const none = torch::empty({0});
    CHECK(meter.allocated() == 2000);
  }
  old.reset();
  CHECK(meter.allocated() == 0);
  CHECK(meter.peak() == 3000);
  meter.reset_peak();
  CHECK(meter.peak() == 0);
}

TEST_CASE("byte meters nest and each counts for itself", "[torch][memory]") {
  byte_meter outer;
  auto a = kilobytes(1);
  Tensor left;
  {
    byte_meter inner;
    auto b = kilobytes(2);
    left = kilobytes(3);
    a.reset();  // the inner one does not know it
    CHECK(inner.allocated() == 5000);
    CHECK(outer.allocated() == 5000);
    CHECK(outer.peak() == 6000);
  }
  CHECK(outer.allocated() == 3000);
  left.reset();
  CHECK(outer.allocated() == 0);
}

TEST_CASE("a byte meter forgets a block that another thread freed when its address is used again", "[torch][memory]") {
  byte_meter meter;
  auto block = kilobytes(64);
  auto const* const address = block.data_ptr();
  std::thread{[&] { block.reset(); }}.join();
  CHECK(meter.allocated() == 64000);  // not reported
  std::vector<Tensor> more;
  bool found = false;
  while (more.size() < 100 && !found) found = more.emplace_back(kilobytes(64)).data_ptr() == address;
  if (found) CHECK(meter.allocated() == std::int64_t(more.size()) * 64000);
}

TEST_CASE("a byte meter of another device counts no block of the CPU", "[torch][memory]") {
  byte_meter meter{c10::Device(c10::kCUDA, 0)};
  auto const a = kilobytes(1);
  CHECK(meter.peak() == 0);
}

TEST_CASE("a byte meter counts what a backward makes", "[torch][memory]") {
  auto const w = torch::ones({250}, at::TensorOptions().requires_grad(true));
  byte_meter meter;
  (w * w).sum().backward();
  CHECK(meter.allocated() == 1000);  // the gradient
  CHECK(meter.peak() >= 2000);
}

TEST_CASE("a byte meter counts in the threads that the engine takes for nested backwards", "[torch][memory]") {
  nested_backward::is_caller = true;
  nested_backward::elsewhere = nested_backward::kept_elsewhere = 0;
  auto x = torch::ones({1}, at::TensorOptions().requires_grad(true));
  byte_meter meter;
  nested_backward::apply(x, 70).sum().backward();
  x.mutable_grad() = Tensor();
  CHECK(nested_backward::elsewhere > 0);
  CHECK(meter.allocated() >= nested_backward::kept_elsewhere);
  auto const before = meter.allocated();
  auto const freed = nested_backward::kept_elsewhere.load();
  nested_backward::kept.clear();
  CHECK(before - meter.allocated() == freed);
}

TEST_CASE("a byte meter refuses a thread with a profiler, and another thread can have one", "[torch][memory]") {
  namespace profiler = torch::profiler::impl;
  profiler::ProfilerConfig const config(profiler::ProfilerState::KINETO);
  std::set<profiler::ActivityType> const activities{profiler::ActivityType::CPU};
  torch::autograd::profiler::prepareProfiler(config, activities);
  torch::autograd::profiler::enableProfiler(config, activities);
  bool const here = byte_meter::possible();
  bool refused = false, there = false;
  try {
    byte_meter const meter;
  } catch (cairn::invalid_call const&) {
    refused = true;
  }
  std::thread{[&] { there = byte_meter::possible(); }}.join();
  torch::autograd::profiler::disableProfiler();
  CHECK(!here);
  CHECK(refused);
  CHECK(there);
  CHECK(byte_meter::possible());
}

TEST_CASE("memory statistics count the process's tensors in all threads", "[torch][memory]") {
  auto const old = kilobytes(1);
  auto const start = memory_stats();
  cl::reset_peak_memory();
  Tensor kept;
  std::thread{[&] {
    auto const brief = kilobytes(5);
    kept = kilobytes(2);
  }}.join();
  auto const now = memory_stats(torch::kCPU);
  CHECK(now.allocated - start.allocated == 2000);
  CHECK(now.peak - start.allocated == 7000);
  CHECK(now.cached == 0);
  kept.reset();
  CHECK(memory_stats().allocated == start.allocated);
  cl::reset_peak_memory();
  CHECK(memory_stats().peak == start.allocated);
  cl::clear_cache();
}

TEST_CASE("memory statistics and a byte meter agree on a training step", "[torch][memory]") {
  torch::nn::Sequential net(torch::nn::Linear(32, 64), torch::nn::ReLU(),
                            torch::nn::Conv1d(torch::nn::Conv1dOptions(1, 2, 3)));
  auto const x = torch::randn({8, 32});
  auto const run = [&] { net->forward(x.view({8, 1, 32})).sum().backward(); };
  run();
  net->zero_grad();
  auto const start = memory_stats().allocated;
  cl::reset_peak_memory();
  byte_meter meter;
  run();
  CHECK(memory_stats().allocated - start <= meter.allocated());
  CHECK(memory_stats().peak - start <= meter.peak());
  CHECK(meter.peak() > 8 * 64 * 4);
}

TEST_CASE("counted blocks stay plain ones that are allocated and freed by their address", "[torch][memory]") {
  (void)memory_stats();
  auto* const allocator = c10::GetCPUAllocator();
  auto const start = memory_stats().allocated;
  void* const block = allocator->raw_allocate(128);
  CHECK(memory_stats().allocated - start == 128);
  allocator->raw_deallocate(block);
  CHECK(memory_stats().allocated == start);
  auto const plain = torch::rand({2, 3, 8, 8});
  auto const other = plain.to_mkldnn().to_dense();
  CHECK(support::same_bits(plain, other));
}

TEST_CASE("memory statistics refuse devices that are not there", "[torch][memory]") {
  if (torch::cuda::is_available()) return;
  CHECK_THROWS_AS(memory_stats(torch::kCUDA), cairn::device_error);
  CHECK_THROWS_AS(memory_stats(c10::Device(c10::kCUDA, 3)), cairn::device_error);
  CHECK_THROWS_AS(cl::reset_peak_memory(torch::kCUDA), cairn::device_error);
}

/// A sum of what a hook hears.
struct heard {
  std::int64_t allocated = 0, freed = 0;
  [[nodiscard]] memory_hook_handle listen() {
    return cl::register_memory_hook([this](c10::Device device, std::int64_t a, std::int64_t f) {
      if (!device.is_cpu() || (a == 0) == (f == 0)) throw std::logic_error{"one of the two"};
      allocated += a;
      freed += f;
    });
  }
};

TEST_CASE("memory hooks hear of the blocks that begin after them and may end in any order", "[torch][memory]") {
  auto const removed_first = GENERATE(0, 1, 2);
  heard ears[3];
  memory_hook_handle handles[3];
  Tensor blocks[3];
  for (int k = 0; k < 3; ++k) {
    handles[k] = ears[k].listen();
    blocks[k] = kilobytes(1 << k);
  }
  for (auto& block : blocks) block.reset();
  CHECK(ears[0].allocated == 7000);
  CHECK(ears[1].allocated == 6000);
  CHECK(ears[2].allocated == 4000);
  for (auto const& ear : ears) CHECK(ear.freed == ear.allocated);
  handles[removed_first].remove();
  CHECK(!handles[removed_first]);
  handles[removed_first].remove();
  auto last = kilobytes(1);
  last.reset();
  for (int k = 0; k < 3; ++k) CHECK(ears[k].freed == (7 >> k << k) * 1000 + (k == removed_first ? 0 : 1000));
  auto moved = std::move(handles[(removed_first + 1) % 3]);
  CHECK(moved);
  moved = {};
  kilobytes(1).reset();
  CHECK(ears[(removed_first + 1) % 3].freed ==
        (7 >> ((removed_first + 1) % 3) << ((removed_first + 1) % 3)) * 1000 + 1000);
}

TEST_CASE("a memory hook that throws fails the allocation and leaves the others in balance", "[torch][memory]") {
  heard before, after;
  auto const first = before.listen();
  std::int64_t limit = 1000;
  auto const thrower = cl::register_memory_hook([&](c10::Device, std::int64_t allocated, std::int64_t freed) {
    if (allocated > limit || freed > limit) throw std::runtime_error{"too much"};
  });
  auto const last = after.listen();
  auto const start = memory_stats().allocated;
  auto const fine = kilobytes(1);
  CHECK_THROWS_WITH(torch::empty({500}), Catch::Matchers::ContainsSubstring("too much"));
  CHECK(memory_stats().allocated == start + 1000);
  for (auto const& ear : {before, after}) {
    CHECK(ear.allocated == 3000);
    CHECK(ear.freed == 2000);
  }
  limit = 5000;
  auto big = kilobytes(5);
  limit = 1000;
  big.reset();  // what is thrown here is dropped
  CHECK(memory_stats().allocated == start + 1000);
}

TEST_CASE("a memory hook may allocate, and remove itself", "[torch][memory]") {
  int calls = 0;
  Tensor made;
  memory_hook_handle self;
  self = cl::register_memory_hook([&](c10::Device, std::int64_t, std::int64_t) {
    ++calls;
    made = kilobytes(1);
    self.remove();
  });
  auto a = kilobytes(1);
  a.reset();
  made.reset();
  CHECK(calls == 1);
  CHECK_THROWS_AS(cl::register_memory_hook({}), cairn::invalid_call);
}

TEST_CASE("memory hooks come and go while other threads allocate", "[torch][memory]") {
  auto const start = memory_stats().allocated;
  std::atomic<bool> stop{false};
  std::vector<std::thread> threads;
  for (int k = 0; k < 2; ++k)
    threads.emplace_back([&] { while (!stop) kilobytes(1).reset(); });
  for (int k = 0; k < 200; ++k) {
    heard one, other;
    auto first = one.listen();
    auto const second = other.listen();
    kilobytes(1).reset();
    first.remove();
    CHECK(one.freed >= 1000);
    CHECK(one.allocated - one.freed <= 2000);  // what the threads have not freed yet
    CHECK(one.allocated - one.freed >= 0);
  }
  stop = true;
  for (auto& thread : threads) thread.join();
  CHECK(memory_stats().allocated == start);
}

TEST_CASE("slots give back the bits that they kept", "[torch][slots]") {
  auto const mode = GENERATE(SlotMode::Lazy, SlotMode::Eager);
  auto const slots = GENERATE(std::size_t(1), std::size_t(2), std::size_t(5));
  std::vector<Tensor> const like{torch::randn({3, 4}), Tensor(), torch::randn({2}).to(torch::kDouble),
                                 torch::randn({4, 3}).t()};
  slot_pool pool{mode, slots, like};
  CHECK(pool.size() == slots);
  std::vector<std::vector<Tensor>> states;
  for (std::size_t k = 0; k < slots; ++k) {
    CHECK(!pool.holds(k));
    states.push_back({torch::randn({3, 4}), Tensor(), torch::randn({2}).to(torch::kDouble), torch::randn({4, 3}).t()});
    pool.save(k, states[k]);
    CHECK(pool.holds(k));
  }
  for (int round = 0; round < 2; ++round)
    for (std::size_t k = 0; k < slots; ++k) CHECK(support::same_bits(pool.load(k), states[k]));
  CHECK(pool.load(0)[3].strides() == states[0][3].strides());
}

TEST_CASE("lazy slots hold references, and see a state that was changed in place", "[torch][slots]") {
  byte_meter meter;
  auto x = kilobytes(1);
  slot_pool pool{SlotMode::Lazy, 2, {x}};
  CHECK(meter.allocated() == 1000);
  pool.save(1, {x});
  CHECK(meter.allocated() == 1000);
  CHECK(pool.bytes() == 1000);
  CHECK(pool.load(1)[0].data_ptr() == x.data_ptr());
  x.add_(1);
  CHECK_THROWS_AS(pool.load(1), cairn::invalid_call);
  x.reset();
  pool.drop(1);
  CHECK(meter.allocated() == 0);
  CHECK_THROWS_AS(pool.load(1), cairn::invalid_call);
}

TEST_CASE("eager slots have all their memory from the start, and steps may work in place", "[torch][slots]") {
  byte_meter meter;
  auto x = kilobytes(1);
  slot_pool pool{SlotMode::Eager, 3, {x}};
  CHECK(meter.allocated() == 4000);
  auto const* const address = [&] { pool.save(0, {x}); return pool.load(0)[0].data_ptr(); }();
  x.add_(1);
  CHECK(pool.load(0)[0].sum().item<float>() == 0);
  for (int k = 0; k < 5; ++k) {
    pool.drop(0);
    pool.save(0, {x});
    CHECK(pool.load(0)[0].data_ptr() == address);
  }
  CHECK(meter.allocated() == 4000);
  pool.release_unused();
  CHECK(meter.allocated() == 2000);
  CHECK(pool.bytes() == 1000);
  pool.save(2, {x});
  CHECK(pool.load(2)[0].sum().item<float>() == 250);
}

TEST_CASE("an eager slot writes to no tensor that somebody still holds", "[torch][slots]") {
  auto const x = torch::full({3}, 1.f);
  slot_pool pool{SlotMode::Eager, 1, {x}};
  pool.save(0, {x});
  auto const held = pool.load(0)[0];
  auto const part = pool.load(0)[0].narrow(0, 1, 1);
  pool.save(0, {x + 1});
  CHECK(held.sum().item<float>() == 3);
  CHECK(pool.load(0)[0].sum().item<float>() == 6);
  pool.save(0, {torch::ones({7})});  // of another size
  CHECK(pool.load(0)[0].numel() == 7);
}

TEST_CASE("slots keep no gradient history, and states without parts", "[torch][slots]") {
  auto const mode = GENERATE(SlotMode::Lazy, SlotMode::Eager);
  auto const w = torch::ones({2}, at::TensorOptions().requires_grad(true));
  slot_pool pool{mode, 1, {w}};
  pool.save(0, {w * 2});
  CHECK(!pool.load(0)[0].requires_grad());
  pool.save(0, {});
  CHECK(pool.load(0).empty());
  CHECK_THROWS_AS(pool.save(1, {w}), cairn::invalid_call);
  CHECK_THROWS_AS(slot_pool().drop(0), cairn::invalid_call);
  at::InferenceMode const inference;
  pool.save(0, {torch::ones({2})});
  CHECK(pool.load(0)[0].numel() == 2);
}

}  // namespace memory_tests
