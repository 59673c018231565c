#pragma once
/// \file device_memory.hpp  Addresses that host code must not read through.
#include <cstddef>
#include <type_traits>

namespace cairn {

/// An address in device memory: a type of its own, so that nothing on the host takes it for one that it can read.
/// What `visit_buffers` hands out, and what a class that owns device memory returns from `data()`.
template <class T>
struct device_pointer {
  using element_type = T;  ///< void, or what lies there

  T* address = nullptr;  ///< for kernels and for the copies of a device's runtime

  [[nodiscard]] constexpr T* get() const noexcept { return address; }  ///< as other fancy pointers give it
  /// As T* converts to T const*.
  template <class U>
    requires(std::is_same_v<U, T const> && !std::is_const_v<T>)
  constexpr operator device_pointer<U>() const noexcept {
    return {address};
  }
};

/// `count` elements in device memory that somebody else owns, so that it is no state itself: what a class that owns
/// device memory by raw pointers hands to `visit_buffers` in its own member of that name.
template <class T>
struct device_view {
  using value_type = std::remove_const_t<T>;  ///< of its elements

  T* pointer = nullptr;  ///< of the first one
  std::size_t count = 0;  ///< how many there are

  [[nodiscard]] constexpr device_pointer<T> data() const noexcept { return {pointer}; }  ///< where they lie
  [[nodiscard]] constexpr std::size_t size() const noexcept { return count; }  ///< how many there are
};
/// Of what the pointer leads to.
template <class T>
device_view(T*, std::size_t) -> device_view<T>;

}  // namespace cairn
