// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file state_traits.hpp  What cairn needs of a state: that it can be copied, or saved and restored.
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>
#include <cairn/core/bytes_of.hpp>
#include <cairn/core/detail/aggregate.hpp>
#include <cairn/core/detail/copyable.hpp>
#include <cairn/core/detail/handle.hpp>
#include <cairn/core/detail/made_of.hpp>
#include <cairn/core/detail/traits.hpp>
#include <cairn/core/traits.hpp>

namespace cairn {
namespace detail {

/// Why a copy of an object would not be independent.
enum class copy_fault : std::uint8_t {
  none,
  handle,            ///< a pointer, reference, counted handle, iterator or view
  expression,        ///< a map, block or expression of Eigen
  tensor,            ///< a tensor of LibTorch
  too_many_members,  ///< an aggregate with too many members to be taken apart, so that handles in it would not be found
  hidden_members,    ///< a union, whose active member is unknown, or an aggregate that has a union, bit-fields or
                     ///< packed members
  container,         ///< parts are copied by state_traits, and the container cannot be copied part by part
  no_default         ///< copied by state_traits, without a default constructor for a new copy
};

struct copied_by_equals {
  template <class T>
  static consteval ruling of() {
    using U = std::remove_const_t<T>;
    if constexpr (traited_copy_itself<U>) return ruling::no;
    else if constexpr (unknown_range<U>)
      return yes_if(every_part<copied_by_equals, typename U::value_type, U>());
    else return ruling::by_parts;
  }
};
/// `T`, or a part of it, must be copied by `state_traits<...>::copy`; `=` is not enough.
template <class T>
concept traited_copy = !every_part<copied_by_equals, T>();
/// What can be copied part by part.
template <class T>
concept copied_in_parts = kind<T> == made_of::array || kind<T> == made_of::optional || kind<T> == made_of::members ||
                          kind<T> == made_of::elements;

template <class T, class... Seen> consteval copy_fault copy_fault_of();

template <class... T, class... Seen>
consteval copy_fault worst_of(types<T...>, types<Seen...>) {
  auto worst = copy_fault::none;
  [[maybe_unused]] auto const note = [&worst](copy_fault why) { if (why > worst) worst = why; };
  (note(copy_fault_of<std::remove_cvref_t<T>, Seen...>()), ...);
  return worst;
}

/// Stands for a part whose type its conversion asks for.
struct any_part {};
/// A base class or a member of `T`, but not `T` itself. Nor what stands for one: std::any and its like ask for that.
template <class U, class T>
concept part_of = !std::is_same_v<std::remove_cvref_t<U>, T> && !std::is_base_of_v<any_part, std::remove_cvref_t<U>>;
/// Copies of a `U` share no data. `Assigned`: `=` must also be enough to copy it.
template <class U, bool Assigned, class... Seen>
concept copied_well = copy_fault_of<U, Seen...>() == copy_fault::none && !(Assigned && traited_copy<U>);
/// Converts to a part that is copied well. The conversion for other parts exists but cannot be used: if it did not
/// exist, the part's own first member would be tried instead. clang still finds a conversion if it is private, nvcc if
/// it is deleted, g++ in both cases.
template <class T, bool Assigned, class... Seen>
struct private_unless : any_part {
  private_unless() = default;
  template <part_of<T> U>
    requires copied_well<U, Assigned, T, Seen...>
  operator U() const;

