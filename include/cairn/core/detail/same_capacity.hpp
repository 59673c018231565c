// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file same_capacity.hpp  Compares the capacity of two states: whether one has exactly the memory that a fresh copy
/// of the other would take.
#include <cstddef>
#include <type_traits>
#include <cairn/core/bytes_of.hpp>
#include <cairn/core/detail/made_of.hpp>
#include <cairn/core/detail/traits.hpp>

namespace cairn::detail {

/// Whether `into` has room for exactly as many elements as `from` has. A string may have room for up to 31 more
/// characters, because some standard libraries give strings a little more.
template <class T>
[[nodiscard]] constexpr bool has_same_room(T const& from, T const& into) {
  if constexpr (!contiguous<T>) return true;  // elements have memory each
  else {
    bool const inside = elements_within(from);
    if (inside != elements_within(into)) return false;
    constexpr std::size_t rounded = requires { from.c_str(); } ? 32 : 1;
    return inside || capacity_of(into) - length_of(from) < rounded;
  }
}

/// See `same_capacity`.   \tparam Itself  both arguments are the same object
template <bool Itself, class T>
[[nodiscard]] constexpr bool capacity_agrees(T const& from, T const& into) {
  auto const agrees = [](auto const& source, auto const& target) { return capacity_agrees<Itself>(source, target); };
  if constexpr (is_flat<T>()) return true;
  else if constexpr (traited_bytes<T> || member_bytes<T>) return Itself || heap_of(from) == heap_of(into);
  else if constexpr (ring_like<T>) return agrees(ring_places<T>::of(from), ring_places<T>::of(into));
  else if constexpr (kind<T> == made_of::bits) return capacity_of(into) - from.size() < 8 * sizeof(unsigned long);
  else if constexpr (kind<T> == made_of::device) return capacity_of(into) == std::size_t(from.size());
  else if constexpr (kind<T> == made_of::optional)
    return !into.has_value() || !from.has_value() || agrees(*from, *into);
  else if constexpr (kind<T> == made_of::variant) {
    bool same = true;
    if (from.index() != into.index()) return same;
    with_held(from, [&](auto const& source) {
      with_held(into, [&](auto const& target) {
        if constexpr (std::is_same_v<decltype(source), decltype(target)>) same = agrees(source, target);
      }, part_types<T>{});
    }, part_types<T>{});
    return same;
  }
  else if constexpr (kind<T> == made_of::elements) {
    if (!has_same_room(from, into)) return false;
    if constexpr (is_flat<element_of<T>>()) return true;
    else return length_of(from) == length_of(into) && for_each_pair(from, into, agrees);
  }
  else if constexpr (kind<T> == made_of::nodes) return true;  // `=` makes each element anew
  else if constexpr (kind<T> == made_of::unknown || kind<T> == made_of::view || kind<T> == made_of::path) return true;
  else return for_each_pair(from, into, agrees);
}

/// Whether assigning `from` to `into` allocates nothing and then leaves `into` with no more memory than a fresh copy of
/// `from`: each container in it has room for exactly as many elements. Parts that report their bytes themselves are
/// compared by these; parts of which nothing is known are left to their own assignment.
template <class T>
[[nodiscard]] constexpr bool same_capacity(T const& from, T const& into) { return capacity_agrees<false>(from, into); }
/// No container in `x` has spare capacity, as far as can be seen.
template <class T>
[[nodiscard]] constexpr bool has_exact_capacity(T const& x) { return capacity_agrees<true>(x, x); }

struct shows_containers {
  template <class Part>
  static consteval ruling of() {
    using T = std::remove_const_t<Part>;
    return traited_bytes<T> || member_bytes<T> ? ruling::no : ruling::by_parts;
  }
};
/// Whether `T` or a part of it reports its bytes itself, so that its containers are not visible.
template <class T>
consteval bool says_bytes() { return !every_part<shows_containers, T>(); }

}  // namespace cairn::detail
