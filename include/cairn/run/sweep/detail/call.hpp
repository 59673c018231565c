// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file call.hpp  The one place from which an in-place step is called.
#include <utility>
#include <cairn/door/forms.hpp>

namespace cairn::detail {

/// Runs steps [from, to) on x; if a step throws, `failed` is its number.
/// Never inlined: a compiler that optimised the same step once for the forward sweep and once for the recomputation
/// could contract it (fused multiply-add) in two ways, and the recomputed states would differ in bits.
template <class Step, class State>
[[gnu::noinline]] void run_in_place(Step& step, State& x, step_index from, step_index to, step_index& failed) {
  static constexpr auto shape = shape_of_step<Step, State>();
  step_index i = from;
  try {
    for (; i < to; ++i) {
      if constexpr (shape.indexed) step(x, std::as_const(i));
      else step(x);
    }
  } catch (...) {
    failed = i;
    throw;
  }
}

}  // namespace cairn::detail
