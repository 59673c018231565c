// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file copyable.hpp  Which types can be moved and copied.
/// std::movable and std::copyable check more, and each check costs a compiler three times as much. Every program checks
/// its state, its functions, and each schedule with its cursor.
#include <type_traits>
#include <utility>

namespace cairn::detail {

/// `=` gives a reference to the object, or, inherited, to its base. What it gives for a proxy is neither.
template <class T, class From>
concept assigned_from = requires(T& x, From&& from) {
  requires std::is_convertible_v<T*, std::remove_reference_t<decltype(x = static_cast<From&&>(from))>*>;
  requires std::is_lvalue_reference_v<decltype(x = static_cast<From&&>(from))>;
};
/// As std::movable, without its check of swaps, which follow from these conditions.
template <class T>
concept movable_value = std::is_object_v<T> && noexcept(std::declval<T&>().~T()) && std::is_constructible_v<T, T> &&
                        assigned_from<T, T>;
/// As std::copyable.
template <class T>
concept copyable_value = movable_value<T> && std::is_constructible_v<T, T const&> && assigned_from<T, T const&>;

}  // namespace cairn::detail
