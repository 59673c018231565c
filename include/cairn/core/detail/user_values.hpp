// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file user_values.hpp  How the library copies users' values: the one rule of every copy.
/// A non-const rvalue is moved. Every other value is copied as `copy_state` copies it; the copy constructor of a type
/// with `state_traits<T>::copy` may share data and is never used. A value returned by a function is taken as it is.
#include <type_traits>
#include <utility>
#include <cairn/core/detail/copy_fault.hpp>
#include <cairn/core/state_traits.hpp>

namespace cairn::detail {

/// An argument passed as `X&&` that may be moved from.
template <class Input>
concept given_away = !std::is_lvalue_reference_v<Input> && !std::is_const_v<std::remove_reference_t<Input>>;

/// A copy of x by the rule above.
template <class T>
[[nodiscard]] constexpr T copy_of(T const& x) {
  if constexpr (traited_copy<T>) {
    T copy{};
    copy_state(x, copy);
    return copy;
  } else return T(x);
}
/// A new object from an argument: moved or copied by the rule above.
template <class Input>
[[nodiscard]] constexpr std::remove_cvref_t<Input> taken(Input&& x) {
  if constexpr (given_away<Input>) return std::remove_cvref_t<Input>(std::forward<Input>(x));
  else return copy_of<std::remove_cvref_t<Input>>(x);
}
/// A new object from the result of `make()`.
template <class Make>
[[nodiscard]] constexpr auto taken_from(Make&& make) -> std::remove_cvref_t<decltype(make())> {
  if constexpr (std::is_reference_v<decltype(make())>) return taken<decltype(make())>(make());
  else return make();
}
/// The same for functions that may return a copy of an existing object, such as seeds that return the state. For a type
/// that `state_traits` copies, `return x` has already used the copy constructor.
template <class Make>
[[nodiscard]] constexpr auto taken_out_by(Make&& make) -> std::remove_cvref_t<decltype(make())> {
  using T = std::remove_cvref_t<decltype(make())>;
  if constexpr (traited_copy<T>) return copy_of<T>(make());
  else return taken_from(make);
}

/// A snapshot of an object.
template <class State>
[[nodiscard]] constexpr stored_as<State> taken_snapshot(State const& x) {
  return taken_out_by([&]() -> decltype(auto) { return save_state(x); });
}

}  // namespace cairn::detail
