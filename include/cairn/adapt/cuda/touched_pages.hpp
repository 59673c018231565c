#pragma once
/// \file touched_pages.hpp  Memory of the host in whole pages that several threads touch first, which is most of the time that pinning takes.
#include <cstddef>
#include <exception>
#include <new>
#include <thread>
#include <vector>

namespace cairn::detail {

inline constexpr std::size_t page_bytes = 4096;
[[nodiscard]] constexpr std::size_t whole_pages(std::size_t bytes) noexcept {
  return (bytes / page_bytes + (bytes % page_bytes != 0 ? 1 : 0)) * page_bytes;
}

/// Writes to each page of [begin, begin + bytes), by at most so many threads; by fewer where the system gives fewer.
inline void touch_pages(char* begin, std::size_t bytes, unsigned threads) {
  std::size_t const pages = whole_pages(bytes) / page_bytes, parts = threads < 2 ? 1 : threads < pages ? threads : pages;
  auto const touch = [=](std::size_t part) {
    auto* const each = static_cast<char volatile*>(begin);
    for (std::size_t page = pages * part / parts, end = pages * (part + 1) / parts; page < end; ++page) each[page * page_bytes] = 0;
  };
  std::vector<std::thread> others;
  std::size_t next = 0;
  try {
    others.reserve(parts);
    for (; next + 1 < parts; ++next) others.emplace_back(touch, next);
  } catch (std::exception const&) {  // the machine has no more: the rest is done here
  }
  for (; next < parts; ++next) touch(next);
  for (auto& one : others) one.join();
}
/// Null where there is none.
[[nodiscard]] inline void* take_pages(std::size_t bytes, unsigned threads) {
  if (bytes > ~std::size_t{0} - page_bytes) return nullptr;
  void* const pages = ::operator new(whole_pages(bytes), std::align_val_t{page_bytes}, std::nothrow);
  if (pages != nullptr) touch_pages(static_cast<char*>(pages), bytes, threads);
  return pages;
}
/// What `take_pages` gave.
inline void give_pages_back(void* pages) noexcept { ::operator delete(pages, std::align_val_t{page_bytes}); }

}  // namespace cairn::detail
