// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file same_capacity.hpp  Compares the capacity of two states: whether one has exactly the memory that a fresh copy
/// of the other would take.
#include <cstddef>
#include <type_traits>
#include <utility>
#include <cairn/core/bytes_of.hpp>
#include <cairn/core/detail/aggregate.hpp>
#include <cairn/core/detail/traits.hpp>

namespace cairn::detail {

template <bool Itself, class T>
[[nodiscard]] constexpr bool capacity_agrees(T const& from, T const& into);

template <bool Itself, class T>
[[nodiscard]] constexpr bool elements_have_same_capacity(T const& from, T const& into) {
  if (std::size_t(from.size()) != std::size_t(into.size())) return false;
  for (std::size_t k = 0; k < std::size_t(from.size()); ++k)
    if (!capacity_agrees<Itself>(from.data()[k], into.data()[k])) return false;
  return true;
}
/// Whether `into` has room for exactly as many elements as `from` has, and the same elements. A string may have room
/// for up to 31 more characters, because some standard libraries give strings a little more.
template <bool Itself, class T>
[[nodiscard]] constexpr bool range_has_same_capacity(T const& from, T const& into) {
  using element = typename T::value_type;
  bool const inside = elements_within(from);
  if (inside != elements_within(into)) return false;
  constexpr std::size_t rounded = requires { from.c_str(); } ? 32 : 1;
  if (!inside && capacity_of(into) - std::size_t(from.size()) >= rounded) return false;
  if constexpr (is_flat<element>()) return true;
  else return elements_have_same_capacity<Itself>(from, into);
}

/// See `same_capacity`.   \tparam Itself  both arguments are the same object
template <bool Itself, class T>
[[nodiscard]] constexpr bool capacity_agrees(T const& from, T const& into) {
  if constexpr (is_flat<T>()) return true;
  else if constexpr (traited_bytes<T> || member_bytes<T>) return Itself || heap_of(from) == heap_of(into);
  else if constexpr (ring_like<T>) return capacity_agrees<Itself>(ring_places<T>::of(from), ring_places<T>::of(into));
  else if constexpr (is_bit_vector<T>) return capacity_of(into) - from.size() < 8 * sizeof(unsigned long);
  else if constexpr (device_range<T>) return capacity_of(into) == std::size_t(from.size());
  else if constexpr (std::is_array_v<T>) {
    for (std::size_t k = 0; k < std::extent_v<T>; ++k)
      if (!capacity_agrees<Itself>(from[k], into[k])) return false;
    return true;
  }
  else if constexpr (has_members<T> && !element_holder<T>) {
    return with_members<parts<T>()>(from, [&](auto&... source) {
      return with_members<parts<T>()>(
          into, [&](auto&... target) { return (capacity_agrees<Itself>(source, target) && ...); });
    });
  }
  else if constexpr (contiguous<T>) return range_has_same_capacity<Itself>(from, into);
  else if constexpr (optional_like<T>)
    return !into.has_value() || !from.has_value() || capacity_agrees<Itself>(*from, *into);
  else return true;
}

/// Whether assigning `from` to `into` allocates nothing and then leaves `into` with no more memory than a fresh copy of
/// `from`: each container in it has room for exactly as many elements. Parts that report their bytes themselves are
/// compared by these; parts of which nothing is known are left to their own assignment.
template <class T>
[[nodiscard]] constexpr bool same_capacity(T const& from, T const& into) { return capacity_agrees<false>(from, into); }
/// No container in `x` has spare capacity, as far as can be seen.
template <class T>
[[nodiscard]] constexpr bool has_exact_capacity(T const& x) { return capacity_agrees<true>(x, x); }

template <class T, class... Seen> [[nodiscard]] consteval bool says_bytes();
template <class... T, class... Seen>
[[nodiscard]] consteval bool any_says_bytes(types<T...>, types<Seen...>) {
  return (says_bytes<std::remove_cvref_t<T>, Seen...>() || ...);
}
/// Whether `T` or a part of it reports its bytes itself, so that its containers are not visible.
template <class T, class... Seen>
[[nodiscard]] consteval bool says_bytes() {
  using seen = types<Seen..., T>;
  if constexpr (is_one_of<T, Seen...>) return false;
  else if constexpr (traited_bytes<T> || member_bytes<T>) return true;
  else if constexpr (std::is_array_v<T>) return says_bytes<std::remove_cv_t<std::remove_all_extents_t<T>>, Seen...>();
  else if constexpr (has_members<T> && !element_holder<T>) return any_says_bytes(member_types<T>{}, seen{});
  else if constexpr (ring_like<T> || contiguous<T> || optional_like<T>)
    return any_says_bytes(types<typename T::value_type>{}, seen{});
  else return false;
}

}  // namespace cairn::detail
