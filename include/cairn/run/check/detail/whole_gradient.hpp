// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file whole_gradient.hpp  The gradient of a whole loop, without the types of its states and adjoints.
#include <utility>
#include <vector>
#include <cairn/run/check/detail/checked_functions.hpp>

namespace cairn::detail {

/// The gradient of n steps from x0, with `pull` for the adjoint. Keeps the first state of each stretch of some sqrt(n)
/// steps, and all states of one stretch: not by a sweep, which each file with a check would have to compile.
/// Cost: fewer than 2n steps, some 2 sqrt(n) states.   \pre n > 0
[[nodiscard, gnu::cold]] inline held_bar whole_gradient(
    checked_functions& loop, unnamed_state const& x0, step_index n, held_bar bar,
    call_ref<void(unnamed_state const&, unnamed_bar&, step_index)> pull) {
  step_index stretch = 1;
  while (stretch < n / stretch) ++stretch;
  step_index const last = (n - 1) / stretch;
  std::vector<held_state> kept;  // the first states of stretches 0 .. k, then those inside stretch k
  kept.push_back(loop.copy(x0));
  auto const run = [&](step_index from, step_index to) {
    kept.push_back(loop.copy(*kept.back()));
    for (step_index i = from; i < to; ++i) loop.advance(*kept.back(), i);
  };
  for (step_index k = 0; k < last; ++k) run(k * stretch, (k + 1) * stretch);
  for (step_index k = last, end = n; k >= 0; end = k-- * stretch) {
    for (step_index i = k * stretch; i + 1 < end; ++i) run(i, i + 1);
    for (step_index i = end; i-- > k * stretch; kept.pop_back()) pull(*kept.back(), *bar, i);
  }
  return bar;
}

}  // namespace cairn::detail
