// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file forms.hpp  The forms in which a step and an adjoint may be written. The library finds out which one is used.
#include <type_traits>
#include <utility>
#include <cairn/core/detail/kept_as.hpp>
#include <cairn/door/detail/adjoint_shape.hpp>
#include <cairn/door/detail/lending.hpp>
#include <cairn/door/detail/step_shape.hpp>
#include <cairn/door/library_bar.hpp>
#include <cairn/door/recorded.hpp>

namespace cairn {

/// Declares that `f(x[, i])` changes x. Needed, like the next four, only for functions whose types do not show their
/// form. An lvalue is kept by reference, see `hooked`.
template <class Fn>
[[nodiscard]] constexpr auto in_place(Fn&& f) {
  return detail::tagged<step_form::in_place, detail::kept_as<Fn>>{std::forward<Fn>(f)};
}
/// Declares that f is `x1 = f(x[, i])`.
template <class Fn>
[[nodiscard]] constexpr auto by_value(Fn&& f) {
  return detail::tagged<step_form::by_value, detail::kept_as<Fn>>{std::forward<Fn>(f)};
}
/// Declares that `f(x, x1[, i])` writes all of x1; the content of x1 before the call is unspecified.
template <class Fn>
[[nodiscard]] constexpr auto out_of_place(Fn&& f) {
  return detail::tagged<step_form::out_of_place, detail::kept_as<Fn>>{std::forward<Fn>(f)};
}
/// Declares that `f(x, bar, first, last)` reverses the steps [first, last); x is the state `first`.
template <class Fn>
[[nodiscard]] constexpr auto leaf(Fn&& f) {
  return detail::tagged<adjoint_form::leaf, detail::kept_as<Fn>>{std::forward<Fn>(f)};
}
/// Declares that `f(x, x1, bar, i)` also takes the state after the step.
template <class Fn>
[[nodiscard]] constexpr auto with_next(Fn&& f) {
  return detail::tagged<adjoint_form::with_next, detail::kept_as<Fn>>{std::forward<Fn>(f)};
}

/// One forward step on states State, in one of the three forms, with or without an index; see `checkpointed_while` for
/// steps that return bool.
template <class Fn, class State>
concept step_of = detail::shape_of_step<Fn, State>()
.form != step_form::none && !detail::shape_of_step<Fn, State>().stops;
/// A function that takes an adjoint of type Bar from one state to the state before.
template <class Fn, class State, class Bar>
concept adjoint_of = detail::shape_of_adjoint<Fn, State, Bar>().form != adjoint_form::none;

namespace detail {

/// A seed that is a function of the final state. The seed of a loop over an object may change the object, because the
/// bar may live in it. Callable containers, such as Eigen's matrices, are values and not functions.
template <class Seed, class State>
concept seed_function = calls<Seed, lent_state<State>> && !range_like<std::remove_cv_t<Seed>>;

/// The adjoint's type: that of the seed, or of the seed's result for the final state.
template <class Seed, class State, bool = seed_function<Seed, State>>
struct bar_of { using type = std::remove_cvref_t<Seed>; };
template <class Seed, class State>
struct bar_of<Seed, State, true> {
  using made = std::remove_cvref_t<std::invoke_result_t<Seed&, lent_state<State>>>;
  using type = std::conditional_t<saved_state<State> && std::is_void_v<made>, library_bar, made>;
};

/// Converts to the result of `f()`: `optional.emplace(made_by<Fn>{f})` makes the result in place, without a second
/// object.
template <class Fn>
struct made_by {
  Fn f;
  constexpr operator decltype(std::declval<Fn&>()())() { return f(); }
};
template <class Fn> made_by(Fn) -> made_by<Fn>;

/// Puts the result of `f()` into a std::optional or the like: destroys the old content first, then makes the result in
/// place. A class that can be constructed from anything would be constructed from the made_by itself, and compilers
/// differ on that; for such classes the result is moved.
template <template <class> class Held, class T, class Fn>
constexpr void emplace_by(Held<T>& into, Fn&& f) {
  if constexpr (std::is_constructible_v<T, stranger const&>) into.reset(), into.emplace(f());
  else into.emplace(made_by<std::remove_reference_t<Fn>&>{f});
}

/// Calls f, so that bar becomes the adjoint of the state before, whether f changes bar or returns the new one.
template <class Fn, class Bar, class... Args>
constexpr void pull_back(Fn& f, Bar& bar, Args&&... all) {
  constexpr bool changes = std::is_void_v<call_result<Fn, Args...>>, lends = (lent<Args&&> || ...);
  if constexpr (changes && lends) call_lending(f, std::forward<Args>(all)...);
  else if constexpr (changes) f(std::forward<Args>(all)...);
  else if constexpr (lends) bar = call_lending(f, std::forward<Args>(all)...);
  else bar = f(std::forward<Args>(all)...);
}

/// The same if the library stores bar: f is called without one.
template <class Fn, class Input, class... Args>
constexpr void pull_back(Fn& f, library_bar&, Input&& x, library_bar&, Args&&... rest) {
  call_lending(f, std::forward<Input>(x), std::forward<Args>(rest)...);
}

/// The same for one step or its tape; f takes the step's number if `Indexed`.
template <bool Indexed, class Fn, class Bar, class From>
constexpr void pull_back_step(Fn& f, Bar& bar, From& from, step_index const i) {
  if constexpr (Indexed) pull_back(f, bar, from, bar, i);
  else pull_back(f, bar, from, bar);
}

}  // namespace detail
}  // namespace cairn
