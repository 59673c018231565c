// SPDX-License-Identifier: Apache-2.0
// allocation_log.hpp for a program in Python: `log_begin`, a piece of work, `log_end`. It works by an allocator,
// because the state of the profiler, by which the log in C++ works, is Python's own there.
#include <c10/core/CPUAllocator.h>
#include "allocation_log.hpp"

namespace {

benchmark::allocation_events events;
c10::Allocator* base = nullptr;

/// Hands out the blocks of the allocator before it as they are, which operators of oneDNN ask for.
struct logging final : c10::Allocator {
  c10::DataPtr allocate(std::size_t size) override {
    auto taken = base->allocate(size);
    void* const block = taken.get();
    if (taken.get_context() != block) return taken;
    (void)taken.release_context();
    events.add(block, std::int64_t(size));
    return {block, block, &give_back, taken.device()};
  }
  static void give_back(void* block) {
    events.add(block, 0);
    base->raw_deleter()(block);
  }
  c10::DeleterFnPtr raw_deleter() const override { return &give_back; }
  void copy_data(void* into, void const* from, std::size_t count) const override {
    default_copy_data(into, from, count);
  }
};

}  // namespace

extern "C" {
void log_begin() {
  static logging allocator;
  if (base == nullptr) {
    base = c10::GetCPUAllocator();
    c10::SetCPUAllocator(&allocator, 100);
  }
  events.clear();
}
/// \returns the most bytes at once of what was made since `log_begin`, beside `count` blocks of now
std::int64_t log_end(void const* const* beside, std::int64_t count) {
  auto const peak = events.peak(std::vector<void const*>(beside, beside + count));
  events.clear();
  return peak;
}
}
