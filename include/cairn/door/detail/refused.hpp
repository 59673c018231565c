// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file refused.hpp  The result type of a call that was refused at compile time.
#include <type_traits>
#include <cairn/language.hpp>

namespace cairn::detail {

/// The result of a verb whose checks have failed, if the proper result type is unknown.
struct refused {};

/// A refused call has the type of a correct one, so that using its result causes no second error. Never runs.
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
