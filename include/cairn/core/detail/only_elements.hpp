#pragma once
/// \file only_elements.hpp  Which classes hold nothing beside what one of their members tells of, so that it may be
/// believed.
#include <type_traits>
#include <cairn/core/detail/aggregate.hpp>
#include <cairn/core/traits.hpp>

namespace cairn::detail {

/// The class that declares a member function: for an inherited one the base.
template <class Class, class Function> types<Class> declaring(Function Class::*);

/// The containers of libstdc++'s debug mode: bookkeeping beside the same container without it.
template <class T, class Base> inline constexpr bool is_debug_of = false;
template <template <class...> class Derived, template <class...> class Base, class... Arguments>
inline constexpr bool is_debug_of<Derived<Arguments...>, Base<Arguments...>> =
    requires(Derived<Arguments...> const& x) {
  x._M_base();
};
/// `T` is the class that declares a member, or as large: it has none that the base does not know.
template <class T, class Base> inline constexpr bool adds_nothing = false;
template <class T, class Base>
inline constexpr bool adds_nothing<T, types<Base>> = sizeof(T) == sizeof(Base) || is_debug_of<T, Base>;
template <class T>
concept told_by_size = requires { requires adds_nothing<T, decltype(declaring(&T::size))>; };
template <class T>
concept told_by_has_value = requires { requires adds_nothing<T, decltype(declaring(&T::has_value))>; };

/// A base that has the derived class as an argument can ask it.
template <class T, class Base> inline constexpr bool asks = false;
template <class T, template <class...> class Base, class... Arguments>
inline constexpr bool asks<T, types<Base<Arguments...>>> = is_one_of<T, Arguments...>;
/// `bytes()` of its own; not that of a smaller base, which does not know of the members that the derived class adds.
template <class T>
[[nodiscard]] consteval bool counts_itself() {
  if constexpr (requires { declaring(&T::bytes); })
    return adds_nothing<T, decltype(declaring(&T::bytes))> || asks<T, decltype(declaring(&T::bytes))>;
  else return true;
}

/// A contiguous range that holds its elements and nothing else: std::array, containers with an allocator, Eigen's
/// matrices. Of other classes with `data()` and `size()` nobody can tell.
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
