// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file floating.hpp  Which types are known to hold floating-point numbers, so that their adjoints cannot be whole
/// numbers.
#include <type_traits>
#include <utility>
#include <cairn/core/detail/copy_fault.hpp>

namespace cairn::detail {

template <class... T, class... Seen>
[[nodiscard]] consteval bool any_holds_floating(types<T...>, types<Seen...>);
/// A floating-point number, or a type with one as a part. `Seen...` are the types that `T` is a part of.
template <class T, class... Seen>
[[nodiscard]] consteval bool holds_floating() {
  using seen = types<Seen..., T>;
  if constexpr (std::is_floating_point_v<T>) return true;
  else if constexpr (is_one_of<T, Seen...>) return false;
  else if constexpr (std::is_array_v<T>)
    return holds_floating<std::remove_cv_t<std::remove_all_extents_t<T>>, Seen...>();
  else if constexpr (!std::is_class_v<T>) return false;
  else if constexpr (requires { typename T::value_type; })
    return any_holds_floating(types<typename T::value_type>{}, seen{});
  else if constexpr (has_members<T>) return any_holds_floating(member_types<T>{}, seen{});
  else return false;
}
template <class... T, class... Seen>
[[nodiscard]] consteval bool any_holds_floating(types<T...>, types<Seen...>) {
  return (holds_floating<std::remove_cvref_t<T>, Seen...>() || ...);
}

/// A whole number in the place of an adjoint of `T`.
template <class Result, class T>
concept whole_for = std::is_integral_v<Result> && holds_floating<T>();

}  // namespace cairn::detail
