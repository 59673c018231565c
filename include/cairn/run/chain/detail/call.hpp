// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file call.hpp  The one place from which each function of a stage is called.
#include <cstdint>
#include <type_traits>
#include <utility>
#include <cairn/door/detail/lending.hpp>
#include <cairn/door/detail/stage_shape.hpp>

namespace cairn::detail {

/// The first parameter of a stage's function, called with `Args...`, is not a reference.
template <class Name, class Stage, class... Args> inline constexpr bool takes_first_by_value = false;
template <class Name, class Stage, class... Args>
  requires requires { Name::template pointer<std::remove_const_t<Stage>>(); }
inline constexpr bool takes_first_by_value<Name, Stage, Args...> =
    takes_by_value<decltype(Name::template pointer<std::remove_const_t<Stage>>()), 0, arguments<Args...>>;

/// What a function of a stage takes beside: nothing, p, or p and dp.
enum class stage_params_taken : std::uint8_t { none, p, both };

/// In the place of an argument that a stage does not take: costs nothing to pass.
struct not_taken {
  template <class T>
  constexpr not_taken(T const&) noexcept {}
};
/// Calls a function of a stage with what it takes of the p and dp in `given`, and of the stage's number.
/// Never inlined: a compiler that optimised the same stage once for the forward run and once for the recomputation could
/// contract it (fused multiply-add) in two ways, and the recomputed states would differ in bits.
template <class Name, stage_params_taken Taken, bool Indexed, class Given, class Stage, class First, class... Rest>
[[gnu::noinline]] auto call_stage(
    Stage& stage, [[maybe_unused]] std::conditional_t<Taken == stage_params_taken::none, not_taken, Given const&> given,
    [[maybe_unused]] std::conditional_t<Indexed, step_index, not_taken> const i, First&& first, Rest&&... rest) {
  constexpr bool by_value = takes_first_by_value<Name, Stage, First, Rest...>;
  constexpr bool one = Taken == stage_params_taken::p, both = Taken == stage_params_taken::both;
  if constexpr (both && Indexed)
    return Name::call(stage, lend<by_value>(static_cast<First&&>(first)), static_cast<Rest&&>(rest)..., given.p,
                      given.dp, i);
  else if constexpr (both)
    return Name::call(stage, lend<by_value>(static_cast<First&&>(first)), static_cast<Rest&&>(rest)..., given.p,
                      given.dp);
  else if constexpr (one && Indexed)
    return Name::call(stage, lend<by_value>(static_cast<First&&>(first)), static_cast<Rest&&>(rest)..., given.p, i);
  else if constexpr (one)
    return Name::call(stage, lend<by_value>(static_cast<First&&>(first)), static_cast<Rest&&>(rest)..., given.p);
  else if constexpr (Indexed)
    return Name::call(stage, lend<by_value>(static_cast<First&&>(first)), static_cast<Rest&&>(rest)..., i);
  else return Name::call(stage, lend<by_value>(static_cast<First&&>(first)), static_cast<Rest&&>(rest)...);
}

/// `y = forward(x)` of a stage read as `Reading`.   \param given  p and dp, as far as there are any
template <class Reading, class Stage, class Given, class State>
auto stage_forward(Stage& stage, Given const& given, step_index const i, State const& x) {
  constexpr auto taken = stage_params_taken(Reading::shape.runs_with_p);
  return call_stage<member_forward, taken, Reading::indexed, Given>(stage, given, i, x);
}
/// Its tape: what it records, or its output.
template <class Reading, class Stage, class Given, class State>
auto stage_record(Stage& stage, Given const& given, step_index const i, State const& x) {
  constexpr bool taped = Reading::shape.taped;
  using name = std::conditional_t<taped, member_record, member_forward>;
  constexpr auto taken = stage_params_taken(taped ? Reading::shape.records_with_p : Reading::shape.runs_with_p);
  return call_stage<name, taken, Reading::indexed, Given>(stage, given, i, x);
}
/// The adjoint in any form: changes bar, or returns the new one. \param x  null if the shape says that it is not needed
template <class Reading, class Stage, class Given, class State, class Tape, class Bar>
auto stage_backward(Stage& stage, Given const& given, step_index const i, [[maybe_unused]] State const* x,
                    [[maybe_unused]] Tape& tape, Bar& bar) {
  static constexpr stage_shape shape = Reading::shape;
  constexpr auto taken = shape.adds ? stage_params_taken::both : stage_params_taken::none;
  using old = std::conditional_t<shape.moves_adjoint, Bar&&, Bar&>;
  static constexpr bool indexed = Reading::indexed;
  if constexpr (shape.taped && shape.needs_state)
    return call_stage<member_backward, taken, indexed, Given>(stage, given, i, *x, tape, static_cast<old>(bar));
  else if constexpr (shape.taped)
    return call_stage<member_backward, taken, indexed, Given>(stage, given, i, tape, static_cast<old>(bar));
  else if constexpr (shape.needs_output)
    return call_stage<member_backward, taken, indexed, Given>(stage, given, i, *x, std::as_const(tape),
                                                              static_cast<old>(bar));
  else return call_stage<member_backward, taken, indexed, Given>(stage, given, i, *x, static_cast<old>(bar));
}

}  // namespace cairn::detail
