// SPDX-License-Identifier: Apache-2.0
/// \file counting.cpp  Replaces `operator new`, and with the linker's --wrap the malloc of this program's own objects.
/// Each block is preceded by its size, so that giving it back can be counted too.

#include "counting.hpp"

#include <cstdlib>
#include <cstring>
#include <fstream>
#include <new>
#include <string>

namespace {

// Wide enough to leave the block after it with malloc's alignment.
struct alignas(std::max_align_t) prefix {
  std::size_t size;
};

support::heap_use use;

void* counted(prefix* block, std::size_t size) noexcept {
  if (block == nullptr) return nullptr;
  block->size = size;
  use.bytes += size;
  if (use.bytes > use.peak) use.peak = use.bytes;
  ++use.allocations;
  return block + 1;
}

}  // namespace

extern "C" {

void* __real_malloc(std::size_t size);
void __real_free(void* block);

void* __wrap_malloc(std::size_t size) {
  return counted(static_cast<prefix*>(__real_malloc(size + sizeof(prefix))), size);
}

void __wrap_free(void* block) {
  if (block == nullptr) return;
  auto const whole = static_cast<prefix*>(block) - 1;
  use.bytes -= whole->size;
  __real_free(whole);
}

void* __wrap_calloc(std::size_t count, std::size_t size) {
  if (size != 0 && count > SIZE_MAX / size) return nullptr;
  auto const block = __wrap_malloc(count * size);
  if (block != nullptr) std::memset(block, 0, count * size);
  return block;
}

void* __wrap_realloc(void* block, std::size_t size) {
  auto const bigger = __wrap_malloc(size);
  if (block == nullptr || bigger == nullptr) return bigger;
  auto const old = (static_cast<prefix*>(block) - 1)->size;
  std::memcpy(bigger, block, old < size ? old : size);
  __wrap_free(block);
  return bigger;
}

}  // extern "C"

// All forms but the over-aligned ones, which nothing here uses: a sanitizer's library would bring its own for those
// left out.
void* operator new(std::size_t size) {
  if (auto const block = __wrap_malloc(size)) return block;
  throw std::bad_alloc{};
}
void* operator new[](std::size_t size) { return ::operator new(size); }
void* operator new(std::size_t size, std::nothrow_t const&) noexcept { return __wrap_malloc(size); }
void* operator new[](std::size_t size, std::nothrow_t const&) noexcept { return __wrap_malloc(size); }
void operator delete(void* block) noexcept { __wrap_free(block); }
void operator delete[](void* block) noexcept { __wrap_free(block); }
void operator delete(void* block, std::size_t) noexcept { __wrap_free(block); }
void operator delete[](void* block, std::size_t) noexcept { __wrap_free(block); }
void operator delete(void* block, std::nothrow_t const&) noexcept { __wrap_free(block); }
void operator delete[](void* block, std::nothrow_t const&) noexcept { __wrap_free(block); }

namespace support {

heap_use heap() noexcept { return use; }
void forget_heap_peak() noexcept { use.peak = use.bytes; }

resident_bytes resident() {
  resident_bytes found;
  std::ifstream status{"/proc/self/status"};
  for (std::string word; status >> word;) {
    auto const field = word == "VmRSS:" ? &found.now : word == "VmHWM:" ? &found.peak : nullptr;
    if (field != nullptr && status >> *field) *field *= 1024;
  }
  return found;
}

}  // namespace support
