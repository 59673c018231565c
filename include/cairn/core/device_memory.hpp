// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file device_memory.hpp  Addresses that host code must not dereference.
#include <cstddef>
#include <type_traits>
#include <cairn/language.hpp>

namespace cairn {

/// An address in device memory. A type of its own, so that host code cannot mistake it for an address it may read.
/// `visit_buffers` passes it to visitors; a class that owns device memory returns it from `data()`.
template <class T>
struct device_pointer {
  using element_type = T;  ///< void, or the type of the elements

  T* address = nullptr;  ///< for kernels and for the copy functions of a device's runtime

  [[nodiscard]] constexpr T* get() const noexcept { return address; }  ///< the name that other fancy pointers use
  /// Converts as T* converts to T const*.
  template <class U>
    requires(std::is_same_v<U, T const> && !std::is_const_v<T>)
  constexpr operator device_pointer<U>() const noexcept {
    return {address};
  }
};

/// A non-owning view of `count` elements in device memory; not a state. A class that owns device memory through raw
/// pointers passes it to `visit_buffers` in its own member `visit_buffers`.
template <class T>
struct device_view {
  using value_type = std::remove_const_t<T>;  ///< element type

  T* pointer = nullptr;  ///< the first element
  std::size_t count = 0;  ///< number of elements

  [[nodiscard]] constexpr device_pointer<T> data() const noexcept { return {pointer}; }  ///< the first element
  [[nodiscard]] constexpr std::size_t size() const noexcept { return count; }  ///< number of elements
};
/// Deduces the element type from the pointer.
template <class T>
device_view(T*, std::size_t) -> device_view<T>;

}  // namespace cairn
