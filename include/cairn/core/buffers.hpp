// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file buffers.hpp  A state as runs of plain bytes where they lie, for observers and devices; and the walk over states
/// that hashes and stores of bytes take, too.
#include <cfloat>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>
#include <cairn/core/bytes_of.hpp>
#include <cairn/core/detail/aggregate.hpp>
#include <cairn/core/detail/compiler.hpp>
#include <cairn/core/detail/traits.hpp>
#include <cairn/core/device_memory.hpp>

namespace cairn {
namespace detail {

/// Bytes of a number without padding: x86's extended long double has 10 value bytes in 12 or 16.
template <class T>
[[nodiscard]] consteval std::size_t value_bytes() {
  if constexpr (std::is_same_v<T, long double>) return LDBL_MANT_DIG == 64 ? 10 : sizeof(T);
  else return sizeof(T);
}
template <class T>
concept number = std::is_arithmetic_v<T> || std::is_enum_v<T>;
template <class T>
concept complex_like = !contiguous<T> && requires(T const& x) {
  typename T::value_type;
  x.real();
  x.imag();
}
&&sizeof(T) == 2 * sizeof(typename T::value_type);

template <class T> [[nodiscard]] consteval bool is_dense();
template <class... T>
[[nodiscard]] consteval bool are_dense(types<T...>, std::size_t size) {
  return (sizeof(T) + ... + 0) == size && (is_dense<std::remove_cv_t<T>>() && ...);
}
/// Plain bytes without padding, so that an array of them is one run.
template <class T>
[[nodiscard]] consteval bool is_dense() {
  if constexpr (!std::is_trivially_copyable_v<T> || shows_itself<T> || writes_itself<T>) return false;
  else if constexpr (number<T>) return value_bytes<T>() == sizeof(T);
  else if constexpr (std::is_array_v<T>) return is_dense<std::remove_cv_t<std::remove_all_extents_t<T>>>();
  else if constexpr (!std::is_class_v<T>) return false;
  else if constexpr (complex_like<T>) return is_dense<typename T::value_type>();
  else if constexpr (contiguous<T> && tuple_like<T>)  // std::array; an empty one has a byte of nothing
    return std::tuple_size<T>::value > 0 && is_dense<typename T::value_type>();
  else if constexpr (has_members<T> && !tuple_like<T>) return are_dense(member_types<T>{}, sizeof(T));
  else return false;
}
/// A range whose iterators refer to the elements themselves. Keys of maps and sets are excluded: they cannot be written
/// back.
template <class T>
concept plain_range = range_like<T> && requires(T& x) {
  { *x.begin() } -> std::same_as<typename T::value_type&>;
  x.end();
};

template <class T>
concept unordered_like = range_like<T> && requires(T const& x) { x.hash_function(); };
/// std::filesystem::path, a range of itself.
template <class T>
concept path_like = requires(T const& x) { x.native(); x.lexically_normal(); };
/// A range whose elements are all of it.
template <class T>
concept whole_range = contiguous<T> || requires(T const& x) {
  { *x.begin() } -> std::convertible_to<typename T::value_type const&>;
  x.end();
};

template <class T, class... Seen> [[nodiscard]] consteval bool can_visit();
template <class... T, class... Seen>
[[nodiscard]] consteval bool can_visit_all(types<T...>, types<Seen...>) { return (can_visit<T, Seen...>() && ...); }
/// Whether `visit_buffers` accepts `T`; `Seen...` are the types that `T` is a part of.
template <class T, class... Seen>
[[nodiscard]] consteval bool can_visit() {
  using seen = types<Seen..., T>;
  if constexpr (is_one_of<T, Seen...>) return true;
  else if constexpr (std::is_const_v<T>) return false;
  else if constexpr (shows_itself<T> || number<T> || is_bit_vector<T> || device_range<T>) return true;
  else if constexpr (std::is_array_v<T>) return can_visit<std::remove_all_extents_t<T>, Seen...>();
  else if constexpr (!std::is_class_v<T> || variant_like<T>) return false;
  else if constexpr (plain_range<T> || contiguous<T> || optional_like<T> || complex_like<T>)
    return can_visit_all(types<typename T::value_type>{}, seen{});
  else if constexpr (has_members<T>) return can_visit_all(member_types<T>{}, seen{});
  else return std::is_trivially_copyable_v<T> && !tuple_like<T> && !plain_aggregate<T>() && !says_on_device<T>;
}

template <class T, class... Seen> [[nodiscard]] consteval bool on_device();
template <class... T, class... Seen>
[[nodiscard]] consteval bool any_on_device(types<T...>, types<Seen...>) {
  return (on_device<std::remove_const_t<T>, Seen...>() || ...);
}
/// Whether `T` or a part of it lies in device memory. Recurses over types, because nvcc answers false to a trial call
/// of `visit_buffers` in a requires-expression.
template <class T, class... Seen>
[[nodiscard]] consteval bool on_device() {
  using seen = types<Seen..., T>;
  if constexpr (is_one_of<T, Seen...>) return false;
  else if constexpr (says_on_device<T>) return true;
  else if constexpr (shows_itself<T>) return false;
  else if constexpr (device_range<T>) return true;
  else if constexpr (std::is_array_v<T>) return on_device<std::remove_cv_t<std::remove_all_extents_t<T>>, Seen...>();
  else if constexpr (!std::is_class_v<T> || complex_like<T>) return false;
  else if constexpr (variant_like<T>) return any_on_device(typename alternatives<T>::type{}, seen{});
  else if constexpr (range_like<T> || optional_like<T>) return any_on_device(types<typename T::value_type>{}, seen{});
  else if constexpr (has_members<T>) return any_on_device(member_types<T>{}, seen{});
  else return false;
}

/// Calls `f(p, bytes)` for one run; p is void const* if the state is const.
template <class T, class Fn>
constexpr void visit_run(T* run, std::size_t bytes, Fn& f) {
  if constexpr (std::is_const_v<T>) f(static_cast<void const*>(run), bytes);
  else f(static_cast<void*>(run), bytes);
}
/// The type that a visitor receives for a run in device memory.
template <class T>
using device_run = device_pointer<std::conditional_t<std::is_const_v<T>, void const, void>>;
template <class Fn, class Run>
concept takes_device_runs = requires(Fn& f, Run run, std::size_t bytes) { f(run, bytes); };
template <class State, class Fn>
constexpr void visit_device_range(State& x, Fn& f) {
  auto const visit = [&](auto* run) {
    f(device_run<std::remove_pointer_t<decltype(run)>>{run}, std::size_t(x.size()) * sizeof(*run));
  };
  if constexpr (requires { x.data().get(); }) visit(x.data().get());
  else visit(x.data());
}
/// vector<bool> has no addressable bytes: pack its bits, eight to a byte, call f, and unpack what f has written.
template <class T, class Fn>
constexpr void visit_bits(T& x, Fn& f) {
  constexpr std::size_t most = 512;
  for (std::size_t from = 0; from < x.size(); from += most) {
    std::size_t const count = x.size() - from < most ? x.size() - from : most;
    unsigned char packed[most / 8] = {};
    for (std::size_t k = 0; k < count; ++k)
      if (x[from + k]) packed[k / 8] = static_cast<unsigned char>(packed[k / 8] | (1u << k % 8));
    if constexpr (std::is_const_v<T>) visit_run(static_cast<unsigned char const*>(packed), (count + 7) / 8, f);
    else {
      visit_run(&packed[0], (count + 7) / 8, f);
      for (std::size_t k = 0; k < count; ++k) x[from + k] = (packed[k / 8] >> k % 8 & 1) != 0;
    }
  }
}

/// A visitor that tells values of different structure apart: it takes the length of each container, whether each
/// optional holds a value, and which alternative a variant holds, before their bytes.
template <class Fn>
concept takes_structure = requires(Fn& f, std::uint64_t count) { f.structure(count); };
template <class Fn>
constexpr void tell_structure([[maybe_unused]] Fn& f, [[maybe_unused]] std::size_t count) {
  if constexpr (takes_structure<Fn>) f.structure(std::uint64_t(count));
}

/// A visitor that needs bytes and not where they lie, and says for which types their own `write` comes before their
/// `visit_buffers`.
template <class Fn, class T>
concept takes_written = requires { requires Fn::template takes_written<T>; };

template <class T> inline constexpr bool dense_elements = false;
template <contiguous T> inline constexpr bool dense_elements<T> = is_dense<typename T::value_type>();

/// A type made of elements or members.
template <class T>
concept in_parts = std::is_array_v<T> || whole_range<T> || plain_range<T> || has_members<T>;
/// How many elements a range has; a list that does not know is walked.
template <class State>
[[nodiscard]] constexpr std::size_t length_of(State const& x) {
  if constexpr (requires { x.size(); }) return std::size_t(x.size());
  else {
    std::size_t count = 0;
    for (auto at = x.begin(); at != x.end(); ++at) ++count;
    return count;
  }
}
template <class State, class Fn>
constexpr void for_each_part(State& x, Fn f) {
  using T = std::remove_const_t<State>;
  if constexpr (contiguous<T>)
    for (std::size_t k = 0; k < std::size_t(x.size()); ++k) f(x.data()[k]);
  else if constexpr (std::is_array_v<T> || plain_range<T> || whole_range<T>)
    for (auto& element : x) f(element);
  else
    with_members<parts<T>()>(x, [&](auto&... member) { (f(member), ...); });
}

/// The one walk over a state: `visit_buffers`, hashes and `write_state` are visitors of it. What a type says of itself
/// comes first. A visitor with `whole(x)` takes what it does not want taken apart.
template <class State, class Fn>
constexpr void visit_parts(State& x, Fn& f) {
  using T = std::remove_const_t<State>;
  if constexpr (takes_written<Fn, T> && traited_pair<T>) state_traits<T>::write(x, f);
  else if constexpr (takes_written<Fn, T> && member_pair<T>) x.write_state(f);
  else if constexpr (requires { f.whole(x); }) f.whole(x);
  else if constexpr (traited_buffers<State>) state_traits<T>::visit_buffers(x, f);
  else if constexpr (member_buffers<State>) x.visit_buffers(f);
  else if constexpr (number<T>) visit_run(address_of(x), value_bytes<T>(), f);
  else if constexpr (device_range<T>) visit_device_range(x, f);
  else if constexpr (is_bit_vector<T>) {
    tell_structure(f, x.size());
    visit_bits(x, f);
  }
  else if constexpr (is_dense<T>()) visit_run(address_of(x), sizeof(T), f);
  else if constexpr (complex_like<T>) {
    using half = std::conditional_t<std::is_const_v<State>, typename T::value_type const, typename T::value_type>;
    for (std::size_t k = 0; k < 2; ++k) visit_parts(reinterpret_cast<half*>(&x)[k], f);  // std::complex is two halves
  }
  else if constexpr (dense_elements<T>) {
    tell_structure(f, std::size_t(x.size()));
    visit_run(x.data(), std::size_t(x.size()) * sizeof(typename T::value_type), f);
  }
  else if constexpr (optional_like<T>) {
    tell_structure(f, x.has_value());
    if (x.has_value()) visit_parts(*x, f);
    else visit_run(static_cast<std::conditional_t<std::is_const_v<State>, char const, char>*>(nullptr), 0, f);
  }
  else if constexpr (variant_like<T>) visit_held(x, f, typename alternatives<T>::type{});
  else if constexpr (path_like<T>) visit_parts(x.native(), f);
  else if constexpr (in_parts<T>) {
    if constexpr (takes_structure<Fn> && range_like<T> && !tuple_like<T>) tell_structure(f, length_of(x));
    for_each_part(x, [&](auto& part) { visit_parts(part, f); });
  }
  else visit_run(address_of(x), sizeof(T), f);
}
/// The number of a variant's alternative, and its value.
template <std::size_t At = 0, class State, class Fn, class... T>
constexpr void visit_held(State& x, Fn& f, types<T...> all) {
  if constexpr (At < sizeof...(T))
    if (x.index() != At) return visit_held<At + 1>(x, f, all);
  tell_structure(f, At);
  if constexpr (At < sizeof...(T)) visit_parts(*get_if<At>(&x), f);  // else it holds nothing after an exception
}

}  // namespace detail

/// A state that `visit_buffers` accepts, all of it in host memory.
template <class T>
concept buffered = detail::can_visit<std::remove_const_t<T>>() && !detail::on_device<std::remove_const_t<T>>();
/// A state that `visit_buffers` accepts, with parts in device memory.
template <class T>
concept device_buffered = detail::can_visit<std::remove_const_t<T>>() && detail::on_device<std::remove_const_t<T>>();

/// Calls f(void*, std::size_t) for each run of plain bytes of a state in host memory and f(device_pointer<void>,
/// std::size_t) for each run in device memory, in a fixed order. For a const state the pointers are to const void.
/// Writing the same bytes back into a state of the same shape makes the two equal. The shape - the sizes of containers
/// and which optionals hold a value - is not among the bytes and must agree beforehand; it decides the lengths of the
/// runs, 0 included.
/// If a part of the state lies in device memory, f must accept `device_pointer`. Padding of aggregates and of numbers
/// is never visited. Any other trivially copyable class is one run, padding included, and so is memory on a device.
template <class T, class Fn>
constexpr void visit_buffers(T& x, Fn&& f) {
  constexpr bool told = buffered<T> || device_buffered<T>;
  constexpr bool reachable =
      !device_buffered<T> || detail::takes_device_runs<std::remove_reference_t<Fn>, detail::device_run<T>>;
  static_assert(told,
                "cairn: cannot determine the bytes of this state; give it a member visit_buffers(f) or specialise "
                "cairn::state_traits with visit_buffers(state, f)");
  static_assert(reachable,
                "cairn: a part of this state lies in device memory, which host code cannot read; copy it to the host, "
                "or let the visitor take (cairn::device_pointer<void const>, std::size_t), too");
  if constexpr (told && reachable) detail::visit_parts(x, f);
}
/// The same for a temporary view: a class that owns device memory makes one in the call.
template <class T, class Fn>
constexpr void visit_buffers(device_view<T> const&& x, Fn&& f) { visit_buffers(x, f); }

namespace detail {
/// Passes a state's runs to an observer's sink; returns false if they are not known.
template <class T>
bool show_runs([[maybe_unused]] T const& x, [[maybe_unused]] void (*sink)(void*, void const*, std::size_t),
               [[maybe_unused]] void* context) {
  if constexpr (buffered<T>) visit_buffers(x, [&](void const* run, std::size_t bytes) { sink(context, run, bytes); });
  return buffered<T>;
}
}  // namespace detail

}  // namespace cairn
