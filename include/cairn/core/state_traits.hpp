// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file state_traits.hpp  What cairn needs of a state: that it can be copied, or saved and restored.
#include <concepts>
#include <cstddef>
#include <type_traits>
#include <utility>
#include <cairn/core/bytes_of.hpp>
#include <cairn/core/detail/copy_fault.hpp>
#include <cairn/core/detail/copyable.hpp>
#include <cairn/core/detail/traits.hpp>
#include <cairn/core/traits.hpp>

namespace cairn {

/// A state whose copies serve as checkpoints.
template <class T>
concept copied_state =
    !detail::shallow<T> &&
    ((!detail::traited_copy<T> && detail::copyable_value<T>) ||
     (detail::traited_copy<T> && detail::movable_value<T> && std::default_initializable<T>));
namespace detail {
template <class T>
struct snapshot_of { using type = void; };
template <traited_save T>
struct snapshot_of<T> { using type = std::remove_cvref_t<decltype(state_traits<T>::save(std::declval<T const&>()))>; };
template <class T>
  requires(!traited_save<T> && member_save<T>)
struct snapshot_of<T> { using type = std::remove_cvref_t<decltype(std::declval<T const&>().save())>; };
/// What is kept of a state: a copy, or the snapshot of an object.
template <class T>
struct kept_of { using type = std::conditional_t<copied_state<T>, T, typename snapshot_of<T>::type>; };
template <class T> using stored_as = typename kept_of<T>::type;
/// `save(x, into)`, or the member `save(into)`, with an argument of type Into.
template <class T, class Into>
concept saves_as = requires(T const& x, Into into) { state_traits<T>::save(x, static_cast<Into>(into)); } ||
                   (!traited_save<T> && requires(T const& x, Into into) { x.save(static_cast<Into>(into)); });
/// Can save into an old snapshot and reuse its memory.
template <class T>
concept saves_into = !std::is_void_v<typename snapshot_of<T>::type> && saves_as<T, typename snapshot_of<T>::type&>;
/// Takes the old snapshot by value or const reference, so that it cannot write to it.
template <class T>
concept saves_into_copy = saves_into<T> && saves_as<T, typename snapshot_of<T>::type&&>;
/// The snapshot shares data with the object, which would change it. A snapshot that cannot be copied has one owner and
/// is fine.
  template <class T, class Snapshot = typename snapshot_of<T>::type>
  concept shares_snapshot =
      !std::is_void_v<Snapshot> && shallow<Snapshot> &&
      (copyable_value<Snapshot> || traited_copy<Snapshot> || copy_fault_of<Snapshot>() == copy_fault::expression);
}  // namespace detail

/// A state that stays in place, such as a solver object, and is saved as snapshots.
template <class T>
concept saved_state =
    !copied_state<T> && (detail::traited_save<T> || detail::member_save<T>)&&!detail::shares_snapshot<T>;
/// A state that a loop can run on: it can be copied, or is saved as snapshots.
template <class T>
concept state = copied_state<T> || saved_state<T>;

/// `into` becomes a deep copy of `from`, reusing its memory if it fits: by `state_traits<T>::copy`, part by part if a
/// part has such traits, else by `=`.
template <class T>
constexpr void copy_state(T const& from, T& into) {
  constexpr bool owns = !detail::shallow<T>;
  static_assert(
      owns,
      "cairn: a copy would share its data with the original; use an owning type or specialise cairn::state_traits with "
      "copy(from, into)");
  if constexpr (!owns) return;
  else if constexpr (!detail::traited_copy<T>) into = from;
  else if constexpr (detail::traited_copy_itself<T>) state_traits<T>::copy(from, into);
  else if constexpr (std::is_array_v<T>)
    for (std::size_t k = 0; k < std::extent_v<T>; ++k) copy_state(from[k], into[k]);
  else if constexpr (detail::kind<T> == detail::made_of::optional) {
    if (!from.has_value()) return into.reset();
    if (!into.has_value()) into.emplace();
    copy_state(*from, *into);
  }
  else if constexpr (detail::kind<T> == detail::made_of::elements) {
    if constexpr (requires { into.resize(from.size()); }) into.resize(from.size());
    auto to = into.begin();
    for (auto const& element : from) copy_state(element, *to++);
  }
  else
    detail::with_members<detail::parts<T>()>(from, [&](auto&... source) {
      detail::with_members<detail::parts<T>()>(into, [&](auto&... target) { (copy_state(source, target), ...); });
    });
}

/// A snapshot from which `restore_state` restores the present x.
template <class T>
[[nodiscard]] constexpr decltype(auto) save_state(T const& x) {
  if constexpr (detail::traited_save<T>) return state_traits<T>::save(x);
  else return x.save();
}
/// The same into an old snapshot. \pre `detail::saves_into<T>`
template <class T, class Snapshot>
constexpr void save_state(T const& x, Snapshot& into) {
  if constexpr (detail::traited_save<T>) state_traits<T>::save(x, into);
  else x.save(into);
}
/// x returns to the state in which `kept` was taken, by `state_traits<T>::restore` or its own member.
template <class T, class Snapshot>
constexpr void restore_state(T& x, Snapshot const& kept) {
  if constexpr (detail::traited_save<T>) state_traits<T>::restore(x, kept);
  else x.restore(kept);
}

namespace detail {

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

}  // namespace detail

}  // namespace cairn
