#pragma once
/// \file traits.hpp  What a type may say about itself as a state: in `state_traits`, or in members of its own.
#include <concepts>
#include <cstddef>
#include <type_traits>
#include <utility>
#include <cairn/core/detail/aggregate.hpp>
#include <cairn/core/device_memory.hpp>

namespace cairn {

/// Specialise for types you do not own. Members, all static, each optional, and each ahead of the type's own:
/// - `copy(from, into)`: into becomes a deep copy of from; needs a default constructor, since a new state is made by it
///   and then copied into.
///   Asked for every copy that cairn makes of such a value, of a seed and of a parameter by value, too
/// - `save(state) -> snapshot` with `restore(state, snapshot)`: for objects that cannot be copied
/// - `save(state, snapshot)` beside these: saves into an old snapshot, all of which it writes, so that a warm sweep
///   takes no memory
/// - `bytes(state) -> std::size_t`: sizeof and everything on the heap, spare capacity included
/// - `visit_buffers(state, f)`: f(void*, std::size_t) for each run of plain bytes, void const* for a const state; see
///   `visit_buffers`
/// - `in_device_memory = true`: runs of it lie in device memory; f(device_pointer<void>, std::size_t) takes these, void
///   const for a const state
/// - `visit_numbers(state, f)`: f(T*, std::size_t) for each run of floating-point numbers; see `visit_numbers`
/// Structs with bit-fields, packed members or unions cannot be taken apart: they need `copy`, `bytes` and
/// `visit_buffers` from here. A type you own has `save()`, `save(snapshot)`, `restore(snapshot)`, `bytes()`,
/// `visit_buffers(f)`, `in_device_memory` and `visit_numbers(f)` as members instead, and copies by `=`.
template <class T>
struct state_traits {};

namespace detail {

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

/// Takes what `visit_buffers` hands out.
struct any_visitor {
  void operator()(void const*, std::size_t) const;
  void operator()(device_pointer<void const>, std::size_t) const;
};
template <class T>
concept traited_buffers = requires(T& x, any_visitor& f) { state_traits<std::remove_const_t<T>>::visit_buffers(x, f); };
template <class T>
concept member_buffers = requires(T& x, any_visitor& f) { x.visit_buffers(f); };
/// What they hand out is not all in host memory.
template <class T>
concept says_on_device = requires {
  requires bool(state_traits<T>::in_device_memory);
}
|| requires { requires bool(T::in_device_memory); };

/// Where the elements of a `ring` lie: `of(x)` is their array. Specialised in ring.hpp.
template <class T> struct ring_places {};
template <class T>
concept ring_like = requires(T const& x) { ring_places<T>::of(x); };

template <class T, class... All> inline constexpr bool is_one_of = (std::is_same_v<T, All> || ...);

/// The alternatives of a std::variant, whose header stays out of here.
template <class T> struct alternatives { using type = void; };
template <template <class...> class V, class... T>
  requires requires(V<T...> const& x) { x.valueless_by_exception(); x.index(); }
struct alternatives<V<T...>> { using type = types<T...>; };
template <class T>
concept variant_like = !std::is_void_v<typename alternatives<T>::type>;
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
/// A range whose elements lie one after the other.
template <class T>
concept contiguous = range_like<T> && requires(T& x) {
  { x.data() } -> std::convertible_to<typename T::value_type const*>;
  { x.size() } -> std::convertible_to<std::size_t>;
};
/// A range that lies in one piece in memory that only a device is sure to reach: it says so, or its `data()` is an
/// object with `get()` that does not convert to a pointer, as that of thrust::device_vector and
/// thrust::universal_vector.
template <class T>
concept device_range = (contiguous<T> && says_on_device<T>) || requires(T& x) {
  typename T::value_type;
  requires std::is_trivially_copyable_v<typename T::value_type>;
  { x.data().get() } -> std::convertible_to<typename T::value_type const*>;
  requires !std::is_convertible_v<decltype(x.data()), typename T::value_type const*>;
  { x.size() } -> std::convertible_to<std::size_t>;
};

}  // namespace detail
}  // namespace cairn
