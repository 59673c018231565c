// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file written.hpp  Which types can be written as bytes that hold their shape, and be read from them.
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <cairn/core/buffers.hpp>
#include <cairn/core/detail/handle.hpp>
#include <cairn/core/detail/made_of.hpp>
#include <cairn/core/detail/traits.hpp>
#include <cairn/core/traits.hpp>

namespace cairn::detail {

template <class T>
concept traited_write = requires(T const& x, any_visitor& sink) { state_traits<T>::write(x, sink); };
template <class T>
concept traited_read = requires(T& x, any_source& source) { state_traits<T>::read(x, source); };
template <class T>
concept member_write = requires(T const& x, any_visitor& sink) { x.write_state(sink); };
template <class T>
concept member_read = requires(T& x, any_source& source) { x.read_state(source); };
template <class Function> inline constexpr bool is_const_member = false;
template <class Result, class Class, class Visitor, bool Throws>
inline constexpr bool is_const_member<Result (Class::*)(Visitor) const noexcept(Throws)> = true;
/// Its only `visit_buffers` is const: what it shows cannot be written back.
template <class T>
concept shows_only = member_buffers<T> && !traited_buffers<T> && requires {
  requires is_const_member<decltype(&T::template visit_buffers<any_visitor>)>;
};

/// Another container of nodes with its order or hash can be made, to take nodes over.
template <class T>
concept made_alike = requires(T const& x) { T(x.key_comp(), x.get_allocator()); } ||
                     requires(T const& x) { T(0, x.hash_function(), x.key_eq(), x.get_allocator()); };
/// Its length can be set, or never changes.
template <class T>
concept takes_length = declared_flat<T> || tuple_like<T> || ring_like<T> || filled_by_elements<T> || valarray_like<T> ||
                       (requires(T& x) {
                         x.clear();
                         x.resize(std::size_t{});
                       } && !requires(T& x) { x.set_capacity(x.capacity()); });  // which decides what it forgets
/// A new one can be made, if only as a copy of another.
template <class T>
concept made_again = std::is_default_constructible_v<T> || std::is_copy_constructible_v<T>;

/// The least bytes that `write_state` gives for a `T`, so that a length can be checked before it is believed.
template <class T> [[nodiscard]] consteval std::size_t least_bytes();
template <class... T>
[[nodiscard]] consteval std::size_t least_bytes_of(types<T...>) { return (std::size_t{0} + ... + least_bytes<T>()); }
template <class T>
[[nodiscard]] consteval std::size_t least_bytes() {
  if constexpr (writes_itself<T> || shows_itself<T>) return 1;
  else if constexpr (number<T>) return value_bytes<T>();
  else if constexpr (std::is_array_v<T>) return std::extent_v<T> * least_bytes<std::remove_extent_t<T>>();
  else if constexpr (kind<T> == made_of::complex) return 2 * least_bytes<typename T::value_type>();
  else if constexpr (kind<T> == made_of::elements && contiguous<T> && tuple_like<T>)
    return std::tuple_size<T>::value * least_bytes<typename T::value_type>();
  else if constexpr (kind<T> == made_of::members || kind<T> == made_of::adaptor) return least_bytes_of(part_types<T>{});
  else return kind<T> == made_of::unknown ? sizeof(T) : sizeof(std::uint64_t);  // its length
}

/// An element of which there may be any number can be made, and takes a byte or more: else any length fits any number
/// of bytes.
template <class T>
[[nodiscard]] consteval bool can_be_added() {
  if constexpr (made_again<T>) return least_bytes<T>() > 0;
  else return false;
}
/// An object that refers to data of another owner; its parts are not looked at.
template <class T>
consteval bool refers_elsewhere() {
  if constexpr (requires(T const& x) { x.unsafeGetTensorImpl(); }) return true;
  else if constexpr (expression<T> || made_of_expression<T> || is_handle_of_list<T> || refers<T>) return true;
  else return !requires { typename T::PlainObject; } && is_handle<T>();
}
struct can_be_written {
  template <class T>
  static consteval ruling of() {
    auto const if_so = [](bool met) { return met ? ruling::by_parts : ruling::no; };
    if constexpr (writes_itself<T>) return ruling::yes;
    else if constexpr (std::is_const_v<T> || traited_write<T> || traited_read<T> || member_write<T> ||
                       member_read<T> || says_on_device<T> || shows_only<T>)
      return ruling::no;  // one of a pair is none
    else if constexpr (shows_itself<T>) return ruling::yes;
    else if constexpr ((refers_elsewhere<T>() && !declared_flat<T>) || kind<T> == made_of::device ||
                       kind<T> == made_of::view)
      return ruling::no;
    else if constexpr (kind<T> == made_of::nodes) {
      if constexpr (map_like<T>)
        if (!made_again<typename T::mapped_type>) return ruling::no;
      return if_so(made_alike<T> && can_be_added<typename T::key_type>());
    } else if constexpr (kind<T> == made_of::elements)
      return if_so(takes_length<T> && (tuple_like<T> || can_be_added<element_of<T>>()));
    else if constexpr (kind<T> == made_of::unknown) return yes_if(bytes_without_padding<T>);
    else return ruling::by_parts;
  }
};
/// Whether `write_state` and `read_state` know all of a value.
template <class T>
[[nodiscard]] consteval bool can_write() { return every_part<can_be_written, T>(); }

}  // namespace cairn::detail
