// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file buffers.hpp  A state as runs of plain bytes where they lie, for observers and devices; and the walk over states
/// that hashes and stores of bytes take, too.
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <cairn/core/bytes_of.hpp>
#include <cairn/core/detail/aggregate.hpp>
#include <cairn/core/detail/compiler.hpp>
#include <cairn/core/detail/made_of.hpp>
#include <cairn/core/detail/traits.hpp>
#include <cairn/core/device_memory.hpp>

namespace cairn {
namespace detail {

template <class T> consteval bool is_dense();
template <class... T>
consteval bool are_dense(types<T...>, std::size_t size) {
  return (sizeof(T) + ... + 0) == size && (is_dense<std::remove_cv_t<T>>() && ...);
}
/// Plain bytes without padding, so that an array of them is one run.
template <class T>
consteval bool is_dense() {
  if constexpr (!std::is_trivially_copyable_v<T> || shows_itself<T> || writes_itself<T>) return false;
  else if constexpr (number<T>) return value_bytes<T>() == sizeof(T);
  else if constexpr (std::is_array_v<T>) return is_dense<std::remove_cv_t<std::remove_all_extents_t<T>>>();
  else if constexpr (kind<T> == made_of::complex) return is_dense<typename T::value_type>();
  else if constexpr (kind<T> == made_of::elements) {  // an empty std::array has a byte of nothing
    if constexpr (tuple_like<T>) return std::tuple_size<T>::value > 0 && is_dense<typename T::value_type>();
    else return contiguous<T> && !ring_like<T> && filled_by_elements<T> && is_dense<element_of<T>>();
  }
  else if constexpr (kind<T> == made_of::members && !tuple_like<T>) return are_dense(member_types<T>{}, sizeof(T));
  else return false;
}

struct bytes_lie_in_runs {
  template <class Part>
  static consteval ruling of() {
    if constexpr (std::is_const_v<Part>) return ruling::no;
    else if constexpr (shows_itself<Part>) return ruling::yes;
    else if constexpr (kind<Part> == made_of::device) return ruling::yes;
    else if constexpr (kind<Part> == made_of::variant || kind<Part> == made_of::nodes || kind<Part> == made_of::path)
      return ruling::no;
    else if constexpr (kind<Part> == made_of::unknown)
      return yes_if(std::is_class_v<Part> && std::is_trivially_copyable_v<Part> && !tuple_like<Part> &&
                    !plain_aggregate<Part>() && !derived_aggregate<Part>() && !says_on_device<Part>);
    else return ruling::by_parts;
  }
};
struct lies_in_host_memory {
  template <class Part>
  static consteval ruling of() {
    using T = std::remove_const_t<Part>;
    if constexpr (says_on_device<T>) return ruling::no;
    else if constexpr (shows_itself<T>) return ruling::yes;
    else return kind<T> == made_of::device ? ruling::no : ruling::by_parts;
  }
};
/// `visit_buffers` accepts it.
template <class T>
concept shows_bytes = every_part<bytes_lie_in_runs, T>();
/// Whether `T` or a part of it lies in device memory.
template <class T>
consteval bool on_device() { return !every_part<lies_in_host_memory, T>(); }

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
constexpr void tell_structure(Fn& f, std::size_t count) {
  if constexpr (takes_structure<Fn>) f.structure(std::uint64_t(count));
}

/// A visitor that needs bytes and not where they lie, and says for which types their own `write` comes before their
/// `visit_buffers`.
template <class Fn, class T>
concept takes_written = requires { requires Fn::template takes_written<T>; };

template <class T>
concept dense_elements = (kind<T> == made_of::elements || kind<T> == made_of::view) && contiguous<T> &&
                         is_dense<element_of<T>>();

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
  else if constexpr (kind<T> == made_of::device) visit_device_range(x, f);
  else if constexpr (kind<T> == made_of::bits) {
    tell_structure(f, x.size());
    visit_bits(x, f);
  }
  else if constexpr (is_dense<T>()) visit_run(address_of(x), sizeof(T), f);
  else if constexpr (kind<T> == made_of::complex) {
    using half = std::conditional_t<std::is_const_v<State>, typename T::value_type const, typename T::value_type>;
    for (std::size_t k = 0; k < 2; ++k) visit_parts(reinterpret_cast<half*>(&x)[k], f);  // std::complex is two halves
  }
  else if constexpr (dense_elements<T>) {
    tell_structure(f, length_of(x));
    visit_run(data_of(x), length_of(x) * sizeof(element_of<T>), f);
  }
  else if constexpr (kind<T> == made_of::optional) {
    tell_structure(f, x.has_value());
    if (x.has_value()) visit_parts(*x, f);
    else visit_run(static_cast<std::conditional_t<std::is_const_v<State>, char const, char>*>(nullptr), 0, f);
  }
  else if constexpr (kind<T> == made_of::variant) {
    tell_structure(f, x.valueless_by_exception() ? sizeof(T) : x.index());
    with_held(x, [&f](auto& held) { visit_parts(held, f); }, part_types<T>{});
  }
  else if constexpr (kind<T> == made_of::path) visit_parts(x.native(), f);
  else if constexpr (kind<T> == made_of::unknown) visit_run(address_of(x), sizeof(T), f);
  else {
    if constexpr (takes_structure<Fn> && range_like<T> && kind<T> != made_of::members && !tuple_like<T>)
      tell_structure(f, length_of(x));
    for_each_part(x, [&](auto& part) { visit_parts(part, f); });
  }
}

}  // namespace detail

