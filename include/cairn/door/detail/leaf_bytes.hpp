// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file leaf_bytes.hpp  What steps and adjoints say about the memory that they take.
#include <concepts>
#include <type_traits>
#include <utility>
#include <cairn/core/action.hpp>
#include <cairn/core/sweep_bytes.hpp>
#include <cairn/core/wide.hpp>
#include <cairn/door/detail/step_shape.hpp>
#include <cairn/rules/detail/leaf_weighing.hpp>

namespace cairn::detail {

/// The function that the caller wrote, without what says its form or refers to it.
template <class Fn>
[[nodiscard]] constexpr auto& function_in(Fn& f) noexcept {
  if constexpr (reference_to<Fn>) return function_in(f.get());
  else if constexpr (!std::is_same_v<typename untagged<Fn>::type, Fn>) return function_in(f.call);
  else return f;
}

/// An adjoint that says how many bytes a leaf of so many steps holds besides its adjoint: `leaf_bytes(steps)`.
template <class Fn>
concept tells_leaf = requires(Fn& f) {
  { f.leaf_bytes(step_index{1}) } -> std::convertible_to<wide>;
};
/// The adjoint of a tool, which finds that out at a state: `leaf_bytes(x, leaf, steps)`.
template <class Fn, class State>
concept weighs_leaf = requires(Fn& f, State& x) {
  { f.leaf_bytes(x, step_index{1}, step_index{1}) } -> std::convertible_to<wide>;
};
template <class Adjoint>
using written_function = std::remove_reference_t<decltype(function_in(std::declval<Adjoint&>()))>;
template <class Adjoint> concept tells_leaf_bytes = tells_leaf<written_function<Adjoint>>;
template <class Adjoint, class State> concept weighs_leaf_bytes = weighs_leaf<written_function<Adjoint>, State>;
template <class Adjoint, class State>
concept says_leaf_bytes = tells_leaf_bytes<Adjoint> || weighs_leaf_bytes<Adjoint, State>;

/// What a leaf holds, 0 if nobody says.   \param x  a state of the loop; an object is left as it is
/// \param steps  of the loop: wherever in it a leaf is; 0 for one of its first steps
template <class Adjoint, class State>
[[nodiscard]] wide leaf_bytes_of(Adjoint& adjoint, State& x,
                                 step_index leaf, step_index steps) {
  using written = written_function<Adjoint>;
  if constexpr (weighs_leaf<written, State>) return wide(function_in(adjoint).leaf_bytes(x, leaf, steps));
  else if constexpr (tells_leaf<written>) return wide(function_in(adjoint).leaf_bytes(leaf));
  else return 0;
}

template <class Adjoint, class State>
consteval leaf_weighing weighing_of() {
  using written = written_function<Adjoint>;
  if constexpr (requires { requires bool(written::leaf_stays); }) return {true, true};
  else return {weighs_leaf<written, State>, false};
}

/// An adjoint that knows the most bytes that a leaf has held.
template <class Adjoint>
concept says_leaf_held = requires(Adjoint& adjoint) { wide(function_in(adjoint).leaf_held()); };

/// What a leaf holds, as far as nothing has to run for it. Where nobody says, a leaf of more than one step holds nobody
/// knows what: `unknown_bytes`.
template <class Adjoint>
[[nodiscard]] wide leaf_known(Adjoint& adjoint, step_index steps) {
  if constexpr (requires { wide(function_in(adjoint).leaf_known(steps)); })
    return function_in(adjoint).leaf_known(steps);
  else if constexpr (tells_leaf_bytes<Adjoint>) return wide(function_in(adjoint).leaf_bytes(steps));
  else return steps > 1 ? unknown_bytes : 0;
}

/// What a step that records its choices keeps of so many steps; 0 for others.
template <class Step>
[[nodiscard]] wide choice_bytes_of(Step& step, step_index steps) {
  if constexpr (requires { wide(function_in(step).choice_bytes(steps)); }) return function_in(step).choice_bytes(steps);
  else return 0;
}

/// What an objective adds to one adjoint call of a leaf and to the step calls of the loop, and the most steps that the
/// adjoint reverses without a term between.
struct term_needs {
  wide bytes = 0, step_calls = 0;
  step_index part = 1;
};
/// \param heap  bytes of one state, or snapshot, outside it
template <class Adjoint>
[[nodiscard]] term_needs needs_of_terms(Adjoint& adjoint, wide heap,
                                        step_index steps, step_index leaf) {
  if constexpr (requires { function_in(adjoint).of_terms(heap, steps, leaf); })
    return function_in(adjoint).of_terms(heap, steps, leaf);
  else if constexpr (requires { adjoint.reverse.of_terms(heap, steps, leaf); })
    return adjoint.reverse.of_terms(heap, steps, leaf);
  else return {0, 0, leaf};
}

}  // namespace cairn::detail
