// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file counting.hpp  What this program really holds: every byte it asks the heap for, and its resident pages.

#include <cstddef>
#include <cstdint>

namespace support {

/// What this program's own code has asked of the heap, by `new` and by `malloc`, which Eigen calls; see counting.cpp.
/// Counts the bytes that were asked for, not what the allocator rounds them to.
struct heap_use {
  std::size_t bytes = 0;         ///< held now
  std::size_t peak = 0;          ///< most held at once since the start, or since `forget_heap_peak`
  std::int64_t allocations = 0;  ///< so far
};
[[nodiscard]] heap_use heap() noexcept;
void forget_heap_peak() noexcept;

/// Bytes of memory that the kernel gives this process now, and the most since its start; 0 where the kernel does not
/// say.
struct resident_bytes {
  std::size_t now = 0;
  std::size_t peak = 0;
};
[[nodiscard]] resident_bytes resident();

}  // namespace support
