// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file traits.hpp  What a type declares about itself as a state, and what kind of type it is.
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>
#include <cairn/core/detail/aggregate.hpp>
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

template <class T, class... All> inline constexpr bool is_one_of = (std::is_same_v<T, All> || ...);

/// The alternatives of a std::variant; recognised without including `<variant>`.
template <class T> struct alternatives { using type = void; };
template <template <class...> class Value, class... T>
  requires requires(Value<T...> const& x) { x.valueless_by_exception(); x.index(); }
struct alternatives<Value<T...>> { using type = types<T...>; };
template <class T>
concept variant_like = !std::is_void_v<typename alternatives<T>::type>;
/// A distribution of `<random>`.
template <class T>
concept distribution_like = requires(T& x) {
  typename T::result_type;
  typename T::param_type;
  x.param();
  x.reset();
};
template <class T>
concept optional_like = requires(T& x) { x.has_value(); x.reset(); *x; typename T::value_type; };
/// A container or another range with members of one type.
template <class T>
concept range_like = requires(T& x) {
  x.begin();
  x.end();
  typename T::value_type;
}
|| requires(T& x) {
  x.data();
  x.size();
  typename T::value_type;
};
/// A range with contiguous elements.
template <class T>
concept contiguous = range_like<T> && requires(T& x) {
  { x.data() } -> std::convertible_to<typename T::value_type const*>;
  { x.size() } -> std::convertible_to<std::size_t>;
};
/// A contiguous range in memory that only a device is sure to reach. It declares `in_device_memory`, or its `data()`
/// returns an object with `get()` that does not convert to a pointer, as in thrust::device_vector and
/// thrust::universal_vector.
template <class T>
concept device_range = (contiguous<T> && says_on_device<T>) || requires(T& x) {
  typename T::value_type;
  requires std::is_trivially_copyable_v<typename T::value_type>;
  { x.data().get() } -> std::convertible_to<typename T::value_type const*>;
  requires !std::is_convertible_v<decltype(x.data()), typename T::value_type const*>;
  { x.size() } -> std::convertible_to<std::size_t>;
};

}  // namespace cairn::detail
