#pragma once
/// \file refused.hpp  What is left of a call that was refused at compile time.
#include <type_traits>

namespace cairn::detail {

/// What a verb returns once its checks have failed, where nothing is known of what it would have given.
struct refused {};

/// Such a call has the type that a right one would have, so that no use of its result adds a second error. Never runs.
template <class T>
T refuse() { throw refused{}; }

template <class T>
concept can_be_returned = std::is_object_v<T> && !std::is_array_v<T> && !std::is_abstract_v<T>;
/// The first of `T` that a function can return.
template <class... T> struct first_returned { using type = refused; };
template <class T, class... Rest>
struct first_returned<T, Rest...>
    : std::conditional_t<can_be_returned<T>, std::type_identity<T>, first_returned<Rest...>> {};

}  // namespace cairn::detail
