// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file handle.hpp  Detects objects that refer to data of another owner.
#include <concepts>
#include <initializer_list>
#include <type_traits>
#include <utility>
#include <cairn/core/detail/aggregate.hpp>

namespace cairn::detail {

/// What a pointer, a fancy pointer or a reference points to, with its const; void for other types.
template <class Plan> struct pointee { using type = void; };
template <class T> struct pointee<T*> { using type = T; };
template <class T> struct pointee<T&> { using type = T; };
template <class Plan>
  requires requires { typename Plan::element_type; }
struct pointee<Plan> { using type = typename Plan::element_type; };

/// Whether an object of a type gives access to data of another owner. `Mine` is what one reaches through an object,
/// `Theirs` through a const one. If const does not extend to the content, or the content is read-only, it belongs to
/// someone else.
template <class Mine, class Theirs>
consteval bool leads_elsewhere(bool const_is_elsewhere) {
  using mine = typename pointee<Mine>::type;
  using theirs = typename pointee<Theirs>::type;
  if constexpr (std::is_void_v<mine> || std::is_void_v<theirs>) return false;
  else return !std::is_const_v<theirs> || (const_is_elsewhere && std::is_const_v<mine>);
}

template <class T> using by_data = decltype(std::declval<T&>().data());
template <class T> using by_get = decltype(std::declval<T&>().get());
template <class T> using by_star = decltype(*std::declval<T&>());
template <class T> using by_begin = decltype(*std::declval<T&>().begin());

/// Its copy constructor is not its only copy: `clone()`, `copy()` or `deep_copy(into, from)` makes the one that shares
/// nothing.
template <class T>
concept copies_apart = std::is_copy_constructible_v<T> && (requires(T const& x) {
  { x.clone() } -> std::same_as<T>;
} || requires(T const& x) {
  { x.copy() } -> std::same_as<T>;
} || requires(T& into, T const& from) { deep_copy(into, from); });
/// A view or an adaptor of xtensor: another type owns its elements.
template <class T>
concept names_its_owner = requires { requires !std::is_same_v<typename T::temporary_type, T>; };
/// Two views, of a host and of a device; or an array or view of Boost.MultiArray, whose `=` takes no other shape.
template <class T>
concept views_inside = requires(T const& x) { x.view_host(); x.view_device(); } ||
                       requires(T const& x) { x.origin(); x.num_dimensions(); };

template <class T>
consteval bool is_handle() {
  constexpr bool light = std::is_trivially_copyable_v<T>;
  bool found = requires(T const& x) { x.use_count(); }
  || requires(T const& x) { x.data_handle(); }  // counted handles; mdspan
  || copies_apart<T> || names_its_owner<T> || views_inside<T>;
  if constexpr (requires(T & x, T const& c) {
                  x.data();
                  c.data();
                })
    found = found || leads_elsewhere<by_data<T>, by_data<T const>>(light);
  if constexpr (requires(T& x, T const& c) { x.get(); c.get(); })
    found = found || leads_elsewhere<by_get<T>, by_get<T const>>(!std::is_reference_v<by_get<T>>);
  if constexpr (requires(T & x, T const& c) {
                  *x;
                  *c;
                })
    found = found || leads_elsewhere<by_star<T>, by_star<T const>>(light);
  if constexpr (requires(T& x, T const& c) { *x.begin(); *c.begin(); })
    found = found || leads_elsewhere<by_begin<T>, by_begin<T const>>(false);
  return found;
}
/// Expressions of Eigen: `PlainObject` names the type that owns their data.
template <class T>
concept expression = requires { typename T::PlainObject; } && !std::is_same_v<T, typename T::PlainObject>;
template <class T>  // such as Map<Quaternion>
concept made_of_expression = !requires { typename T::PlainObject; } &&
                             requires(T const& x) { requires expression<std::remove_cvref_t<decltype(x.coeffs())>>; };
template <class T> inline constexpr bool is_handle_of_list = false;
template <class T> inline constexpr bool is_handle_of_list<std::initializer_list<T>> = true;

template <class T> inline constexpr bool refers = false;
template <template <class...> class Tuple, class... T>
inline constexpr bool refers<Tuple<T...>> = tuple_like<Tuple<T...>> && (std::is_reference_v<T> || ...);

}  // namespace cairn::detail
