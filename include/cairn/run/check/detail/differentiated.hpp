// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file differentiated.hpp  Which numbers of a state `check_adjoint` varies: all, those of the part that the adjoint
/// belongs to, or all but constants.
#include <cstddef>
#include <cstdint>
#include <tuple>
#include <type_traits>
#include <utility>
#include <cairn/core/action.hpp>
#include <cairn/core/numbers.hpp>
#include <cairn/core/state_traits.hpp>
#include <cairn/run/check/detail/number_counts.hpp>
#include <cairn/run/check/detail/number_runs.hpp>
#include <cairn/run/check/with_constants.hpp>

namespace cairn::detail {

class unnamed_state;  // never defined: a state, or an adjoint, of a type that only the loop knows
class unnamed_bar;

/// Owns a state or an adjoint without its type.
template <class Unnamed>
class held_value {
 public:
  /// Holds the T that `make()` returns.
  template <class T, class Make>
  [[nodiscard]] static held_value made(Make&& make) {
    held_value value;
    value.at_ = new T(make());
    value.end_ = [](void* at) { delete static_cast<T*>(at); };
    return value;
  }
  held_value(held_value&& from) noexcept : at_{std::exchange(from.at_, nullptr)}, end_{from.end_} {}
  [[gnu::noinline]] held_value& operator=(held_value&& from) noexcept {
    std::swap(at_, from.at_);
    std::swap(end_, from.end_);
    return *this;
  }
  [[gnu::noinline]] ~held_value() {
    if (at_ != nullptr) end_(at_);
  }
  [[nodiscard]] Unnamed& operator*() noexcept { return *static_cast<Unnamed*>(at_); }
  [[nodiscard]] Unnamed const& operator*() const noexcept { return *static_cast<Unnamed const*>(at_); }

 private:
  held_value() = default;
  void* at_ = nullptr;
  void (*end_)(void*) = nullptr;
};
using held_state = held_value<unnamed_state>;
using held_bar = held_value<unnamed_bar>;

/// What a check asks of a loop. No check knows the types of its states, steps and adjoints, so that each check is
/// compiled once, not for each loop that is checked.
class checked_functions {
 public:
  /// What the loop's types say: whether all numbers of a state are known, an adjoint is a state, the step writes into
  /// another state, `pull` calls the step, there is a tangent, and the step repeats what it chose at first.
  struct facts {
    bool numbered, bar_is_state, out_of_place, step_in_adjoint, tangent, chooses;
  };

  [[nodiscard]] virtual facts known() const = 0;
  [[nodiscard]] virtual held_state copy(unnamed_state const& x) const = 0;
  virtual void advance(unnamed_state& x, step_index i) = 0;
  /// The same with a choice of its own. \pre chooses
  virtual void advance_anew(unnamed_state& x, step_index i) = 0;
  /// \pre out_of_place
  virtual void run_out_of_place(unnamed_state const& x, unnamed_state& x1, step_index i) = 0;
  /// \pre tangent
  virtual void take_tangent(unnamed_state const& x, unnamed_state& dx, step_index i) = 0;
  [[nodiscard]] virtual held_bar made_bar(unnamed_state const& x) = 0;
  virtual void pull(unnamed_state const& x, unnamed_bar& bar, step_index i) = 0;

  /// Visits the numbers that are differentiated, before any are taken as constants, or all that are known.
  virtual void visit(unnamed_state& x, bool all, run_visitor f) const = 0;
  virtual void visit(unnamed_state const& x, bool all, run_visitor f) const = 0;
  virtual void visit(unnamed_bar& bar, bool all, run_visitor f) const = 0;
  virtual void visit(unnamed_bar const& bar, bool all, run_visitor f) const = 0;
  /// Calls f for the groups of differentiated numbers, as `for_each_group` does.
  virtual void each_group(unnamed_state const& x, call_ref<void(std::size_t, bool)> f) const = 0;
  /// See `member_with`.
  [[nodiscard]] virtual std::int64_t member_of(unnamed_state const& x, std::int64_t number) const = 0;
  /// Chooses the numbers of one member, if the adjoint has fewer than the state.
  virtual void find_part(unnamed_state const& x0, step_index n) = 0;
  /// Whether a frame that holds `from` may be used for x again.
  [[nodiscard]] virtual bool has_capacity_of(unnamed_state const& x, unnamed_state const& from) const = 0;
  /// Whether the values of two states differ, as far as they are known.
  [[nodiscard]] virtual bool differ(unnamed_state const& a, unnamed_state const& b) const = 0;

 protected:
  ~checked_functions() = default;
};

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
