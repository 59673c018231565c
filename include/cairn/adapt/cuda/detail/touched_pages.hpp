// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file touched_pages.hpp  Host memory in whole pages that several threads touch first, which takes most of the time
/// of pinning.
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

/// Calls f(first, last) for parts of [0, count) of about equal size, on at most `threads` threads; on fewer if the
/// system provides fewer.
/// \param f  must not throw
template <class Fn>
void in_parts_of(std::size_t count, unsigned threads, Fn f) {
  std::size_t const parts = threads < 2       ? 1
                            : threads < count ? threads
                                              : count,
                    size = parts == 0 ? 0 : count / parts, larger = parts == 0 ? 0 : count % parts;
  auto const begin_of = [=](std::size_t part) { return part * size + (part < larger ? part : larger); };
  auto const run = [&](std::size_t part) { f(begin_of(part), begin_of(part + 1)); };
  std::vector<std::thread> others;
  std::size_t next = 0;
  try {
    others.reserve(parts);
    for (; next + 1 < parts; ++next) others.emplace_back(run, next);
  } catch (std::exception const&) {  // the system provides no more threads: the rest is done here
  }
  for (; next < parts; ++next) run(next);
  for (auto& one : others) one.join();
}
/// Writes to each page of [begin, begin + bytes), on at most `threads` threads.
inline void touch_pages(char* begin, std::size_t bytes, unsigned threads) {
  in_parts_of(whole_pages(bytes) / page_bytes, threads, [=](std::size_t page, std::size_t last) noexcept {
    for (auto* const each = static_cast<char volatile*>(begin); page < last; ++page) each[page * page_bytes] = 0;
  });
}
/// Null if there is not enough memory.
[[nodiscard]] inline void* take_pages(std::size_t bytes, unsigned threads) {
  if (bytes > ~std::size_t{0} - page_bytes) return nullptr;
  void* const pages = ::operator new(whole_pages(bytes), std::align_val_t{page_bytes}, std::nothrow);
  if (pages != nullptr) touch_pages(static_cast<char*>(pages), bytes, threads);
  return pages;
}
/// Frees the result of `take_pages`.
inline void give_pages_back(void* pages) noexcept { ::operator delete(pages, std::align_val_t{page_bytes}); }

}  // namespace cairn::detail
