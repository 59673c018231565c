// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file address_of.hpp  The address of a user's object, even if its type overloads `&`.

namespace cairn::detail {

/// Like std::addressof, whose header costs more to compile than all of core.
template <class T>
[[nodiscard]] constexpr T* address_of(T& x) noexcept { return __builtin_addressof(x); }

}  // namespace cairn::detail
