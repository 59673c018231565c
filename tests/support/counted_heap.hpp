// SPDX-License-Identifier: Apache-2.0
#pragma once
// Counts the heap of a whole program, third parties' malloc included: glibc's functions under names of their own do the
// work. Blocks count with all of their usable bytes. To be included by one source file of a program.
#include <malloc.h>
#include <atomic>
#include <cerrno>
#include <cstddef>

namespace counted_heap {

inline std::atomic<std::size_t> held{0}, peak{0}, blocks{0};

/// What is held now; `peak` starts again from there.
inline std::size_t begin() { return peak = held.load(); }
inline void* taken(void* block) noexcept {
  if (block != nullptr) {
    std::size_t const now = held += malloc_usable_size(block);
    for (std::size_t before = peak; now > before && !peak.compare_exchange_weak(before, now);) {}
    ++blocks;
  }
  return block;
}
inline void given(void* block) noexcept {
  if (block != nullptr) held -= malloc_usable_size(block), --blocks;
}

}  // namespace counted_heap

extern "C" {
void* __libc_malloc(std::size_t);
void* __libc_calloc(std::size_t, std::size_t);
void* __libc_realloc(void*, std::size_t);
void* __libc_memalign(std::size_t, std::size_t);
void __libc_free(void*);

void* malloc(std::size_t size) noexcept { return counted_heap::taken(__libc_malloc(size)); }
void* calloc(std::size_t count, std::size_t size) noexcept { return counted_heap::taken(__libc_calloc(count, size)); }
void* memalign(std::size_t alignment, std::size_t size) noexcept {
  return counted_heap::taken(__libc_memalign(alignment, size));
}
void* aligned_alloc(std::size_t alignment, std::size_t size) noexcept { return memalign(alignment, size); }
int posix_memalign(void** block, std::size_t alignment, std::size_t size) noexcept {
  *block = memalign(alignment, size);
  return *block == nullptr ? ENOMEM : 0;
}
void* realloc(void* block, std::size_t size) noexcept {
  std::size_t const before = block == nullptr ? 0 : malloc_usable_size(block);
  void* const moved = __libc_realloc(block, size);
  if ((moved != nullptr || size == 0) && block != nullptr) counted_heap::held -= before, --counted_heap::blocks;
  return counted_heap::taken(moved);
}
void free(void* block) noexcept {
  counted_heap::given(block);
  __libc_free(block);
}
}