/// A state that `visit_buffers` accepts, all of it in host memory.
template <class T>
concept buffered = detail::shows_bytes<std::remove_const_t<T>> && !detail::on_device<std::remove_const_t<T>>();
/// A state that `visit_buffers` accepts, with parts in device memory.
template <class T>
concept device_buffered = detail::shows_bytes<std::remove_const_t<T>> && detail::on_device<std::remove_const_t<T>>();

/// Calls f(void*, std::size_t) for each run of plain bytes of a state in host memory and f(device_pointer<void>,
/// std::size_t) for each run in device memory, in a fixed order. For a const state the pointers are to const void.
/// Writing the same bytes back into a state of the same shape makes the two equal. The shape - the sizes of containers
/// and which optionals hold a value - is not among the bytes and must agree beforehand; it decides the lengths of the
/// runs, 0 included.
/// If a part of the state lies in device memory, f must accept `device_pointer`. Padding of aggregates and of numbers
/// is never visited. Any other trivially copyable class is one run, padding included, and so is memory on a device.
template <class T, class Fn>
constexpr void visit_buffers(T& x, Fn&& f) {
  constexpr bool known = buffered<T> || device_buffered<T>;
  constexpr bool reachable =
      !device_buffered<T> || detail::takes_device_runs<std::remove_reference_t<Fn>, detail::device_run<T>>;
  static_assert(known,
                "cairn: cannot determine the bytes of this state; give it a member visit_buffers(f) or specialise "
                "cairn::state_traits with visit_buffers(state, f)");
  static_assert(reachable,
                "cairn: a part of this state lies in device memory, which host code cannot read; copy it to the host, "
                "or let the visitor take (cairn::device_pointer<void const>, std::size_t), too");
  if constexpr (known && reachable) detail::visit_parts(x, f);
}
/// The same for a temporary view: a class that owns device memory makes one in the call.
template <class T, class Fn>
constexpr void visit_buffers(device_view<T> const&& x, Fn&& f) { visit_buffers(x, f); }

namespace detail {
/// Passes a state's runs to an observer's sink; returns false if they are not known.
template <class T>
bool show_runs(T const& x, void (*sink)(void*, void const*, std::size_t),
               void* context) {
  if constexpr (buffered<T>) visit_buffers(x, [&](void const* run, std::size_t bytes) { sink(context, run, bytes); });
  return buffered<T>;
}
}  // namespace detail

}  // namespace cairn
