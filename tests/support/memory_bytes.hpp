// SPDX-License-Identifier: Apache-2.0
// States written to memory and read from it.
#pragma once
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <cairn/core/buffers.hpp>
#include <cairn/core/detail/state_hash.hpp>
#include <cairn/core/state_bytes.hpp>

namespace memory_bytes {

/// What write_state gives.
template <class T>
std::string written(T const& x) {
  std::string bytes;
  cairn::write_state(
      x, [&bytes](void const* run, std::size_t size) { bytes.append(static_cast<char const*>(run), size); });
  return bytes;
}
struct source {
  char const* at;
  std::size_t size;
  explicit source(std::string const& bytes) : at{bytes.data()}, size{bytes.size()} {}
  void operator()(void* into, std::size_t count) {
    std::memcpy(into, at, count);
    at += count;
    size -= count;
  }
  [[nodiscard]] std::size_t left() const { return size; }
};
/// Reads x; returns how many bytes are left.
template <class T>
std::size_t read(T& x, std::string const& bytes) {
  source from{bytes};
  cairn::read_state(x, from);
  return from.size;
}
/// Whether visit_buffers shows the very bytes that write_state writes, in the same order, beside words of structure: a
/// bit changed through one of its runs is that bit changed in what is written, and another hash.
template <class T>
bool shows_what_is_written(T const& x) {
  std::string const bytes = written(x);
  T y = x;
  std::size_t shown = 0, from = 0;
  cairn::visit_buffers(x, [&](void const*, std::size_t size) { shown += size; });
  if (bytes.size() < shown || (bytes.size() - shown) % sizeof(std::uint64_t) != 0) return false;
  auto const flip = [&y](std::size_t k) {
    std::size_t begin = 0;
    cairn::visit_buffers(y, [&](void* run, std::size_t size) {
      if (k >= begin && k - begin < size) static_cast<unsigned char*>(run)[k - begin] ^= 1;  // a bool stays one
      begin += size;
    });
  };
  for (std::size_t k = 0; k < shown; k += 1 + shown / 200) {
    flip(k);
    std::string changed = written(y);
    if (changed.size() != bytes.size() || cairn::detail::hash_of(y) == cairn::detail::hash_of(x)) return false;
    while (from < bytes.size() && changed[from] == bytes[from]) ++from;
    if (from == bytes.size()) return false;
    changed[from] = char(changed[from] ^ 1);
    if (changed != bytes) return false;
    ++from;
    flip(k);
  }
  return written(y) == bytes;
}

}  // namespace memory_bytes
