// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file bytes_of.hpp  The bytes that a state holds, heap and device memory included.
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>
#include <cairn/core/detail/aggregate.hpp>
#include <cairn/core/detail/only_elements.hpp>
#include <cairn/core/detail/traits.hpp>
#include <cairn/core/device_memory.hpp>
#include <cairn/core/traits.hpp>

namespace cairn {
namespace detail {

/// vector<bool>, recognised by its members: including `<vector>` would double the cost of including cairn.
template <class T>
inline constexpr bool is_bit_vector = requires(T& x) {
  x.flip();
  x.capacity();
  requires std::is_same_v<typename T::value_type, bool>;
};

template <class T, class... Seen> [[nodiscard]] consteval bool can_size();
template <class... T, class... Seen>
[[nodiscard]] consteval bool can_size_all(types<T...>, types<Seen...>) {
  return (can_size<std::remove_cvref_t<T>, Seen...>() && ...);
}

/// Whether `bytes_of` knows the size of `T`; `Seen...` are the types that `T` is a part of.
template <class T, class... Seen>
[[nodiscard]] consteval bool can_size() {
  using seen = types<Seen..., T>;
  if constexpr (is_one_of<T, Seen...> || traited_bytes<T>) return true;
  else if constexpr (member_bytes<T>) return counts_itself<T>();
  else if constexpr (std::is_trivially_copyable_v<T>) return true;
  else if constexpr (is_bit_vector<T> || device_range<T>) return told_by_size<T>;
  else if constexpr (std::is_array_v<T>) return can_size<std::remove_cv_t<std::remove_all_extents_t<T>>, Seen...>();
  else if constexpr (ring_like<T> || element_holder<T> || (optional_like<T> && told_by_has_value<T>))
    return can_size_all(types<typename T::value_type>{}, seen{});
  else if constexpr (has_members<T>) return can_size_all(member_types<T>{}, seen{});
  else return false;
}

template <class T> [[nodiscard]] consteval bool is_flat();
template <class... T>
[[nodiscard]] consteval bool are_flat(types<T...>) { return (is_flat<std::remove_cvref_t<T>>() && ...); }
/// Plain bytes; no part declares memory outside them.
template <class T>
[[nodiscard]] consteval bool is_flat() {
  if constexpr (traited_bytes<T> || member_bytes<T> || !std::is_trivially_copyable_v<T>) return false;
  else if constexpr (std::is_array_v<T>) return is_flat<std::remove_cv_t<std::remove_all_extents_t<T>>>();
  else if constexpr (ring_like<T> || contiguous<T> || optional_like<T>)
    return is_flat<std::remove_cv_t<typename T::value_type>>();
  else if constexpr (has_members<T>) return are_flat(member_types<T>{});
  else return true;
}

/// Whether the elements of x lie within x, as those of std::array and the text of a short std::string do.
template <class T>
[[nodiscard]] constexpr bool elements_within(T const& x) noexcept {
  void const* const first = x.data();
  if constexpr (tuple_like<T>)
    if (std::is_constant_evaluated()) return true;  // g++ 14 asks so about an array that it does not know, too
  auto const begin = reinterpret_cast<std::uintptr_t>(&reinterpret_cast<unsigned char const&>(x)),
             at = reinterpret_cast<std::uintptr_t>(first);
  return begin <= at && at < begin + sizeof(T);
}

/// The capacity of a container in elements; its size if it does not report a capacity.
template <class T>
[[nodiscard]] constexpr std::size_t capacity_of(T const& x) {
  std::size_t const size = std::size_t(x.size());
  if constexpr (requires {
                  { x.capacity() } -> std::convertible_to<std::size_t>;
                })
    return std::size_t(x.capacity()) > size ? std::size_t(x.capacity()) : size;
  else return size;
}

/// Bytes beyond sizeof(T).
template <class T>
[[nodiscard]] constexpr std::size_t heap_of(T const& x) {
  auto const beyond = [](std::size_t all) { return all > sizeof(T) ? all - sizeof(T) : 0; };
  if constexpr (traited_bytes<T>) return beyond(std::size_t(state_traits<T>::bytes(x)));
  else if constexpr (member_bytes<T>) return beyond(std::size_t(x.bytes()));
  else if constexpr (is_flat<T>()) return 0;
  else if constexpr (ring_like<T>) return heap_of(ring_places<T>::of(x));
  else if constexpr (is_bit_vector<T>) {
    constexpr std::size_t bits = 8 * sizeof(unsigned long);
    return (capacity_of(x) + bits - 1) / bits * sizeof(unsigned long);
  }
  else if constexpr (device_range<T>) return capacity_of(x) * sizeof(typename T::value_type);
  else if constexpr (std::is_array_v<T>) {
    std::size_t sum = 0;
    for (auto const& element : x) sum += heap_of(element);
    return sum;
  }
  else if constexpr (element_holder<T>) {
    using element = typename T::value_type;
    std::size_t sum =
        elements_within(x) ? 0 : (capacity_of(x) + (requires { x.c_str(); } ? 1 : 0)) * sizeof(element);
    if constexpr (!is_flat<element>())
      for (std::size_t k = 0; k < std::size_t(x.size()); ++k) sum += heap_of(x.data()[k]);
    return sum;
  }
  else if constexpr (optional_like<T>) return x.has_value() ? heap_of(*x) : 0;
  else return with_members<parts<T>()>(x, [](auto&... member) { return (std::size_t{0} + ... + heap_of(member)); });
}

}  // namespace detail

/// A state whose size in bytes is known.
template <class T>
concept sized_state = detail::can_size<std::remove_cv_t<T>>();

/// Bytes that `x` holds: sizeof, and what its containers have allocated on the heap or in device memory. That includes
/// spare capacity, which a copy of x does not take.
/// Refused for classes that show elements but may hold more: those with `data()` and `size()` but no allocator, and
/// those that derive from a container and add members.
/// Cost: proportional to the number of containers in x, not to the number of their elements.
template <class T>
[[nodiscard]] constexpr std::size_t bytes_of(T const& x) {
  constexpr bool told = sized_state<T>;
  static_assert(told,
                "cairn: cannot determine how many bytes this state holds; give it a member bytes() or specialise "
                "cairn::state_traits with bytes(state)");
  if constexpr (told) return sizeof(T) + detail::heap_of(x);
  else return 0;
}

}  // namespace cairn
