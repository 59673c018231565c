// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file written.hpp  Which types can be written as bytes that hold their shape, and be read from them.
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>
#include <cairn/core/buffers.hpp>
#include <cairn/core/detail/copy_fault.hpp>
#include <cairn/core/detail/only_elements.hpp>
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

/// A container of nodes, which can be taken out and put into another one: maps and sets.
template <class T>
concept node_container = range_like<T> && requires(T& x) {
  typename T::node_type;
  typename T::key_type;
  x.extract(x.begin());
}
&&(requires(T const& x) { T(x.key_comp(), x.get_allocator()); } ||
   requires(T const& x) { T(0, x.hash_function(), x.key_eq(), x.get_allocator()); });
template <class T>
concept map_like = node_container<T> && requires { typename T::mapped_type; };

/// An object that refers to data of another owner; its parts are not looked at.
template <class T>
[[nodiscard]] consteval bool refers_elsewhere() {
  if constexpr (requires(T const& x) { x.unsafeGetTensorImpl(); }) return true;
  else if constexpr (expression<T> || made_of_expression<T> || is_handle_of_list<T> || refers<T>) return true;
  else return !requires { typename T::PlainObject; } && is_handle<T>();
}
/// Its elements are all of it: no class that derives from a container and adds members, and no class with elements and
/// members of which nothing is known.
template <class T>
[[nodiscard]] consteval bool is_its_elements() {
  if constexpr (ring_like<T>) return true;
  else if constexpr (contiguous<T>) return only_elements<T>();
  else if constexpr (!requires { typename T::allocator_type; }) return false;
  else if constexpr (requires { declaring(&T::size); }) return told_by_size<T>;
  else return requires { requires adds_nothing<T, decltype(declaring(&T::max_size))>; };
}
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
  else if constexpr (!std::is_class_v<T>) return sizeof(T);
  else if constexpr (complex_like<T>) return 2 * least_bytes<typename T::value_type>();
  else if constexpr (contiguous<T> && tuple_like<T>)
    return std::tuple_size<T>::value * least_bytes<typename T::value_type>();
  else if constexpr (range_like<T> || optional_like<T> || variant_like<T>) return sizeof(std::uint64_t);  // its length
  else if constexpr (has_members<T>) return least_bytes_of(member_types<T>{});
  else return sizeof(T);
}

template <class T, class... Seen> [[nodiscard]] consteval bool can_write();
template <class... T, class... Seen>
[[nodiscard]] consteval bool can_write_all(types<T...>, types<Seen...>) { return (can_write<T, Seen...>() && ...); }
template <class T, class... Seen>
[[nodiscard]] consteval bool can_write_element() {
  if constexpr (!made_again<T> || !can_write<T, Seen...>()) return false;
  else return least_bytes<T>() > 0;  // else any length fits any number of bytes
}
/// Whether `write_state` and `read_state` know all of a value; `Seen...` are the types that `T` is a part of.
template <class T, class... Seen>
[[nodiscard]] consteval bool can_write() {
  using seen = types<Seen..., T>;
  if constexpr (is_one_of<T, Seen...> || writes_itself<T>) return true;
  else if constexpr (std::is_const_v<T> || traited_write<T> || traited_read<T> || member_write<T> || member_read<T> ||
                     says_on_device<T> || device_range<T> || shows_only<T>)
    return false;  // one of a pair is none
  else if constexpr (shows_itself<T> || number<T>) return true;
  else if constexpr (std::is_array_v<T>) return can_write<std::remove_all_extents_t<T>, Seen...>();
  else if constexpr (!std::is_class_v<T> || refers_elsewhere<T>()) return false;
  else if constexpr (is_bit_vector<T>) return told_by_size<T>;
  else if constexpr (complex_like<T>) return can_write<typename T::value_type>();
  else if constexpr (variant_like<T>) return can_write_all(typename alternatives<T>::type{}, seen{});
  else if constexpr (path_like<T>) return true;
  else if constexpr (optional_like<T>) return told_by_has_value<T> && can_write<typename T::value_type, Seen..., T>();
  else if constexpr (map_like<T>)
    return is_its_elements<T>() && can_write_element<typename T::key_type, Seen..., T>() &&
           made_again<typename T::mapped_type> && can_write<typename T::mapped_type, Seen..., T>();
  else if constexpr (node_container<T>)
    return is_its_elements<T>() && can_write_element<typename T::key_type, Seen..., T>();
  else if constexpr (contiguous<T> && tuple_like<T>) return can_write<typename T::value_type, Seen..., T>();
  else if constexpr (whole_range<T> || plain_range<T>)
    return (contiguous<T> || plain_range<T>)&&is_its_elements<T>() &&
           can_write_element<typename T::value_type, Seen..., T>();
  else if constexpr (has_members<T>) return can_write_all(member_types<T>{}, seen{});
  else
    return std::is_trivially_copyable_v<T> && std::has_unique_object_representations_v<T> && !tuple_like<T> &&
           !plain_aggregate<T>();
}

}  // namespace cairn::detail
