// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file resident_memory.hpp  Makes the C library return the memory of freed tensors to the system.
#include <cstddef>
#include <cstdint>
#include <cairn/core/error.hpp>
#if defined(__GLIBC__)
#include <malloc.h>
#endif

namespace cairn::libtorch {

/// From now on each block of memory of this size or larger, such as that of a tensor, is returned to the system when it
/// is freed; memory that is already free is returned now. By default GNU's C library keeps blocks for later: after the
/// first large blocks are freed it raises the size from which it returns blocks, up to 32 MiB, and small blocks that
/// live on, such as graph nodes, then prevent large free ones from being returned. The environment variable
/// `MALLOC_MMAP_THRESHOLD_` has the same effect without code.
/// \param least  in bytes, 4 KiB to 32 MiB. Smaller sizes return more memory, and cost more time
/// \returns whether the C library has the setting. Other C libraries do not, nor do programs with a sanitizer; nothing
///   has changed then. A program with another allocator, such as jemalloc, must configure that one
/// \throws invalid_call   if `least` is out of range; nothing has changed then
/// Cost: each such block is requested from the system, which fills it with zeros at its first use. Call it once, at the
/// start of the program: it applies to the whole process.
[[nodiscard]] inline bool return_large_blocks(std::size_t least = std::size_t{128} << 10) {
  if (least < (std::size_t{4} << 10) || least > (std::size_t{32} << 20))
    throw invalid_call{"cairn::libtorch::return_large_blocks", "blocks of this size cannot be given back one by one",
                       {{"bytes", least}}, "take 4 KiB to 32 MiB, such as 128 KiB"};
#if defined(__GLIBC__)
  // The trim threshold must be set, too: otherwise up to twice the first one of free memory is kept at the heap's end.
  if (mallopt(M_MMAP_THRESHOLD, int(least)) == 0 || mallopt(M_TRIM_THRESHOLD, int(least)) == 0) return false;
  malloc_trim(0);
  return true;
#else
  return false;
#endif
}

}  // namespace cairn::libtorch
