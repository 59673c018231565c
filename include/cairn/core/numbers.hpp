// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file numbers.hpp  The floating-point numbers in a state or an adjoint: the variables of a derivative.
#include <cstddef>
#include <type_traits>
#include <cairn/core/buffers.hpp>
#include <cairn/core/detail/made_of.hpp>

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

template <class T>
concept floating_elements = (kind<T> == made_of::elements || kind<T> == made_of::view) && contiguous<T> &&
                            floating<element_of<T>>;
struct holds_no_numbers {
  template <class Part>
  static consteval ruling of() {
    using T = std::remove_const_t<Part>;
    if constexpr (traited_numbers<T> || member_numbers<T> || floating<T>) return ruling::no;
    else if constexpr (number<T> || random_source<T>) return ruling::yes;
    else if constexpr (unknown_range<T>)
      return yes_if(every_part<holds_no_numbers, typename T::value_type, T>());
    else return ruling::by_parts;
  }
};
/// A floating-point number, or a type with one as a part.
template <class T>
consteval bool may_hold_numbers() { return !every_part<holds_no_numbers, T>(); }
/// A whole number in the place of an adjoint of `T`.
template <class Result, class T>
concept whole_for = std::is_integral_v<Result> && may_hold_numbers<T>();

struct numbers_are_listed {
  template <class Part>
  static consteval ruling of() {
    using T = std::remove_const_t<Part>;
    if constexpr (traited_numbers<T> || member_numbers<T> || number<T> || random_source<T>) return ruling::yes;
    else if constexpr (says_on_device<T> || kind<T> == made_of::device || kind<T> == made_of::unknown)
      return ruling::no;
    else if constexpr (map_like<T>)  // keys are no variables
      return yes_if(every_part<numbers_are_listed, typename T::mapped_type, T>());
    else if constexpr (keyed<T> || kind<T> == made_of::path)
      return may_hold_numbers<T>() ? ruling::no : ruling::yes;
    else return ruling::by_parts;
  }
};

template <class State, class Fn>
constexpr void list_numbers(State& x, Fn& f) {
  using T = std::remove_const_t<State>;
  if constexpr (traited_numbers<State>) state_traits<T>::visit_numbers(x, f);
  else if constexpr (member_numbers<State>) x.visit_numbers(f);
  else if constexpr (floating<T>) f(&x, std::size_t{1});
  else if constexpr (!may_hold_numbers<T>()) return;
  else if constexpr (kind<T> == made_of::complex) {
    using half = std::conditional_t<std::is_const_v<State>, typename T::value_type const, typename T::value_type>;
    if constexpr (floating<typename T::value_type>)
      f(&reinterpret_cast<half*>(&x)[0], std::size_t{2});  // std::complex is laid out as two halves
    else
      for (std::size_t k = 0; k < 2; ++k) list_numbers(reinterpret_cast<half*>(&x)[k], f);
  }
  else if constexpr (floating_elements<T>) f(data_of(x), length_of(x));
  else if constexpr (kind<T> == made_of::optional) {
    if (x.has_value()) list_numbers(*x, f);
  }
  else if constexpr (kind<T> == made_of::variant)
    with_held(x, [&f](auto& held) { list_numbers(held, f); }, part_types<T>{});
  else if constexpr (map_like<T>)
    for (auto& element : x) list_numbers(element.second, f);
  else for_each_part(x, [&](auto& part) { list_numbers(part, f); });
}

}  // namespace detail

/// A state or an adjoint whose floating-point numbers `visit_numbers` can find.
template <class T>
concept numbered = detail::every_part<detail::numbers_are_listed, T>();

/// Calls f(T*, std::size_t) for each run of floating-point numbers of x, in a fixed order. T is float, double or long
/// double, const for a const x; a complex number is two numbers. A type's own `visit_numbers` may also give numbers of a
/// class that is made from double and converts to it. Integers, enumerations, bools, and the generators and
/// distributions of `<random>` are skipped: they are not differentiated.
/// A type that cannot be taken apart, or of which only a part is differentiated, needs a member `visit_numbers(f)` for
/// const and non-const objects, or `state_traits<T>::visit_numbers(x, f)`. Each calls f(T*, std::size_t) for the runs
/// that count, always in the same order.
template <class T, class Fn>
constexpr void visit_numbers(T& x, Fn&& f) {
  constexpr bool known = numbered<T>, reachable = known || !detail::on_device<std::remove_const_t<T>>();
  static_assert(reachable,
                "cairn: numbers of this type lie in device memory, where host code cannot read or vary them; use a "
                "type whose numbers lie in host memory");
  static_assert(known || !reachable,
                "cairn: cannot determine the floating-point numbers of this type; give it a member visit_numbers(f) or "
                "specialise cairn::state_traits with visit_numbers(x, f)");
  if constexpr (known) detail::list_numbers(x, f);
}

}  // namespace cairn