 private:
  template <part_of<T> U>
    requires(!copied_well<U, Assigned, T, Seen...>)
  operator U() const;
};
template <class T, bool Assigned, class... Seen>
struct deleted_unless : any_part {
  template <part_of<T> U>
    requires copied_well<U, Assigned, T, Seen...>
  operator U() const;
  template <part_of<T> U>
    requires(!copied_well<U, Assigned, T, Seen...>)
  operator U() const = delete;
};
template <class T, class Part, std::size_t... Place>
consteval bool takes_each(std::index_sequence<Place...>) {
  return requires { T{(void(Place), Part{})...}; };
}
/// Every base class and every member of an aggregate satisfies `Part`.
template <class T, class Part, std::size_t At = 0>
consteval bool all_made_of() {
  constexpr std::size_t braces = count_braces<T>();
  if constexpr (braces > most_members) return takes_each<T, Part>(std::make_index_sequence<count_initialisers<T>()>{});
  else if constexpr (At == braces) return true;
  else if constexpr (!takes_braces<T, At, Part>() && takes_braces<T, At, anything<T>>()) return false;
  else return all_made_of<T, Part, At + 1>();
}
/// The fault of an aggregate with base classes, whose members cannot be named.
template <class T, class... Seen>
consteval copy_fault copy_fault_of_bases() {
  constexpr bool counted = count_braces<T>() <= most_members || count_initialisers<T>() < most_members;
  if constexpr (!counted) return copy_fault::too_many_members;
  else if constexpr (!all_made_of<T, private_unless<T, false, Seen...>>() ||
                     !all_made_of<T, deleted_unless<T, false, Seen...>>())
    return copy_fault::handle;
  else if constexpr (!all_made_of<T, private_unless<T, true, Seen...>>() ||
                     !all_made_of<T, deleted_unless<T, true, Seen...>>())
    return copy_fault::container;
  else return copy_fault::none;
}
/// The fault of a type's parts. `Seen...` are the types that it is a part of.
template <class T, class... Seen>
consteval copy_fault copy_fault_of_parts() {
  using seen = types<Seen..., T>;
  if constexpr (std::is_union_v<T>)
    return std::is_trivially_copyable_v<T> ? copy_fault::hidden_members : copy_fault::none;
  else if constexpr (derived_aggregate<T>()) return copy_fault_of_bases<T, Seen...>();
  else if constexpr (traited_copy<T> && !copied_in_parts<T>) return copy_fault::container;
  else if constexpr (unknown_range<T>) return worst_of(types<typename T::value_type>{}, seen{});
  else if constexpr (kind<T> != made_of::unknown) return worst_of(part_types<T>{}, seen{});
  else if constexpr (tuple_like<T>) return copy_fault::too_many_members;
  else if constexpr (plain_aggregate<T>())
    return hides_members<T>() ? copy_fault::hidden_members : copy_fault::too_many_members;
  else return copy_fault::none;
}
/// Whether copies of a `T` share data, and why. `T` is not const.
template <class T, class... Seen>
consteval copy_fault copy_fault_of() {
  if constexpr (is_one_of<T, Seen...>) return copy_fault::none;
  else if constexpr (traited_copy_itself<T>)
    return std::is_default_constructible_v<T> ? copy_fault::none : copy_fault::no_default;
  else if constexpr (std::is_pointer_v<T>)
    return std::is_function_v<std::remove_pointer_t<T>> ? copy_fault::none : copy_fault::handle;
  else if constexpr (requires(T const& x) { x.unsafeGetTensorImpl(); }) return copy_fault::tensor;
  else if constexpr (expression<T> || made_of_expression<T>) return copy_fault::expression;
  else if constexpr (is_handle_of_list<T> || refers<T>) return copy_fault::handle;
  else if constexpr (!requires { typename T::PlainObject; } && is_handle<T>()) return copy_fault::handle;
  else return copy_fault_of_parts<T, Seen...>();
}

template <class T>
concept shallow = copy_fault_of<T>() != copy_fault::none;
/// An object that can be kept by itself, because it does not refer into another one. Counted handles keep alive what
/// they refer to.
template <class T>
concept standalone =
    std::is_object_v<T> && !std::is_array_v<T> && !std::is_const_v<T> && copy_fault_of<T>() != copy_fault::expression &&
    !(std::is_trivially_copyable_v<T> && copy_fault_of<T>() == copy_fault::handle);

}  // namespace detail

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
