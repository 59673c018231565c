// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file model.hpp  A step and its adjoint as one object: what `differentiate` differentiates.
#include <type_traits>
#include <utility>
#include <cairn/core/numbers.hpp>
#include <cairn/core/state_traits.hpp>
#include <cairn/door/detail/member_function.hpp>
#include <cairn/door/forms.hpp>

namespace cairn {
namespace detail {
struct no_bar_maker {};
}  // namespace detail

/// A step and its adjoint, written by hand: `model{step, adjoint}`, in the forms that `gradient` takes, with p and dp
/// before the index if there are parameters. A class of your own with members `step` and `adjoint`, functions or
/// function objects, is a model as well.
///
/// `bar(x)` makes the adjoint of a state with all numbers zero; by default it is a copy of x whose numbers are set to
/// zero. A loop over an object needs it.
/// \ingroup start
template <class Step, class Adjoint, class Bar = detail::no_bar_maker>
struct model {
  [[no_unique_address]] Step step;        ///< `step(x, p, i)`
  [[no_unique_address]] Adjoint adjoint;  ///< `adjoint(x, bar, p, dp, i)`
  [[no_unique_address]] Bar bar{};        ///< `bar(x)`
};
/// By default bar is a copy of the state with zeros.
template <class Step, class Adjoint> model(Step, Adjoint) -> model<Step, Adjoint>;
/// With a function that makes bar.
template <class Step, class Adjoint, class Bar> model(Step, Adjoint, Bar) -> model<Step, Adjoint, Bar>;

namespace detail {

/// A name that is there, of whatever kind: a base with the same name makes it ambiguous.
struct other_parts { void step(); void adjoint(); };
template <class Model> struct with_other_parts : Model, other_parts {};
template <class Model>
concept has_parts = std::is_class_v<Model> && !std::is_final_v<Model> && !requires {
  &with_other_parts<Model>::step;
}
&&!requires { &with_other_parts<Model>::adjoint; };

/// The step of a model, by reference where it is a function object of its own.
template <class Model>
[[nodiscard]] constexpr decltype(auto) step_in(Model& m) {
  if constexpr (requires { sizeof(m.step); }) return (m.step);
  else return member_as_function<member_step, Model>{{m}};
}
template <class Model>
[[nodiscard]] constexpr decltype(auto) adjoint_in(Model& m) {
  if constexpr (requires { sizeof(m.adjoint); }) return (m.adjoint);
  else return member_as_function<member_adjoint, Model>{{m}};
}

template <class Model, class State>
concept makes_bar = requires(Model& m, State const& x) { m.bar(x); };
/// The type of the adjoint of a model's state.
template <class Model, class State>
consteval auto find_bar() {
  if constexpr (makes_bar<Model, State>)
    return std::type_identity<
        std::remove_cvref_t<decltype(std::declval<Model&>().bar(std::declval<State const&>()))>>{};
  else return std::type_identity<State>{};
}
template <class Model, class State> using bar_in = typename decltype(find_bar<Model, State>())::type;

/// Sets all numbers of an adjoint to zero.
template <class Bar>
void clear_numbers(Bar& bar) {
  visit_numbers(bar, [](auto* at, std::size_t count) {
    for (std::size_t k = 0; k < count; ++k) at[k] = 0;
  });
}
/// `bar` becomes a zero adjoint of x, in its own memory if that fits.
template <class Model, class State, class Bar>
void make_bar(Model& m, State const& x, Bar& bar) {
  if constexpr (makes_bar<Model, State>) bar = m.bar(x);
  else {
    copy_state(x, bar);
    clear_numbers(bar);
  }
}

}  // namespace detail
}  // namespace cairn
