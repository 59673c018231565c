// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file numbers.hpp  The floating-point numbers in a state or an adjoint: the variables of a derivative.
#include <cstddef>
#include <type_traits>
#include <utility>
#include <cairn/core/buffers.hpp>

namespace cairn {
namespace detail {

/// Accepts everything that `visit_numbers` passes.
struct any_number_visitor {
  template <class T>
  void operator()(T*, std::size_t) const;
};
template <class T>
concept traited_numbers = requires(T& x, any_number_visitor& f) {
  state_traits<std::remove_const_t<T>>::visit_numbers(x, f);
};
template <class T>
concept member_numbers = requires(T& x, any_number_visitor& f) { x.visit_numbers(f); };

/// A generator or distribution of random numbers, as in `<random>`. It is part of a state, but not differentiated.
template <class T>
concept random_source = requires(T& x) {
  typename T::result_type;
  (T::min)();
  (T::max)();
  x();
  requires std::is_integral_v<typename T::result_type>;
} || distribution_like<T>;

template <class T, class... Seen> [[nodiscard]] consteval bool can_list();
template <class... T, class... Seen>
[[nodiscard]] consteval bool can_list_all(types<T...>, types<Seen...>) {
  return (can_list<std::remove_const_t<T>, Seen...>() && ...);
}
/// Whether `visit_numbers` accepts `T`; `Seen...` are the types that `T` is a part of.
template <class T, class... Seen>
[[nodiscard]] consteval bool can_list() {
  using seen = types<Seen..., T>;
  if constexpr (is_one_of<T, Seen...>) return true;
  else if constexpr (traited_numbers<T> || member_numbers<T> || number<T> || is_bit_vector<T> || random_source<T>)
    return true;
  else if constexpr (says_on_device<T> || device_range<T>) return false;
  else if constexpr (std::is_array_v<T>) return can_list<std::remove_cv_t<std::remove_all_extents_t<T>>>();
  else if constexpr (!std::is_class_v<T> || variant_like<T>) return false;
  else if constexpr (complex_like<T>) return can_list<typename T::value_type>();
  else if constexpr (plain_range<T> || contiguous<T> || optional_like<T>)
    return can_list_all(types<typename T::value_type>{}, seen{});
  else if constexpr (has_members<T>) return can_list_all(member_types<T>{}, seen{});
  else return false;
}

template <class T> inline constexpr bool floating_elements = false;
template <contiguous T> inline constexpr bool floating_elements<T> = std::is_floating_point_v<typename T::value_type>;

template <class State, class Fn>
constexpr void list_numbers(State& x, Fn& f) {
  using T = std::remove_const_t<State>;
  if constexpr (traited_numbers<State>) state_traits<T>::visit_numbers(x, f);
  else if constexpr (member_numbers<State>) x.visit_numbers(f);
  else if constexpr (std::is_floating_point_v<T>) f(&x, std::size_t{1});
  else if constexpr (number<T> || is_bit_vector<T> || random_source<T>) return;
  else if constexpr (complex_like<T>) {
    using half = std::conditional_t<std::is_const_v<State>, typename T::value_type const, typename T::value_type>;
    if constexpr (std::is_floating_point_v<half>)
      f(&reinterpret_cast<half*>(&x)[0], std::size_t{2});  // std::complex is laid out as two halves
  }
  else if constexpr (floating_elements<T>) f(x.data(), std::size_t(x.size()));
  else if constexpr (optional_like<T>) {
    if (x.has_value()) list_numbers(*x, f);
  }
  else for_each_part(x, [&](auto& part) { list_numbers(part, f); });
}

}  // namespace detail

/// A state or an adjoint whose floating-point numbers `visit_numbers` can find.
template <class T>
concept numbered = detail::can_list<std::remove_const_t<T>>();

/// Calls f(T*, std::size_t) for each run of floating-point numbers of x, in a fixed order. T is float, double or long
/// double, const for a const x; a complex number is two numbers. Integers, enumerations, bools, and the generators and
/// distributions of `<random>` are skipped: they are not differentiated.
/// A type that cannot be taken apart, or of which only a part is differentiated, needs a member `visit_numbers(f)` for
/// const and non-const objects, or `state_traits<T>::visit_numbers(x, f)`. Each calls f(T*, std::size_t) for the runs
/// that count, always in the same order.
template <class T, class Fn>
constexpr void visit_numbers(T& x, Fn&& f) {
  constexpr bool told = numbered<T>, reachable = told || !detail::on_device<std::remove_const_t<T>>();
  static_assert(reachable,
                "cairn: numbers of this type lie in device memory, where host code cannot read or vary them; use a "
                "type whose numbers lie in host memory");
  static_assert(told || !reachable,
                "cairn: cannot determine the floating-point numbers of this type; give it a member visit_numbers(f) or "
                "specialise cairn::state_traits with visit_numbers(x, f)");
  if constexpr (told) detail::list_numbers(x, f);
}

}  // namespace cairn
