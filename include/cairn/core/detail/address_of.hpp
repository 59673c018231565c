#pragma once
/// \file address_of.hpp  Where an object of the user's lies, whatever its type makes of `&`.

namespace cairn::detail {

/// std::addressof, whose header costs more than all of core.
template <class T>
[[nodiscard]] constexpr T* address_of(T& x) noexcept { return __builtin_addressof(x); }

}  // namespace cairn::detail
