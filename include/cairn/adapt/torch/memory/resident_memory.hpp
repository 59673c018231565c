#pragma once
/// \file resident_memory.hpp  A setting of the C library by which the memory of the process follows its tensors.
#include <cstddef>
#include <cstdint>
#include <cairn/core/error.hpp>
#if defined(__GLIBC__)
#include <malloc.h>
#endif

namespace cairn::libtorch {

/// From now on each block of memory that is this large or larger, such as that of a tensor, goes back to the system
/// when it ends; what is free already goes back now. The C library of GNU keeps blocks for later ones otherwise:
/// after the first large blocks have ended it raises the size from which it gives blocks back, up to 32 MiB, and
/// small blocks that live on, such as nodes of a graph, then hold large free ones in place. The environment variable
/// `MALLOC_MMAP_THRESHOLD_` does the same without a line of code.
/// \param least  in bytes, 4 KiB to 32 MiB. Smaller sizes give back more, and cost more time
/// \returns whether the C library has the setting. Others than that of GNU have not, and with a sanitizer it is not
///          there; nothing has changed then. A program with another allocator, such as jemalloc, has to ask that one
/// \throws invalid_call   where `least` is out of its range; nothing has changed then
/// Cost: each such block is asked of the system, which fills it with zeros at its first use. Call it once, at the
/// start of the program: it is for the whole process.
[[nodiscard]] inline bool return_large_blocks(std::size_t least = std::size_t{128} << 10) {
  if (least < (std::size_t{4} << 10) || least > (std::size_t{32} << 20))
    throw invalid_call{"cairn::libtorch::return_large_blocks", "blocks of this size cannot be given back one by one",
                       {{"bytes", least}}, "take 4 KiB to 32 MiB, such as 128 KiB"};
#if defined(__GLIBC__)
  // The second is set, too, because otherwise what is free at the heap's end would stay up to twice the first.
  if (mallopt(M_MMAP_THRESHOLD, int(least)) == 0 || mallopt(M_TRIM_THRESHOLD, int(least)) == 0) return false;
  malloc_trim(0);
  return true;
#else
  return false;
#endif
}

}  // namespace cairn::libtorch
