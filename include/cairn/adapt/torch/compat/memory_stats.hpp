// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file memory_stats.hpp  How much memory tensors hold on a device, in the whole process, and a function that hears of
/// each block.
#include <cstdint>
#include <memory>
#include <utility>
#include <ATen/Context.h>
#include <c10/core/Device.h>
#include <cairn/adapt/torch/memory/detail/host_memory.hpp>
#include <cairn/adapt/torch/memory/process_memory.hpp>

namespace cairn::libtorch {

/// Bytes on one device.
struct MemoryStats {
  std::int64_t allocated = 0;  ///< held by tensors now. On the CPU only by tensors made since the first call of
                               ///< memory_stats or register_memory_hook
  /// Kept by LibTorch for later tensors; clear_cache frees them. On the CPU always 0.
  std::int64_t cached = 0;
  std::int64_t peak = 0;  ///< the most allocated at once, since the start or since reset_peak_memory
};

/// How much tensors hold on a device now, and the most that they held, in all threads. On the CPU counting begins with
/// the first call: it permanently puts an allocator in front of LibTorch's own, which costs each block a lock and a
/// table look-up. Make that call before starting other threads; if the program sets an allocator, it must do so before.
/// To measure a part of a program use a byte_meter.
/// \param device  without an index, the current device of its type
/// \throws device_error  for a device that LibTorch does not see, and for all except the CPU before LibTorch 2.9
/// \throws invalid_call  if the program has set a CPU allocator without a raw_deleter()
[[nodiscard]] inline MemoryStats memory_stats(c10::Device device = c10::Device(c10::kCPU)) {
  if (device.is_cpu()) {
    auto const& memory = detail::host_memory::counted();
    return {memory.allocated(), 0, memory.peak()};
  }
  auto const seen = detail::available_device(device, "cairn::libtorch::memory_stats");
  MemoryStats stats;
  detail::with_device_allocator(seen.type(), "cairn::libtorch::memory_stats", [&](auto& allocator) {
    auto const all = allocator.getDeviceStats(seen.index());
    stats.allocated = detail::sum_of(all.allocated_bytes);
    stats.cached = detail::cached_bytes(all);
    stats.peak = all.allocated_bytes[0].peak;
  });
  return stats;
}

/// Resets the peak of memory_stats to what is allocated now.   \throws as memory_stats
inline void reset_peak_memory(c10::Device device = c10::Device(c10::kCPU)) {
  if (device.is_cpu()) return detail::host_memory::counted().reset_peak();
  auto const seen = detail::available_device(device, "cairn::libtorch::reset_peak_memory");
  detail::with_device_allocator(seen.type(), "cairn::libtorch::reset_peak_memory",
                                [&](auto& allocator) { allocator.resetPeakStats(seen.index()); });
}

/// Returns cached memory of CUDA devices, which LibTorch keeps for later tensors, to the system. The CPU has no such
/// cache.
/// \throws device_error  before LibTorch 2.9 if there is a CUDA device
inline void clear_cache() {
  if (at::globalContext().hasCUDA())
    detail::with_device_allocator(c10::kCUDA, "cairn::libtorch::clear_cache",
                                  [](auto& allocator) { allocator.emptyCache(); });
}

/// Called with a device and either (bytes, 0) for a block allocated there or (0, bytes) for a block freed.
using memory_hook = std::function<void(c10::Device, std::int64_t allocated, std::int64_t freed)>;

/// Keeps a memory hook registered during its lifetime; moved, not copied. Handles may be destroyed in any order, also
/// inside the hook. After that the hook is not called any more; the destructor waits for a running call in another
/// thread.
using memory_hook_handle = detail::hook_handle;
/// From now on calls `hook(device, allocated, freed)` whenever a CPU tensor, in any thread, allocates or frees a block
/// of memory. The end of a block is reported only if the block began after the hook's registration, and what hooks
/// allocate themselves is never reported; the hook runs in one thread at a time. If it throws at an allocation, the
/// allocation fails, the block is freed, and that is reported to all hooks; an exception at the end of a block is
/// ignored. A hook should be short, and not wait for anything.
/// \throws invalid_call  without a hook, or as memory_stats   Cost: that of memory_stats, plus the hook's
[[nodiscard]] inline memory_hook_handle register_memory_hook(memory_hook hook) {
  if (!hook)
    throw invalid_call{"cairn::libtorch::register_memory_hook",
                       "there is no function to call",
                       {},
                       "give one that takes (device, allocated, freed)"};
  auto const entry = std::make_shared<detail::hook_entry>(std::move(hook));
  detail::host_memory::counted().add(entry);
  return memory_hook_handle{std::shared_ptr<void const>{
      entry.get(), [entry](void const*) { detail::host_memory::counted().remove(entry); }}};
}

}  // namespace cairn::libtorch
