// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file slots_for.hpp  The fewest slots for an accepted slow-down.
#include <cairn/core/action.hpp>
#include <cairn/core/detail/compiler.hpp>
#include <cairn/core/error.hpp>
#include <cairn/schedule/binomial.hpp>
#include <cairn/schedule/detail/remarks.hpp>

namespace cairn {
namespace detail {

/// floor(x * n) for 0 <= x, exact; at most `most`.   \pre n >= 0
[[nodiscard]] constexpr wide floor_product(double x, step_index n, wide most) noexcept {
  if (x * double(n) >= 2 * double(most)) return most;
  int halvings = 0;
  while (x > 0 && x < 0x1p52) x *= 2, ++halvings;
  auto mantissa = wide(x);  // x is whole from here on, and below 2^53 unless it was larger from the start
  wide const product = mantissa * wide(n);
  wide const floored = halvings < 127 ? product >> halvings : 0;
  return lesser(most, floored);
}

}  // namespace detail

/// The fewest slots with which `revolve{steps, slots}` takes at most `slowdown` step calls per step of the loop:
/// (advances + 1) / steps <= slowdown. 1 means that no step is called twice, as with `store_all`.
/// Cost: O(log steps) evaluations of the closed form t n - beta(s+1, t-1) (Griewank & Walther 2000).
/// \param steps  0 .. 2^63-1   \param slowdown  1 or more   \throws invalid_plan
[[nodiscard]] constexpr slot_index slots_for_slowdown(step_index steps, double slowdown) {
  constexpr char const* who = "cairn::slots_for_slowdown";
  detail::check_steps(who, steps);
  if (!(slowdown >= 1))
    throw invalid_plan{who, "no sweep is faster than its loop", {{"steps", steps}}, "give a slow-down of 1 or more"};
  wide const calls = detail::floor_product(slowdown, steps, ~wide{0} >> 1);
  slot_index enough = useful_slots(steps), below = 0;
  while (enough - below > 1) {
    slot_index const middle = below + (enough - below) / 2;
    (fewest_advances(steps, middle) < calls ? enough : below) = middle;
  }
  return enough;
}

}  // namespace cairn
