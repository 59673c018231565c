// SPDX-License-Identifier: Apache-2.0
// Counts the bytes of all tensors on the processor: torch's allocator in a counting one. `bytes_begin` installs it.
#include <c10/core/Allocator.h>
#include <c10/core/CPUAllocator.h>
#include <cstdint>

namespace {

std::int64_t held = 0, peak = 0;

struct counting final : c10::Allocator {
  struct block {
    c10::DataPtr data;
    std::int64_t size;
  };
  c10::Allocator* base = c10::GetCPUAllocator();

  c10::DataPtr allocate(std::size_t size) override {
    auto* const taken = new block{base->allocate(size), std::int64_t(size)};
    held += taken->size;
    if (held > peak) peak = held;
    return {taken->data.get(), taken, &give_back, c10::Device(c10::DeviceType::CPU)};
  }
  static void give_back(void* context) {
    auto* const taken = static_cast<block*>(context);
    held -= taken->size;
    delete taken;
  }
  c10::DeleterFnPtr raw_deleter() const override { return nullptr; }
  void copy_data(void* into, void const* from, std::size_t count) const override {
    default_copy_data(into, from, count);
  }
};

}  // namespace

extern "C" {
void bytes_begin() {
  static counting allocator;
  c10::SetCPUAllocator(&allocator, 100);
  held = peak = 0;
}
std::int64_t bytes_peak() { return peak; }
}
