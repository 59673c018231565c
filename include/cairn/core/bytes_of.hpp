// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file bytes_of.hpp  The bytes that a state holds, heap and device memory included.
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <cairn/core/detail/made_of.hpp>
#include <cairn/core/detail/traits.hpp>
#include <cairn/core/device_memory.hpp>
#include <cairn/core/traits.hpp>

namespace cairn {
namespace detail {

/// The base class has `T` as a template argument, so its `bytes()` can ask `T`.
template <class T, class Base> inline constexpr bool asks = false;
template <class T, template <class...> class Base, class... Arguments>
inline constexpr bool asks<T, types<Base<Arguments...>>> = is_one_of<T, Arguments...>;
/// `T` has a `bytes()` of its own, not one of a smaller base that does not know the members of `T`.
template <class T>
consteval bool counts_itself() {
  if constexpr (requires { declaring(&T::bytes); })
    return adds_nothing<T, decltype(declaring(&T::bytes))> || asks<T, decltype(declaring(&T::bytes))>;
  else return true;
}

/// Its name begins with std::. Where the elements have memory each, no other name says how much that is.
template <class T>
consteval bool named_std() {
  char const* at = __PRETTY_FUNCTION__;
  while (*at != '=') ++at;
  do ++at;
  while (*at == ' ');
  return at[0] == 's' && at[1] == 't' && at[2] == 'd' && at[3] == ':';
}
template <class Base>
consteval bool is_standard(types<Base>) { return named_std<Base>(); }
consteval bool is_standard(types<>) { return false; }
/// A container that is not one run, whose memory is that of its nodes or chunks.
template <class T>
concept scattered = kind<T> == made_of::nodes || (kind<T> == made_of::elements && !contiguous<T> && !declared_flat<T> &&
                                                  !ring_like<T>);

struct size_is_known {
  template <class Part>
  static consteval ruling of() {
    using T = std::remove_const_t<Part>;
    if constexpr (traited_bytes<T>) return ruling::yes;
    else if constexpr (member_bytes<T>) return yes_if(counts_itself<T>());
    else if constexpr (std::is_trivially_copyable_v<T>) return ruling::yes;
    else if constexpr (kind<T> == made_of::device) return yes_if(told_by_size<T>);
    else if constexpr (kind<T> == made_of::path) return ruling::no;  // it keeps a list of its names
    else if constexpr (scattered<T>) return is_standard(declares_size<T>()) ? ruling::by_parts : ruling::no;
    else return kind<T> == made_of::unknown || kind<T> == made_of::view ? ruling::no : ruling::by_parts;
  }
};
struct all_is_within {
  template <class Part>
  static consteval ruling of() {
    using T = std::remove_const_t<Part>;
    if constexpr (traited_bytes<T> || member_bytes<T> || !std::is_trivially_copyable_v<T>) return ruling::no;
    else return ruling::by_parts;
  }
};
/// Plain bytes; no part declares memory outside them.
template <class T>
consteval bool is_flat() { return every_part<all_is_within, T>(); }

/// Whether the elements of x lie within x, as those of std::array and the text of a short std::string do.
template <class T>
[[nodiscard]] constexpr bool elements_within(T const& x) noexcept {
  void const* const first = data_of(x);
  if constexpr (tuple_like<T>)
    if (std::is_constant_evaluated()) return true;  // g++ 14 asks so about an array that it does not know, too
  auto const begin = reinterpret_cast<std::uintptr_t>(&reinterpret_cast<unsigned char const&>(x)),
             at = reinterpret_cast<std::uintptr_t>(first);
  return begin <= at && at < begin + sizeof(T);
}

/// The capacity of a container in elements; its size if it does not report a capacity.
template <class T>
[[nodiscard]] constexpr std::size_t capacity_of(T const& x) {
  std::size_t const size = length_of(x);
  if constexpr (requires {
                  { x.capacity() } -> std::convertible_to<std::size_t>;
                })
    return std::size_t(x.capacity()) > size ? std::size_t(x.capacity()) : size;
  else return size;
}

/// A node of a container, as the standard libraries lay it out: `Words` pointers, and the value.
template <std::size_t Words, class T>
struct node_layout {
  void* links[Words];
  T value;
};
/// A hash that is not cheap is kept in its node. libstdc++ says it in the type of its iterators.
template <class Iterator> inline constexpr bool keeps_hash = true;
template <template <class, bool, bool> class Iterator, class T, bool Constant, bool Kept>
inline constexpr bool keeps_hash<Iterator<T, Constant, Kept>> = Kept;
/// The memory of a container of nodes or of chunks, without that of its elements.
template <class T>
[[nodiscard]] constexpr std::size_t memory_of_nodes(T const& x) {
  using element = typename T::value_type;
  if constexpr (unordered_like<T>) {
    constexpr std::size_t with_hash =
        (sizeof(node_layout<1, element>) + sizeof(std::size_t) + alignof(node_layout<1, element>) - 1) /
        alignof(node_layout<1, element>) * alignof(node_layout<1, element>);
    return x.size() * (keeps_hash<typename T::iterator> ? with_hash : sizeof(node_layout<1, element>)) +
           (x.bucket_count() > 1 ? x.bucket_count() * sizeof(void*) : 0);
  } else if constexpr (kind<T> == made_of::nodes) return x.size() * sizeof(node_layout<4, element>);
  else if constexpr (requires { x[std::size_t{}]; }) {  // a deque: chunks of 512 bytes, and a table of their addresses
    constexpr std::size_t each = sizeof(element) < 512 ? 512 / sizeof(element) : 1;
    std::size_t chunks = std::size_t(x.size()) / each + 1;
    if constexpr (requires { x.end()._M_node - x.begin()._M_node; })
      chunks = std::size_t(x.end()._M_node - x.begin()._M_node) + 1;
    return chunks * each * sizeof(element) + (chunks + 2 > 8 ? chunks + 2 : 8) * sizeof(void*);
  }
  else if constexpr (requires { x.rbegin(); }) return length_of(x) * sizeof(node_layout<2, element>);
  else return length_of(x) * sizeof(node_layout<1, element>);
}

/// Bytes beyond sizeof(T).
template <class T>
[[nodiscard]] constexpr std::size_t heap_of(T const& x) {
  [[maybe_unused]] std::size_t sum = 0;
  [[maybe_unused]] auto const beyond = [](std::size_t all) { return all > sizeof(T) ? all - sizeof(T) : 0; };
  [[maybe_unused]] auto const add = [&sum](auto const& part) { sum += heap_of(part); };
  if constexpr (traited_bytes<T>) return beyond(std::size_t(state_traits<T>::bytes(x)));
  else if constexpr (member_bytes<T>) return beyond(std::size_t(x.bytes()));
  else if constexpr (is_flat<T>()) return 0;
  else if constexpr (ring_like<T>) return heap_of(ring_places<T>::of(x));
  else if constexpr (kind<T> == made_of::bits) {
    constexpr std::size_t bits = 8 * sizeof(unsigned long);
    return (capacity_of(x) + bits - 1) / bits * sizeof(unsigned long);
  }
  else if constexpr (kind<T> == made_of::device) return capacity_of(x) * sizeof(typename T::value_type);
  else if constexpr (kind<T> == made_of::optional) return x.has_value() ? heap_of(*x) : 0;
  else if constexpr (kind<T> == made_of::variant) with_held(x, add, part_types<T>{});
  else {
    if constexpr (kind<T> == made_of::elements || kind<T> == made_of::nodes) {
      using element = element_of<T>;
      if constexpr (declared_flat<T> && !contiguous<T>) sum = length_of(x) * sizeof(element);
      else if constexpr (!contiguous<T>) sum = memory_of_nodes(x);
      else if (!elements_within(x)) sum = (capacity_of(x) + (requires { x.c_str(); } ? 1 : 0)) * sizeof(element);
      if constexpr (is_flat<element>()) return sum;
    }
    for_each_part(x, add);
  }
  return sum;
}

}  // namespace detail

/// A state whose size in bytes is known.
template <class T>
concept sized_state = detail::every_part<detail::size_is_known, std::remove_cv_t<T>>();

/// Bytes that `x` holds: sizeof, and what its containers have allocated on the heap or in device memory. That includes
/// spare capacity, which a copy of x does not take.
/// Refused for classes that show elements but may hold more: those with `data()` and `size()` but no allocator, and
/// those that derive from a container and add members.
/// Cost: proportional to the number of containers in x, not to the number of their elements.
template <class T>
[[nodiscard]] constexpr std::size_t bytes_of(T const& x) {
  constexpr bool known = sized_state<T>;
  static_assert(known,
                "cairn: cannot determine how many bytes this state holds; give it a member bytes() or specialise "
                "cairn::state_traits with bytes(state)");
  if constexpr (known) return sizeof(T) + detail::heap_of(x);
  else return 0;
}

}  // namespace cairn
