// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file copy_fault.hpp  Detects types whose copies share data with the original.
/// An in-place step on such a state would also change its checkpoints, and silently give a wrong gradient.
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <type_traits>
#include <utility>
#include <cairn/core/detail/aggregate.hpp>
#include <cairn/core/detail/traits.hpp>

namespace cairn::detail {

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

/// What a pointer, a fancy pointer or a reference points to, with its const; void for other types.
template <class Plan> struct pointee { using type = void; };
template <class T> struct pointee<T*> { using type = T; };
template <class T> struct pointee<T&> { using type = T; };
template <class Plan>
  requires requires { typename Plan::element_type; }
struct pointee<Plan> { using type = typename Plan::element_type; };

/// Whether an object of a type gives access to data of another owner. `Mine` is what one reaches through an object,
/// `Theirs` through a const one. If const does not extend to the content, or the content is read-only, it belongs to
/// someone else.
template <class Mine, class Theirs>
[[nodiscard]] consteval bool leads_elsewhere(bool const_is_elsewhere) {
  using mine = typename pointee<Mine>::type;
  using theirs = typename pointee<Theirs>::type;
  if constexpr (std::is_void_v<mine> || std::is_void_v<theirs>) return false;
  else return !std::is_const_v<theirs> || (const_is_elsewhere && std::is_const_v<mine>);
}

template <class T> using by_data = decltype(std::declval<T&>().data());
template <class T> using by_get = decltype(std::declval<T&>().get());
template <class T> using by_star = decltype(*std::declval<T&>());
template <class T> using by_begin = decltype(*std::declval<T&>().begin());

template <class T>
[[nodiscard]] consteval bool is_handle() {
  constexpr bool light = std::is_trivially_copyable_v<T>;
  bool found = requires(T const& x) { x.use_count(); }
  || requires(T const& x) { x.data_handle(); };  // counted handles; mdspan
  if constexpr (requires(T & x, T const& c) {
                  x.data();
                  c.data();
                })
    found = found || leads_elsewhere<by_data<T>, by_data<T const>>(light);
  if constexpr (requires(T& x, T const& c) { x.get(); c.get(); })
    found = found || leads_elsewhere<by_get<T>, by_get<T const>>(!std::is_reference_v<by_get<T>>);
  if constexpr (requires(T & x, T const& c) {
                  *x;
                  *c;
                })
    found = found || leads_elsewhere<by_star<T>, by_star<T const>>(light);
  if constexpr (requires(T& x, T const& c) { *x.begin(); *c.begin(); })
    found = found || leads_elsewhere<by_begin<T>, by_begin<T const>>(false);
  return found;
}
/// Expressions of Eigen: `PlainObject` names the type that owns their data.
template <class T>
concept expression = requires { typename T::PlainObject; } && !std::is_same_v<T, typename T::PlainObject>;
template <class T>  // such as Map<Quaternion>
concept made_of_expression = !requires { typename T::PlainObject; } &&
                             requires(T const& x) { requires expression<std::remove_cvref_t<decltype(x.coeffs())>>; };
template <class T> inline constexpr bool is_handle_of_list = false;
template <class T> inline constexpr bool is_handle_of_list<std::initializer_list<T>> = true;

template <class T> inline constexpr bool refers = false;
template <template <class...> class Tuple, class... T>
inline constexpr bool refers<Tuple<T...>> = tuple_like<Tuple<T...>> && (std::is_reference_v<T> || ...);

/// An adaptor that holds another container and shows only one end of it: std::stack, std::queue, std::priority_queue.
template <class T>
concept adaptor_like = !range_like<T> && requires {
  typename T::container_type;
  typename T::value_type;
  requires std::is_object_v<typename T::value_type>;
};

template <class T, class... Seen> [[nodiscard]] consteval bool copied_by_traits();
template <class... T, class... Seen>
[[nodiscard]] consteval bool any_by_traits(types<T...>, types<Seen...>) {
  return (copied_by_traits<std::remove_cvref_t<T>, Seen...>() || ...);
}
/// `T`, or a part of it, must be copied by `state_traits<...>::copy`; `=` is not enough.
template <class T, class... Seen>
[[nodiscard]] consteval bool copied_by_traits() {
  using seen = types<Seen..., T>;
  if constexpr (is_one_of<T, Seen...>) return false;
  else if constexpr (traited_copy_itself<T>) return true;
  else if constexpr (std::is_array_v<T>)
    return copied_by_traits<std::remove_cv_t<std::remove_all_extents_t<T>>, Seen...>();
  else if constexpr (!std::is_class_v<T>) return false;
  else if constexpr (variant_like<T>) return any_by_traits(typename alternatives<T>::type{}, seen{});
  else if constexpr (range_like<T> || optional_like<T> || adaptor_like<T>)
    return any_by_traits(types<typename T::value_type>{}, seen{});
  else if constexpr (has_members<T>) return any_by_traits(member_types<T>{}, seen{});
  else return false;
}
template <class T>
concept traited_copy = copied_by_traits<T>();
/// Containers that can be copied part by part.
template <class T>
concept copied_in_parts = std::is_array_v<T> || tuple_like<T> || optional_like<T> || requires(T& x) {
  x.resize(x.size());
};

template <class T, class... Seen> [[nodiscard]] consteval copy_fault copy_fault_of();

template <class... T, class... Seen>
[[nodiscard]] consteval copy_fault worst_of(types<T...>, types<Seen...>) {
  auto worst = copy_fault::none;
  [[maybe_unused]] auto const note = [&worst](copy_fault why) { if (why > worst) worst = why; };
  (note(copy_fault_of<std::remove_cvref_t<T>, Seen...>()), ...);
  return worst;
}

/// A base class or a member of `T`, but not `T` itself.
template <class U, class T>
concept part_of = !std::is_same_v<std::remove_cvref_t<U>, T>;
/// Copies of a `U` share no data. `Assigned`: `=` must also be enough to copy it.
template <class U, bool Assigned, class... Seen>
concept copied_well = copy_fault_of<U, Seen...>() == copy_fault::none && !(Assigned && copied_by_traits<U>());
/// Converts to a part that is copied well. The conversion for other parts exists but cannot be used: if it did not
/// exist, the part's own first member would be tried instead. clang still finds a conversion if it is private, nvcc if
/// it is deleted, g++ in both cases.
template <class T, bool Assigned, class... Seen>
struct private_unless {
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
struct deleted_unless {
  template <part_of<T> U>
    requires copied_well<U, Assigned, T, Seen...>
  operator U() const;
  template <part_of<T> U>
    requires(!copied_well<U, Assigned, T, Seen...>)
  operator U() const = delete;
};
template <class T, class Part, std::size_t... Place>
[[nodiscard]] consteval bool made_of(std::index_sequence<Place...>) {
  return requires { T{(void(Place), Part{})...}; };
}
/// Every base class and every member of an aggregate satisfies `Part`.
template <class T, class Part, std::size_t At = 0>
[[nodiscard]] consteval bool all_made_of() {
  constexpr std::size_t braces = count_braces<T>();
  if constexpr (braces > most_members) return made_of<T, Part>(std::make_index_sequence<count_initialisers<T>()>{});
  else if constexpr (At == braces) return true;
  else if constexpr (!takes_braces<T, At, Part>() && takes_braces<T, At, anything<T>>()) return false;
  else return all_made_of<T, Part, At + 1>();
}
/// The fault of an aggregate with base classes, whose members cannot be named.
template <class T, class... Seen>
[[nodiscard]] consteval copy_fault copy_fault_of_bases() {
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
[[nodiscard]] consteval copy_fault copy_fault_of_parts() {
  using seen = types<Seen..., T>;
  if constexpr (std::is_array_v<T>) return copy_fault_of<std::remove_cv_t<std::remove_all_extents_t<T>>, Seen...>();
  else if constexpr (std::is_union_v<T>)
    return std::is_trivially_copyable_v<T> ? copy_fault::hidden_members : copy_fault::none;
  else if constexpr (!std::is_class_v<T>) return copy_fault::none;
  else if constexpr (derived_aggregate<T>()) return copy_fault_of_bases<T, Seen...>();
  else if constexpr ((adaptor_like<T> || variant_like<T> || range_like<T>)&&traited_copy<T> && !copied_in_parts<T>)
    return copy_fault::container;
  else if constexpr (variant_like<T>) return worst_of(typename alternatives<T>::type{}, seen{});
  else if constexpr (adaptor_like<T>) return worst_of(types<typename T::container_type>{}, seen{});
  else if constexpr (range_like<T> || optional_like<T>) return worst_of(types<typename T::value_type>{}, seen{});
  else if constexpr (has_members<T>) return worst_of(member_types<T>{}, seen{});
  else if constexpr (tuple_like<T>) return copy_fault::too_many_members;
  else if constexpr (plain_aggregate<T>())
    return hides_members<T>() ? copy_fault::hidden_members : copy_fault::too_many_members;
  else return copy_fault::none;
}
/// Whether copies of a `T` share data, and why. `T` is not const.
template <class T, class... Seen>
[[nodiscard]] consteval copy_fault copy_fault_of() {
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

}  // namespace cairn::detail
