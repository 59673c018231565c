// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file slots_for.hpp  The fewest slots for an accepted slow-down.
#include <cairn/core/action.hpp>
#include <cairn/core/error.hpp>
#include <cairn/schedule/binomial.hpp>

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
  return floored < most ? floored : most;
}

}  // namespace detail

/// The fewest slots with which `revolve{steps, slots}` runs at most `slowdown` times as many steps as the loop has, the
/// recorded run of each step included: (advances + steps) / steps <= slowdown. The step calls are about `slowdown` - 1
/// per step: 2 means that no step is called twice. Cost: O(log steps) evaluations of the closed form t n - beta(s+1,
/// t-1) (Griewank & Walther 2000).
/// \param steps  0 .. 2^63-1   \param slowdown  at least 2 - 1 / steps, which the slots of store-all reach
/// \throws invalid_plan
[[nodiscard]] constexpr slot_index slots_for_slowdown(step_index steps, double slowdown) {
  constexpr char const* who = "cairn::slots_for_slowdown";
  if (steps < 0)
    throw invalid_plan{who, "a loop cannot have a negative number of steps", {{"steps", steps}}, "give 0 or more"};
  if (!(slowdown >= 1))
    throw invalid_plan{who, "no sweep is faster than its loop", {{"steps", steps}}, "give a slow-down of 2 or more"};
  if (steps < 2) return 1;
  slot_index const useful = useful_slots(steps);
  wide const advances = detail::floor_product(slowdown - 1, steps, ~wide{0} >> 1);
  if (fewest_advances(steps, useful) > advances)
    throw invalid_plan{who,
                       "no number of slots reaches this slow-down",
                       {{"steps", steps}, {"least advances", fewest_advances(steps, useful)}},
                       "give a slow-down of 2 or more"};
  slot_index enough = useful, below = 0;
  while (enough - below > 1) {
    slot_index const middle = below + (enough - below) / 2;
    (fewest_advances(steps, middle) <= advances ? enough : below) = middle;
  }
  return enough;
}

}  // namespace cairn
