// SPDX-License-Identifier: Apache-2.0
// States written to memory and read from it.
#pragma once
#include <cstddef>
#include <cstring>
#include <string>
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

}  // namespace memory_bytes
