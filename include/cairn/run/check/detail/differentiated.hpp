// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file differentiated.hpp  Which numbers of a state `check_adjoint` varies: all, those of the part that the adjoint
/// belongs to, or all but constants.
#include <cstddef>
#include <cstdint>
#include <tuple>
#include <type_traits>
#include <cairn/core/numbers.hpp>
#include <cairn/core/state_traits.hpp>
#include <cairn/run/check/detail/number_counts.hpp>
#include <cairn/run/check/detail/number_runs.hpp>
#include <cairn/run/check/with_constants.hpp>

namespace cairn::detail {

template <class Input> inline constexpr bool has_constants = false;
template <class State, class... Members> inline constexpr bool has_constants<with_constants<State, Members...>> = true;
template <class Input> inline constexpr bool names_constants = false;
template <class State, class First, class... Members>
inline constexpr bool names_constants<with_constants<State, First, Members...>> = true;
template <class Input> struct state_within { using type = Input; };
template <class State, class... Members> struct state_within<with_constants<State, Members...>> { using type = State; };

template <class Part, class T> [[nodiscard]] consteval std::size_t count_of_parts();
template <class Part, class... T>
[[nodiscard]] consteval std::size_t count_among(types<T...>) {
  return (std::size_t{0} + ... +
          (std::is_same_v<std::remove_const_t<T>, Part> ? 1 : count_of_parts<Part, std::remove_const_t<T>>()));
}
/// The number of members of `T`, including members of members, that have type `Part`.
template <class Part, class T>
[[nodiscard]] consteval std::size_t count_of_parts() {
  if constexpr (kind<T> != made_of::members) return 0;
  else return count_among<Part>(member_types<T>{});
}
/// Calls f with each of these members.
template <class Part, class Input, class Fn>
constexpr void for_parts_of_type(Input& x, Fn& f) {
  for_each_part(x, [&](auto& part) {
    using T = std::remove_cvref_t<decltype(part)>;
    if constexpr (std::is_same_v<T, Part>) f(part);
    else if constexpr (count_of_parts<Part, T>() > 0) for_parts_of_type<Part>(part, f);
  });
}

/// Types whose members can be named as constants: their numbers are visited member by member.
template <class T>
concept named_in_members = kind<T> == made_of::members && !traited_numbers<T const> && !member_numbers<T const>;

/// All numbers.
struct every_number {
  template <class Input, class Fn>
  void operator()(Input& x, Fn&& f) const { visit_numbers(x, f); }
};
/// The numbers of a state whose adjoint is a `Bar`; if `part` is true, only those of the one member of that type.
template <class State, class Bar>
struct numbers_by_adjoint {
  static constexpr bool has_part = count_of_parts<Bar, State>() == 1;
  static constexpr bool constants_are_named = false;
  bool part = has_part && !numbered<State>;

  template <class Input, class Fn>
  void operator()(Input& x, Fn&& f) const {
    parts(x, [&](auto& found) { visit_numbers(found, f); });
  }
  /// Calls f with each part of x that holds such numbers.
  template <class Input, class Fn>
  void parts(Input& x, Fn const& f) const {
    if constexpr (has_part) {
      if (part) return for_parts_of_type<Bar>(x, f);
    }
    if constexpr (numbered<State> || !has_part) f(x);
  }
};
template <class Input>
[[nodiscard]] void const* place_of(Input const& x) noexcept { return &reinterpret_cast<unsigned char const&>(x); }
/// All numbers except those of the named members.
template <class State, class... Members>
struct numbers_but {
  static constexpr bool constants_are_named = true;
  explicit numbers_but(with_constants<State, Members...> const& named) : constants{named.constants} {}
  std::tuple<Members State::*...> constants;

  template <class Input, class Fn>
  void operator()(Input& x, Fn&& f) const {
    if constexpr (sizeof...(Members) == 0) visit_numbers(x, f);
    else for_each_part(x, [&](auto& part) {
      using T = std::remove_cvref_t<decltype(part)>;
      bool const named =
          std::apply([&](auto... members) { return ((place_of(x.*members) == place_of(part)) || ...); }, constants);
      if constexpr (numbered<T> || !is_one_of<T, Members...>)
        if (!named) visit_numbers(part, f);
    });
  }
};

/// The floating-point numbers of x, without its type; x must outlive the result.
template <class Input>
[[nodiscard]] auto every_number_of(Input& x) noexcept {
  return [&x](run_visitor f) { visit_runs(x, every_number{}, f); };
}

/// Calls f(count, asked) for each group of numbers of x that belong together, in their order: those of one member, or
/// of a member's member, which may be an array. `asked` is true if a type chooses itself which numbers are
/// differentiated.
template <class Input, class Fn>
void for_each_group(Input const& x, Fn const& f) {
  if constexpr (traited_numbers<Input const> || member_numbers<Input const>) f(count_of(every_number_of(x)), true);
  else if constexpr (named_in_members<Input> && !complex_like<Input>)
    for_each_part(x, [&](auto const& part) { for_each_group(part, f); });
  else f(count_of(every_number_of(x)), false);
}
/// Which member of an aggregate holds a number; -1 if the type is not an aggregate.
template <class Input>
[[nodiscard]] std::int64_t member_with(Input const& x, std::int64_t number) {
  if constexpr (numbered<Input> && named_in_members<Input>) {
    std::int64_t member = 0, found = -1, before = 0;
    for_each_part(x, [&](auto const& part) {
      before += std::int64_t(count_of(every_number_of(part)));
      if (found < 0 && number < before) found = member;
      ++member;
    });
    return found;
  } else return -1;
}

}  // namespace cairn::detail
