#pragma once
/// \file memory_stats.hpp  What tensors hold on a device, in the whole process.
#include <cstdint>
#include <c10/core/Device.h>
#include <ATen/Context.h>
#include <cairn/adapt/torch/compat/detail/host_memory.hpp>
#include <cairn/adapt/torch/memory/detail/available_device.hpp>
#include <cairn/adapt/torch/memory/detail/device_allocator.hpp>

namespace cairn::libtorch {

/// Bytes of one device.
struct MemoryStats {
  std::int64_t allocated = 0;  ///< in tensors now. On the CPU of those that were made since the first call of
                               ///< memory_stats or register_memory_hook
  /// That LibTorch keeps for later tensors; clear_cache gives them back. On the CPU always 0: it keeps none.
  std::int64_t cached = 0;
  std::int64_t peak = 0;  ///< the most that was allocated at once, since the start or since reset_peak_memory
};

/// What tensors hold on a device now, and held at most, in all threads. On the CPU it counts from its first call on: an
/// allocator is put before LibTorch's own for good, which costs each block a lock and a look-up in a table; make that
/// call before there are other threads. An allocator that the program wants to set must be there before. For one piece
/// of a program take a byte_meter.
/// \param device  one without an index is the current one of its type
/// \throws device_error  for a device that LibTorch does not see, and for all but the CPU before LibTorch 2.9
/// \throws invalid_call  for a CPU allocator of the program's own without a raw_deleter()
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

/// From now on the peak of memory_stats is what is allocated now, or more.   \throws as memory_stats
inline void reset_peak_memory(c10::Device device = c10::Device(c10::kCPU)) {
  if (device.is_cpu()) return detail::host_memory::counted().reset_peak();
  auto const seen = detail::available_device(device, "cairn::libtorch::reset_peak_memory");
  detail::with_device_allocator(seen.type(), "cairn::libtorch::reset_peak_memory",
                                [&](auto& allocator) { allocator.resetPeakStats(seen.index()); });
}

/// Gives back to the system what LibTorch keeps of CUDA devices' memory for later tensors. On the CPU there is nothing
/// to give back.
/// \throws device_error  before LibTorch 2.9 where there is a CUDA device
inline void clear_cache() {
  if (at::globalContext().hasCUDA())
    detail::with_device_allocator(c10::kCUDA, "cairn::libtorch::clear_cache",
                                  [](auto& allocator) { allocator.emptyCache(); });
}

}  // namespace cairn::libtorch
