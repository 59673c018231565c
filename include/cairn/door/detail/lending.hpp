// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file lending.hpp  How the library passes its own objects to users' functions: by the rule of every copy.
#include <cstddef>
#include <type_traits>
#include <utility>
#include <cairn/core/state_traits.hpp>
#include <cairn/door/detail/signature.hpp>
#include <cairn/door/detail/step_shape.hpp>

namespace cairn::detail {

/// An argument of type Args is a const object of the library that only `state_traits` may copy.
template <class Args>
concept lent = std::is_lvalue_reference_v<Args> && std::is_const_v<std::remove_reference_t<Args>> &&
    traited_copy<std::remove_cvref_t<Args>>;
/// x itself; for a parameter by value, a copy by the rule above and not by the copy constructor.
template <bool ByValue, class Args>
[[nodiscard]] constexpr decltype(auto) lend(Args&& x) {
  if constexpr (ByValue && lent<Args&&>) return copy_of<std::remove_cvref_t<Args>>(x);
  else return std::forward<Args>(x);
}
template <class Called, std::size_t... Place, class Fn, class... Args>
constexpr decltype(auto) call_lending_each(std::index_sequence<Place...>, Fn& f, Args&&... args) {
  return f(lend<takes_by_value<Called, Place, arguments<Args&&...>>>(std::forward<Args>(args))...);
}
/// Calls `f(args...)`, where f is the user's function.
template <class Fn, class... Args>
constexpr decltype(auto) call_lending(Fn& f, Args&&... args) {
  if constexpr (!(lent<Args&&> || ...)) return f(std::forward<Args>(args)...);
  else
    return call_lending_each<typename untagged<Fn>::type>(std::index_sequence_for<Args...>{}, f,
                                                          std::forward<Args>(args)...);
}

}  // namespace cairn::detail
