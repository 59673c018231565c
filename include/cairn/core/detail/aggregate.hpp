// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file aggregate.hpp  Access to the members of an aggregate or of a tuple without their names.
#include <cstddef>
#include <type_traits>
#include <utility>
#include <cairn/language.hpp>

namespace cairn::detail {

/// The most members that an aggregate may have to be taken apart.
inline constexpr std::size_t most_members = 24;

/// Initialises only what accepts any argument at all, such as std::any.
struct nothing {};
/// Initialises anything but an array or a whole `T`. Never called; the conversion is defined for members whose
/// constructors are templates.
template <class T, std::size_t = 0>
struct anything {
  template <class U>
    requires(!std::is_same_v<std::remove_cvref_t<U>, T>)
  operator U() const { throw nothing{}; }
};
/// Initialises a base class of `T` only.
template <class T>
struct any_base {
  template <class U>
    requires(std::is_base_of_v<U, T> && !std::is_same_v<U, T>)
  operator U() const { throw nothing{}; }
};

/// `T` can be made from N empty braces followed by the tail. Each pair of braces stands for one member, which may be an
/// array or an aggregate.
template <class T, std::size_t Size, class... Tail>
consteval bool takes_braces() {
  // clang-format off
  if constexpr (Size == 0) return requires { T{Tail{}...}; };
  else if constexpr (Size == 1) return requires { T{{}, Tail{}...}; };
  else if constexpr (Size == 2) return requires { T{{}, {}, Tail{}...}; };
  else if constexpr (Size == 3) return requires { T{{}, {}, {}, Tail{}...}; };
  else if constexpr (Size == 4) return requires { T{{}, {}, {}, {}, Tail{}...}; };
  else if constexpr (Size == 5) return requires { T{{}, {}, {}, {}, {}, Tail{}...}; };
  else if constexpr (Size == 6) return requires { T{{}, {}, {}, {}, {}, {}, Tail{}...}; };
  else if constexpr (Size == 7) return requires { T{{}, {}, {}, {}, {}, {}, {}, Tail{}...}; };
  else if constexpr (Size == 8) return requires { T{{}, {}, {}, {}, {}, {}, {}, {}, Tail{}...}; };
  else if constexpr (Size == 9) return requires { T{{}, {}, {}, {}, {}, {}, {}, {}, {}, Tail{}...}; };
  else if constexpr (Size == 10) return requires { T{{}, {}, {}, {}, {}, {}, {}, {}, {}, {}, Tail{}...}; };
  else if constexpr (Size == 11) return requires { T{{}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, Tail{}...}; };
  else if constexpr (Size == 12) return requires { T{{}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, Tail{}...}; };
  else if constexpr (Size == 13) return requires { T{{}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, Tail{}...}; };
  else if constexpr (Size == 14) return requires { T{{}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, Tail{}...}; };
  else if constexpr (Size == 15) return requires { T{{}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, Tail{}...}; };
  else if constexpr (Size == 16) return requires { T{{}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, Tail{}...}; };
  else if constexpr (Size == 17) return requires { T{{}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, Tail{}...}; };
  else if constexpr (Size == 18) return requires { T{{}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, Tail{}...}; };
  else if constexpr (Size == 19) return requires { T{{}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, Tail{}...}; };
  else if constexpr (Size == 20) return requires { T{{}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, Tail{}...}; };
  else if constexpr (Size == 21) return requires { T{{}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, Tail{}...}; };
  else if constexpr (Size == 22) return requires { T{{}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, Tail{}...}; };
  else if constexpr (Size == 23) return requires { T{{}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, Tail{}...}; };
  else if constexpr (Size == 24) return requires { T{{}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, Tail{}...}; };
  else return false;
  // clang-format on
}

template <class T, std::size_t... Place>
consteval bool takes(std::index_sequence<Place...>) { return requires { T{anything<T, Place>{}...}; }; }
template <class T, std::size_t... Place, std::size_t... To>
consteval bool takes_nested(std::index_sequence<Place...>, std::index_sequence<To...>) {
  return requires { T{anything<T, Place>{}..., {anything<T>{}}, anything<T, To>{}...}; };
}
template <class T, class First, std::size_t... Place>
consteval bool takes_first(std::index_sequence<Place...>) {
  return requires { T{First{}, anything<T, Place>{}...}; };
}

/// The number of members of `T`, counted by empty braces: the least number from N on that suffices; more than
/// `most_members` if unknown.
template <class T, std::size_t Size = 0>
consteval std::size_t count_braces() {
  if constexpr (Size > most_members || (takes_braces<T, Size>() && !takes_braces<T, Size, anything<T>>())) return Size;
  else return count_braces<T, Size + 1>();
}
/// The most initialisers, up to N, that `T` takes: for types with a member that empty braces cannot initialise. An
/// array takes as many initialisers as it has elements.
template <class T, std::size_t Size = most_members>
consteval std::size_t count_initialisers() {
  if constexpr (Size == 0 || takes<T>(std::make_index_sequence<Size>{})) return Size;
  else return count_initialisers<T, Size - 1>();
}
/// How many of `All` initialisers belong to the member that begins with initialiser `At`. In braces of its own, this
/// initialiser stands for the whole member; the `After` initialisers that `T` then still takes belong to later members.
template <class T, std::size_t All, std::size_t At, std::size_t After = All - At - 1>
consteval std::size_t width() {
  if constexpr (takes_nested<T>(std::make_index_sequence<At>{}, std::make_index_sequence<After>{}))
    return All - At - After;
  else if constexpr (After == 0) return 1;
  else return width<T, All, At, After - 1>();
}
template <class T, std::size_t All, std::size_t At = 0>
consteval std::size_t count_widths() {
  if constexpr (At >= All) return 0;
  else return 1 + count_widths<T, All, At + width<T, All, At>()>();
}
template <class T, std::size_t Size = 0>
consteval bool has_base() {
  using rest = std::make_index_sequence<Size>;
  if constexpr (takes_first<T, any_base<T>>(rest{})) return !takes_first<T, nothing>(rest{});
  else if constexpr (takes_braces<T, 0>() || Size == most_members) return false;
  else return has_base<T, Size + 1>();
}

/// A class without bases whose members are all public.
template <class T>
consteval bool plain_aggregate() {
  if constexpr (std::is_class_v<T> && std::is_aggregate_v<T>) return !has_base<T>();
  else return false;
}
/// An aggregate with bases, whose members cannot be named here.
template <class T>
consteval bool derived_aggregate() {
  if constexpr (std::is_class_v<T> && std::is_aggregate_v<T>) return has_base<T>();
  else return false;
}
/// The number of members of a plain aggregate; more than `most_members` if there are too many to be taken apart.
template <class T>
consteval std::size_t member_count() {
  constexpr std::size_t braces = count_braces<T>();
  if constexpr (braces <= most_members || takes_braces<T, most_members>()) return braces;
  else {
    constexpr std::size_t widths = count_widths<T, count_initialisers<T>()>();
    return widths > 0 ? widths : most_members + 1;
  }
}

/// Calls `visit(member...)` with the members of an aggregate or the elements of a tuple, in order.
template <std::size_t Count, class T, class Visit>
constexpr auto with_members(T& x, Visit visit) {
  // clang-format off
  if constexpr (Count == 0) return visit();
  else if constexpr (Count == 1) { auto& [a] = x; return visit(a); }
  else if constexpr (Count == 2) { auto& [a, b] = x; return visit(a, b); }
  else if constexpr (Count == 3) { auto& [a, b, c] = x; return visit(a, b, c); }
  else if constexpr (Count == 4) { auto& [a, b, c, d] = x; return visit(a, b, c, d); }
  else if constexpr (Count == 5) { auto& [a, b, c, d, e] = x; return visit(a, b, c, d, e); }
  else if constexpr (Count == 6) { auto& [a, b, c, d, e, f] = x; return visit(a, b, c, d, e, f); }
  else if constexpr (Count == 7) { auto& [a, b, c, d, e, f, g] = x; return visit(a, b, c, d, e, f, g); }
  else if constexpr (Count == 8) { auto& [a, b, c, d, e, f, g, h] = x; return visit(a, b, c, d, e, f, g, h); }
  else if constexpr (Count == 9) { auto& [a, b, c, d, e, f, g, h, i] = x; return visit(a, b, c, d, e, f, g, h, i); }
  else if constexpr (Count == 10) { auto& [a, b, c, d, e, f, g, h, i, j] = x; return visit(a, b, c, d, e, f, g, h, i, j); }
  else if constexpr (Count == 11) { auto& [a, b, c, d, e, f, g, h, i, j, k] = x; return visit(a, b, c, d, e, f, g, h, i, j, k); }
  else if constexpr (Count == 12) { auto& [a, b, c, d, e, f, g, h, i, j, k, l] = x; return visit(a, b, c, d, e, f, g, h, i, j, k, l); }
  else if constexpr (Count == 13) { auto& [a, b, c, d, e, f, g, h, i, j, k, l, m] = x; return visit(a, b, c, d, e, f, g, h, i, j, k, l, m); }
  else if constexpr (Count == 14) { auto& [a, b, c, d, e, f, g, h, i, j, k, l, m, n] = x; return visit(a, b, c, d, e, f, g, h, i, j, k, l, m, n); }
  else if constexpr (Count == 15) { auto& [a, b, c, d, e, f, g, h, i, j, k, l, m, n, o] = x; return visit(a, b, c, d, e, f, g, h, i, j, k, l, m, n, o); }
  else if constexpr (Count == 16) { auto& [a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p] = x; return visit(a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p); }
  else if constexpr (Count == 17) { auto& [a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q] = x; return visit(a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q); }
  else if constexpr (Count == 18) { auto& [a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r] = x; return visit(a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r); }
  else if constexpr (Count == 19) { auto& [a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s] = x; return visit(a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s); }
  else if constexpr (Count == 20) { auto& [a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s, t] = x; return visit(a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s, t); }
  else if constexpr (Count == 21) { auto& [a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s, t, u] = x; return visit(a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s, t, u); }
  else if constexpr (Count == 22) { auto& [a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s, t, u, v] = x; return visit(a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s, t, u, v); }
  else if constexpr (Count == 23) { auto& [a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s, t, u, v, w] = x; return visit(a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s, t, u, v, w); }
  else if constexpr (Count == 24) { auto& [a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s, t, u, v, w, y] = x; return visit(a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s, t, u, v, w, y); }
  // clang-format on
}

/// A T that is never constructed. References to its members can be bound in constant expressions; nothing is read.
template <class T>
union unmade {
  constexpr unmade() noexcept : none{} {}
  constexpr ~unmade() {}
  char none;
  T made;
};
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wpragmas"                 // the other two options are clang's
#pragma GCC diagnostic ignored "-Wundefined-var-template"  // nothing is read, so no definition is needed
#pragma GCC diagnostic ignored "-Wundefined-internal"
template <class T>
extern unmade<T> const never_made;
template <class T>
consteval bool binds_all() {
  return with_members<member_count<T>()>(never_made<T>.made, [](auto const&... member) {
    return ((alignof(decltype(member)) <= alignof(T)) && ... && true);
  });
}
#pragma GCC diagnostic pop
/// References reach every member. For a bit-field a reference binds to a temporary, which is not a constant expression;
/// a packed member may be misaligned for its type.
template <class T>
concept binds_members = requires { requires std::bool_constant<binds_all<T>()>::value; };

/// Initialises a union only.
struct any_union {
  template <class U>
    requires std::is_union_v<U>
  operator U() const;
};
template <class T, class At, std::size_t... Place, std::size_t... To>
consteval bool takes_at(std::index_sequence<Place...>, std::index_sequence<To...>) {
  return requires { T{anything<T, Place>{}..., At{}, anything<T, To>{}...}; };
}
/// Whether initialiser `At` of `All` belongs to a union. A structured binding would name the members of an anonymous
/// union, and that error cannot be detected in a requires-expression.
template <class T, std::size_t All, std::size_t At>
consteval bool has_union_at() {
  using before = std::make_index_sequence<At>;
  using after = std::make_index_sequence<All - At - 1>;
  if constexpr (takes_braces<T, At, any_union>()) return !takes_braces<T, At, nothing>();
  else if constexpr (takes_at<T, any_union>(before{}, after{})) return !takes_at<T, nothing>(before{}, after{});
  else return false;
}
template <class T>
consteval bool has_union() {
  constexpr std::size_t all = count_braces<T>() <= most_members ? count_braces<T>() : count_initialisers<T>();
  return []<std::size_t... At>(std::index_sequence<At...>) { return (has_union_at<T, all, At>() || ...); }
  (std::make_index_sequence<all>{});
}
/// A plain aggregate of up to `most_members` members, not all of which references can reach.
template <class T>
consteval bool hides_members() {
  if constexpr (member_count<T>() > most_members) return false;
  else if constexpr (has_union<T>()) return true;
  else return !binds_members<T>;
}

template <class T>
concept tuple_like = requires { std::tuple_size<T>::value; };
/// The number of parts that `with_members` visits. Arrays do not count as tuples here, and an aggregate with
/// `tuple_size` counts as a tuple.
template <class T>
consteval std::size_t parts() {
  using U = std::remove_cv_t<T>;
  if constexpr (tuple_like<U>) return std::tuple_size_v<U>;
  else if constexpr (plain_aggregate<U>()) return hides_members<U>() ? most_members + 1 : member_count<U>();
  else return most_members + 1;
}
template <class T>
concept has_members = std::is_class_v<T> && parts<T>() <= most_members;

/// A list of types.
template <class... T> struct types {};
/// Lists the types of its arguments.
struct member_lister {
  template <class... Member>
  constexpr types<Member...> operator()(Member&...) const noexcept { return {}; }
};
/// The types of all members, in order, as `types<Member...>`; those of a const T are const.
template <has_members T>
using member_types = decltype(with_members<parts<T>()>(std::declval<T&>(), member_lister{}));

}  // namespace cairn::detail
