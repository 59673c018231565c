// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file copyable.hpp  Which types can be moved and copied.
/// std::movable and std::copyable check more, and each check costs a compiler three times as much. Every program checks
/// its state, its functions, and each schedule with its cursor.
#include <type_traits>
#include <utility>

namespace cairn::detail {

/// As std::movable, without its check of swaps, which follow from these conditions.
template <class T>
concept movable_value = std::is_object_v<T> && noexcept(std::declval<T&>().~T()) && std::is_constructible_v<T, T> &&
                        std::is_same_v<decltype(std::declval<T&>() = std::declval<T>()), T&>;
/// As std::copyable.
template <class T>
concept copyable_value = movable_value<T> && std::is_constructible_v<T, T const&> &&
                         std::is_same_v<decltype(std::declval<T&>() = std::declval<T const&>()), T&>;

}  // namespace cairn::detail
