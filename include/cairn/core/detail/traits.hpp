// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file traits.hpp  What a type declares about itself as a state.
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>
#include <cairn/core/device_memory.hpp>
#include <cairn/core/traits.hpp>

namespace cairn::detail {

template <class T>
concept traited_copy_itself = requires(T const& from, T& into) { state_traits<T>::copy(from, into); };
template <class T>
concept traited_save = requires(T& x) { state_traits<T>::restore(x, state_traits<T>::save(std::as_const(x))); };
template <class T>
concept member_save = requires(T& x) { x.restore(std::as_const(x).save()); };
template <class T>
concept traited_bytes = requires(T const& x) { { state_traits<T>::bytes(x) } -> std::convertible_to<std::size_t>; };
template <class T>
concept member_bytes = requires(T const& x) { { x.bytes() } -> std::convertible_to<std::size_t>; };

/// Accepts everything that `visit_buffers` passes.
struct any_visitor {
  void operator()(void const*, std::size_t) const;
  void operator()(device_pointer<void const>, std::size_t) const;
};
template <class T>
concept traited_buffers = requires(T& x, any_visitor& f) { state_traits<std::remove_const_t<T>>::visit_buffers(x, f); };
template <class T>
concept member_buffers = requires(T& x, any_visitor& f) { x.visit_buffers(f); };
/// Shows its runs of bytes itself, which says nothing about its shape.
template <class T>
concept shows_itself = traited_buffers<T> || member_buffers<T>;
/// Gives everything that `read_state` asks for.
struct any_source {
  void operator()(void*, std::size_t) const;
  std::uint64_t left() const;
};
template <class T>
concept traited_pair = requires(T& x, any_visitor& sink, any_source& source) {
  state_traits<T>::write(std::as_const(x), sink);
  state_traits<T>::read(x, source);
};
template <class T>
concept member_pair = requires(T& x, any_visitor& sink, any_source& source) {
  std::as_const(x).write_state(sink);
  x.read_state(source);
};
/// Writes and reads itself.
template <class T>
concept writes_itself = traited_pair<T> || member_pair<T>;
/// Declares that some of its runs lie in device memory.
template <class T>
concept says_on_device = requires {
  requires bool(state_traits<T>::in_device_memory);
}
|| requires { requires bool(T::in_device_memory); };

/// Finds the elements of a `ring`: `of(x)` is their array. Specialised in ring.hpp.
template <class T> struct ring_places {};
template <class T>
concept ring_like = requires(T const& x) { ring_places<T>::of(x); };

/// Declared by `flat`.
template <class T>
concept declared_flat = requires { requires std::is_same_v<typename state_traits<T>::declared_flat, T>; } &&
                        shows_elements<T>;

template <class T, class... All> inline constexpr bool is_one_of = (std::is_same_v<T, All> || ...);

}  // namespace cairn::detail
