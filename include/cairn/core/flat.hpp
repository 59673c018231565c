// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file flat.hpp  Declares array types of other libraries in one line.
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>
#include <cairn/core/bytes_of.hpp>
#include <cairn/core/numbers.hpp>
#include <cairn/core/state_bytes.hpp>

namespace cairn {
namespace detail {

/// Elements lie side by side from the one that `memptr()` or `data()` points to; null without such a member.
template <class T>
[[nodiscard]] constexpr auto* first_of(T& x) {
  if constexpr (requires { *x.memptr(); }) return x.memptr();
  else if constexpr (requires { *x.data(); }) return x.data();
  else return static_cast<std::conditional_t<std::is_const_v<T>, void const, void>*>(nullptr);
}
template <class T>
[[nodiscard]] constexpr auto& element_at(T& x, std::size_t k) {
  if constexpr (requires { first_of(x)[k]; }) return first_of(x)[k];
  else if constexpr (requires { x.data()[k]; }) return x.data()[k];
  else return x[k];
}
/// How many elements it has in all.
template <class T>
[[nodiscard]] constexpr std::size_t count_in(T const& x) {
  if constexpr (requires { x.num_elements(); }) return std::size_t(x.num_elements());  // where size() is of one dimension
  else if constexpr (requires { std::size_t(x.n_elem); }) return std::size_t(x.n_elem);
  else if constexpr (requires { x.data().size(); }) return std::size_t(x.data().size());
  else return std::size_t(x.size());
}

}  // namespace detail

/// Declares that a `T` owns one run of elements, and nothing else that changes from step to step:
/// `template <> struct cairn::state_traits<T> : cairn::flat<T> {};`
///
/// Bytes, budgets, hashes, replay checks, numbers, devices and stores of bytes follow. The elements are numbers, or
/// whatever is itself a state: those at `memptr()` or `data()`, or else x[0], x[1] ...; there are `num_elements()`,
/// `n_elem` or `size()` of them. Bytes are sizeof(T) and, where the elements do not lie in the object, those of
/// `capacity()` or of all elements. A stored state is read into one of the same size, such as a copy of the initial
/// state; where sizes change, add `static void resize(T& x, std::size_t count)`. Shapes of equal size are not told apart:
/// where they change, give `visit_buffers`, `write` and `read` instead. Copies are made by `=`, and a type whose copies
/// share data is refused as everywhere.
/// \throws invalid_bytes   on reading another size without `resize`
/// \ingroup start
template <class T>
struct flat {
  /// sizeof and the elements.
  [[nodiscard]] static constexpr std::size_t bytes(T const& x) {
    std::size_t const count = detail::count_in(x);
    std::size_t sum = sizeof(T);
    if (count > 0 && !lies_in(x, detail::element_at(x, 0))) {
      std::size_t most = count;
      if constexpr (requires { std::size_t(x.capacity()); })
        if (std::size_t(x.capacity()) > most) most = std::size_t(x.capacity());
      sum += most * sizeof(element<T>);
    }
    if constexpr (!detail::is_flat<element<T>>())
      for (std::size_t k = 0; k < count; ++k) sum += detail::heap_of(detail::element_at(x, k));
    return sum;
  }
  /// The elements as one run, or those of each.
  template <class State, class Fn>
    requires std::is_same_v<std::remove_const_t<State>, T>
  static constexpr void visit_buffers(State& x, Fn& f) {
    detail::tell_structure(f, detail::count_in(x));
    if constexpr (one_run<State>) detail::visit_run(detail::first_of(x), detail::count_in(x) * sizeof(element<T>), f);
    else
      for (std::size_t k = 0; k < detail::count_in(x); ++k) detail::visit_parts(detail::element_at(x, k), f);
  }
  /// The numbers of the elements.
  template <class State, class Fn>
    requires std::is_same_v<std::remove_const_t<State>, T>
  static constexpr void visit_numbers(State& x, Fn& f) {
    if constexpr (detail::floating<element<T>> && has_pointer<State>) f(detail::first_of(x), detail::count_in(x));
    else
      for (std::size_t k = 0; k < detail::count_in(x); ++k) detail::list_numbers(detail::element_at(x, k), f);
  }
  /// How many elements, and these.
  template <class Sink>
  static void write(T const& x, Sink& sink) {
    std::size_t const count = detail::count_in(x);
    write_state(std::uint64_t(count), sink);
    if constexpr (one_run<T const>) sink(static_cast<void const*>(detail::first_of(x)), count * sizeof(element<T>));
    else
      for (std::size_t k = 0; k < count; ++k) write_state(detail::element_at(x, k), sink);
  }
  /// The same into x.
  template <class Source>
  static void read(T& x, Source& source) {
    std::uint64_t count = 0;
    read_state(count, source);
    if (count != detail::count_in(x)) {
      if constexpr (requires { state_traits<T>::resize(x, std::size_t(count)); }) {
        std::uint64_t const most = source.left() / detail::least_bytes<element<T>>();
        if (count > most) detail::refuse_cut(count, most);
        state_traits<T>::resize(x, std::size_t(count));
      } else detail::refuse_shape(detail::count_in(x), count);
    }
    if constexpr (one_run<T> && !detail::holds_bool<element<T>>())
      source(static_cast<void*>(detail::first_of(x)), std::size_t(count) * sizeof(element<T>));
    else
      for (std::size_t k = 0; k < std::size_t(count); ++k) read_state(detail::element_at(x, k), source);
  }

 private:
  template <class State>
  using element = std::remove_cvref_t<decltype(detail::element_at(std::declval<State&>(), 0))>;
  template <class State>
  static constexpr bool has_pointer = requires(State& x) { *detail::first_of(x); };
  template <class State>
  static constexpr bool one_run = has_pointer<State> && detail::is_dense<element<State>>();
  template <class Inner>
  [[nodiscard]] static bool lies_in(T const& x, Inner const& part) noexcept {
    auto const begin = reinterpret_cast<std::uintptr_t>(&reinterpret_cast<unsigned char const&>(x)),
               at = reinterpret_cast<std::uintptr_t>(&reinterpret_cast<unsigned char const&>(part));
    return begin <= at && at < begin + sizeof(T);
  }
};

}  // namespace cairn
