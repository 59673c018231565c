// SPDX-License-Identifier: Apache-2.0
// Counts the heap of a whole program. To be included by one source file of it.
#pragma once
#include <cstdlib>
#include <new>

namespace heap {

inline std::size_t held = 0, peak = 0, allocations = 0;

/// Starts a measurement: the peak from here on, above what is held now.
struct mark {
  std::size_t const before = held;
  std::size_t const allocations_before = allocations;
  mark() { peak = held; }
  [[nodiscard]] std::size_t rise() const { return peak - before; }
  [[nodiscard]] std::size_t allocated() const { return allocations - allocations_before; }
};

#ifdef _WIN32
inline void* aligned(std::size_t alignment, std::size_t size) { return _aligned_malloc(size, alignment); }
inline void end_aligned(void* block) noexcept { _aligned_free(block); }
#else
inline void* aligned(std::size_t alignment, std::size_t size) { return std::aligned_alloc(alignment, size); }
inline void end_aligned(void* block) noexcept { std::free(block); }
#endif

/// Blocks carry their size in front, a whole alignment unit of it.
inline void* take(std::size_t size, std::size_t alignment) {
  std::size_t const front = alignment < sizeof(std::size_t) ? sizeof(std::size_t) : alignment;
  void* const block = aligned(front, (size + front + front - 1) / front * front);
  if (block == nullptr) throw std::bad_alloc{};
  held += size;
  ++allocations;
  if (held > peak) peak = held;
  auto* const user = static_cast<unsigned char*>(block) + front;
  *reinterpret_cast<std::size_t*>(user - sizeof(std::size_t)) = size;
  return user;
}
inline void give_back(void* user, std::size_t alignment) noexcept {
  if (user == nullptr) return;
  std::size_t const front = alignment < sizeof(std::size_t) ? sizeof(std::size_t) : alignment;
  held -= *reinterpret_cast<std::size_t*>(static_cast<unsigned char*>(user) - sizeof(std::size_t));
  end_aligned(static_cast<unsigned char*>(user) - front);
}
// Every form, also those that call others in the standard library: sanitizers bring all of them.
inline void* take_or_null(std::size_t size, std::size_t alignment) noexcept {
  try {
    return take(size, alignment);
  } catch (...) {
    return nullptr;
  }
}
inline constexpr std::size_t usual = __STDCPP_DEFAULT_NEW_ALIGNMENT__;

}  // namespace heap

void* operator new(std::size_t size) { return heap::take(size, heap::usual); }
void* operator new[](std::size_t size) { return heap::take(size, heap::usual); }
void* operator new(std::size_t size, std::align_val_t alignment) { return heap::take(size, std::size_t(alignment)); }
void* operator new[](std::size_t size, std::align_val_t alignment) { return heap::take(size, std::size_t(alignment)); }
void* operator new(std::size_t size, std::nothrow_t const&) noexcept { return heap::take_or_null(size, heap::usual); }
void* operator new[](std::size_t size, std::nothrow_t const&) noexcept { return heap::take_or_null(size, heap::usual); }
void operator delete(void* user) noexcept { heap::give_back(user, heap::usual); }
void operator delete[](void* user) noexcept { heap::give_back(user, heap::usual); }
void operator delete(void* user, std::size_t) noexcept { heap::give_back(user, heap::usual); }
void operator delete[](void* user, std::size_t) noexcept { heap::give_back(user, heap::usual); }
void operator delete(void* user, std::nothrow_t const&) noexcept { heap::give_back(user, heap::usual); }
void operator delete[](void* user, std::nothrow_t const&) noexcept { heap::give_back(user, heap::usual); }
void operator delete(void* user, std::align_val_t alignment) noexcept { heap::give_back(user, std::size_t(alignment)); }
void operator delete[](void* user, std::align_val_t alignment) noexcept {
  heap::give_back(user, std::size_t(alignment));
}
void operator delete(void* user, std::size_t, std::align_val_t alignment) noexcept {
  heap::give_back(user, std::size_t(alignment));
}
void operator delete[](void* user, std::size_t, std::align_val_t alignment) noexcept {
  heap::give_back(user, std::size_t(alignment));
}
