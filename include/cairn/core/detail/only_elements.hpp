// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file only_elements.hpp  Which classes hold nothing besides what one of their members reports, so that the report is
/// complete.
#include <type_traits>
#include <cairn/core/detail/aggregate.hpp>
#include <cairn/core/detail/traits.hpp>

namespace cairn::detail {

/// The class that declares a member function; for an inherited one, the base.
template <class Class, class Function> types<Class> declaring(Function Class::*);

/// The containers of libstdc++'s debug mode, which add bookkeeping to the same container without it.
template <class T, class Base> inline constexpr bool is_debug_of = false;
template <template <class...> class Derived, template <class...> class Base, class... Arguments>
inline constexpr bool is_debug_of<Derived<Arguments...>, Base<Arguments...>> =
    requires(Derived<Arguments...> const& x) {
  x._M_base();
};
/// `T` declares the member itself, or is no larger than the base that does, so that it has no further members.
template <class T, class Base> inline constexpr bool adds_nothing = false;
template <class T, class Base>
inline constexpr bool adds_nothing<T, types<Base>> = sizeof(T) == sizeof(Base) || is_debug_of<T, Base>;
template <class T>
concept told_by_size = requires { requires adds_nothing<T, decltype(declaring(&T::size))>; };
template <class T>
concept told_by_has_value = requires { requires adds_nothing<T, decltype(declaring(&T::has_value))>; };

/// The base class has `T` as a template argument, so its `bytes()` can ask `T`.
template <class T, class Base> inline constexpr bool asks = false;
template <class T, template <class...> class Base, class... Arguments>
inline constexpr bool asks<T, types<Base<Arguments...>>> = is_one_of<T, Arguments...>;
/// `T` has a `bytes()` of its own, not one of a smaller base that does not know the members of `T`.
template <class T>
[[nodiscard]] consteval bool counts_itself() {
  if constexpr (requires { declaring(&T::bytes); })
    return adds_nothing<T, decltype(declaring(&T::bytes))> || asks<T, decltype(declaring(&T::bytes))>;
  else return true;
}

/// A contiguous range that holds its elements and nothing else: std::array, containers with an allocator, Eigen's
/// matrices. For other classes with `data()` and `size()` this cannot be known.
template <class T>
[[nodiscard]] consteval bool only_elements() {
  if constexpr (tuple_like<T>) return true;
  else if constexpr (requires { typename T::PlainObject; }) return std::is_same_v<T, typename T::PlainObject>;
  else if constexpr (requires { typename T::allocator_type; }) return told_by_size<T>;
  else return false;
}
template <class T>
concept element_holder = contiguous<T> && only_elements<T>();

}  // namespace cairn::detail
