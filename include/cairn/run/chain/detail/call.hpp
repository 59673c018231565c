// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file call.hpp  The one place from which each function of a stage is called.
#include <type_traits>
#include <utility>
#include <cairn/door/detail/lending.hpp>
#include <cairn/door/detail/stage_shape.hpp>

namespace cairn::detail {

// Never inlined: a compiler that optimised the same stage once for the forward run and once for the recomputation could
// contract it (fused multiply-add) in two ways, and the recomputed states would differ in bits.

/// Parameter `Place` of a stage's function, called with arguments `A...`, is not a reference.
template <class Stage, std::size_t Place, class... Args> inline constexpr bool forward_takes_value = false;
template <class Stage, std::size_t Place, class... Args>
  requires requires { &Stage::forward; }
  inline constexpr bool forward_takes_value<Stage, Place, Args...> =
      takes_by_value<decltype(&Stage::forward), Place, arguments<Args...>>;
  template <class Stage, std::size_t Place, class... Args>
  inline constexpr bool record_takes_value = false;
  template <class Stage, std::size_t Place, class... Args>
  requires requires { &Stage::record; }
  inline constexpr bool record_takes_value<Stage, Place, Args...> =
      takes_by_value<decltype(&Stage::record), Place, arguments<Args...>>;
  template <class Stage, std::size_t Place, class... Args>
  inline constexpr bool backward_takes_value = false;
  template <class Stage, std::size_t Place, class... Args>
  requires requires { &Stage::backward; }
  inline constexpr bool backward_takes_value<Stage, Place, Args...> =
      takes_by_value<decltype(&Stage::backward), Place, arguments<Args...>>;

  /// `y = forward(x)`.
  template <class Stage, class State, class... Index>
  [[gnu::noinline]] auto stage_forward(Stage& stage, State const& x, Index const... i) {
    return stage.forward(lend<forward_takes_value<Stage, 0, State const&, Index const&...>>(x), i...);
  }

/// The tape of a stage: what it records, or its output.
  template <class Stage, class State, class... Index>
  [[gnu::noinline]] auto stage_record(Stage& stage, State const& x, Index const... i) {
    return stage.record(lend<record_takes_value<Stage, 0, State const&, Index const&...>>(x), i...);
  }

/// The adjoint in any form: changes bar, or returns the new one. \param x  null if the shape says that it is not needed
  template <class Stage, class State, class Tape, class Bar, class... Index>
  [[gnu::noinline]] auto stage_backward(Stage& stage, [[maybe_unused]] State const* x, [[maybe_unused]] Tape& tape,
                                        Bar& bar, Index const... i) {
    using reading = stage_reading<Stage, State, Bar, std::add_lvalue_reference_t<Index const>...>;
    using old = std::conditional_t<reading::shape.moves_adjoint, Bar&&, Bar&>;
    if constexpr (reading::shape.taped && reading::shape.needs_state)
      return stage.backward(lend<backward_takes_value<Stage, 0, State const&, Tape&, old, Index const&...>>(*x), tape,
                            static_cast<old>(bar), i...);
    else if constexpr (reading::shape.taped) return stage.backward(tape, static_cast<old>(bar), i...);
    else if constexpr (reading::shape.needs_output)
      return stage.backward(lend<backward_takes_value<Stage, 0, State const&, Tape const&, old, Index const&...>>(*x),
                            std::as_const(tape), static_cast<old>(bar), i...);
    else
      return stage.backward(lend<backward_takes_value<Stage, 0, State const&, old, Index const&...>>(*x),
                            static_cast<old>(bar), i...);
  }

}  // namespace cairn::detail
