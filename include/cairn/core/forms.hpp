#pragma once
/// \file forms.hpp  The shapes in which a step and an adjoint may be written; which one it is, the library finds out.
#include <optional>
#include <type_traits>
#include <utility>
#include <cairn/core/adjoint_shape.hpp>
#include <cairn/core/detail/step_shape.hpp>
#include <cairn/core/detail/user_values.hpp>
#include <cairn/core/traits.hpp>

namespace cairn {

/// Says that `f(x[, i])` changes x. This and the next four are for functions whose types do not tell their form.
template <class F>
[[nodiscard]] constexpr auto in_place(F f) { return detail::tagged<step_form::in_place, F>{std::move(f)}; }
/// Says that f is `x1 = f(x[, i])`.
template <class F>
[[nodiscard]] constexpr auto by_value(F f) { return detail::tagged<step_form::by_value, F>{std::move(f)}; }
/// Says that `f(x, x1[, i])` writes x1, all of it; what x1 holds before the call is not specified.
template <class F>
[[nodiscard]] constexpr auto out_of_place(F f) { return detail::tagged<step_form::out_of_place, F>{std::move(f)}; }
/// Says that `f(x, bar, first, last)` reverses the steps [first, last); x is the state `first`.
template <class F>
[[nodiscard]] constexpr auto leaf(F f) { return detail::tagged<adjoint_form::leaf, F>{std::move(f)}; }
/// Says that `f(x, x1, bar, i)` takes the state after the step, too.
template <class F>
[[nodiscard]] constexpr auto with_next(F f) { return detail::tagged<adjoint_form::with_next, F>{std::move(f)}; }

/// One forward step on states S, in one of the three forms, with or without an index; see `checkpointed_while` for
/// steps that return bool.
template <class F, class S>
concept step_of = detail::shape_of_step<F, S>().form != step_form::none && !detail::shape_of_step<F, S>().stops;
/// What takes an adjoint of type Bar from one state to the state before it.
template <class F, class S, class Bar>
concept adjoint_of = detail::shape_of_adjoint<F, S, Bar>().form != adjoint_form::none;

namespace detail {

/// A seed that is a function of the final state, which an object's may change: its bar may live in there. Containers
/// that can be called, as Eigen's matrices can with indices, are values.
template <class Seed, class S>
concept seed_function = calls<Seed, lent_state<S>> && !range_like<std::remove_cv_t<Seed>>;

/// Converts to what `f()` returns: `optional.emplace(made_by<F>{f})` makes the result in place, without a second
/// object.
template <class F>
struct made_by {
  F f;
  constexpr operator decltype(std::declval<F&>()())() { return f(); }
};
template <class F> made_by(F) -> made_by<F>;

/// `into` holds what `f()` returns, made in place. Classes that can be made from anything at all would be asked to make
/// themselves of the made_by, which compilers settle differently; for them the result is moved.
template <class T, class F>
constexpr void emplace_by(std::optional<T>& into, F&& f) {
  if constexpr (std::is_constructible_v<T, stranger const&>) into.emplace(f());
  else into.emplace(made_by<std::remove_reference_t<F>&>{f});
}

/// bar becomes the adjoint of the state before, whether f changes it or returns it.
template <class F, class Bar, class... A>
constexpr void pull_back(F& f, Bar& bar, A&&... all) {
  if constexpr (std::is_void_v<call_result<F, A...>>) call_lending(f, std::forward<A>(all)...);
  else bar = call_lending(f, std::forward<A>(all)...);
}

/// The same where bar is the library's, and f is called without one.
template <class F, class X, class... A>
constexpr void pull_back(F& f, library_bar&, X&& x, library_bar&, A&&... rest) {
  call_lending(f, std::forward<X>(x), std::forward<A>(rest)...);
}

/// The same of one step or its tape, whose number f takes or does not.
template <bool Indexed, class F, class Bar, class From>
constexpr void pull_back_step(F& f, Bar& bar, From& from, [[maybe_unused]] step_index const i) {
  if constexpr (Indexed) pull_back(f, bar, from, bar, i);
  else pull_back(f, bar, from, bar);
}

}  // namespace detail
}  // namespace cairn
