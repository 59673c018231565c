#pragma once
/// \file chain_call.hpp  The one place from which each function of a stage is called.
#include <type_traits>
#include <utility>
#include <cairn/core/stage_shape.hpp>

namespace cairn::detail {

// Never inlined: a compiler that optimised the same stage once for the way forward and once for the recomputation could contract it
// (fused multiply-add) in two ways, and the recomputed states would differ in bits.

/// `y = forward(x)`.
template <class Stage, class X, class... Index>
[[gnu::noinline]] auto stage_forward(Stage& stage, X const& x, Index const... i) { return stage.forward(x, i...); }

/// The tape of a stage: what it records, or its output.
template <class Stage, class X, class... Index>
[[gnu::noinline]] auto stage_record(Stage& stage, X const& x, Index const... i) { return stage.record(x, i...); }

/// The way back in any form: bar is changed, or the new one returned. \param x  null where the shape says that it is not needed
template <class Stage, class X, class Tape, class Bar, class... Index>
[[gnu::noinline]] auto stage_backward(Stage& stage, [[maybe_unused]] X const* x, [[maybe_unused]] Tape& tape, Bar& bar, Index const... i) {
  using reading = stage_reading<Stage, X, Bar, std::add_lvalue_reference_t<Index const>...>;
  using old = std::conditional_t<reading::shape.moves_adjoint, Bar&&, Bar&>;
  if constexpr (reading::shape.taped && reading::shape.needs_state) return stage.backward(*x, tape, static_cast<old>(bar), i...);
  else if constexpr (reading::shape.taped) return stage.backward(tape, static_cast<old>(bar), i...);
  else if constexpr (reading::shape.needs_output) return stage.backward(*x, std::as_const(tape), static_cast<old>(bar), i...);
  else return stage.backward(*x, static_cast<old>(bar), i...);
}

}  // namespace cairn::detail
