// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file binomial.hpp  The formulas of binomial checkpointing, exact for every loop of up to 2^63-1 steps.
/// Notation of Griewank & Walther (2000): beta(s, t) = C(s + t, s) is the longest loop that s slots can reverse if no
/// step is run unrecorded more than t times; beta of a negative argument is 0.
#include <cstdint>
#include <cairn/core/action.hpp>
#include <cairn/core/detail/compiler.hpp>

namespace cairn {

/// The most slots that help: steps - 1. The state before the last step and the final state need no slot.
[[nodiscard]] constexpr slot_index useful_slots(step_index steps) noexcept { return steps > 2 ? steps - 1 : 1; }
/// `slots`, limited to those that help.
[[nodiscard]] constexpr slot_index useful_slots(step_index steps, slot_index slots) noexcept {
  slot_index const useful = useful_slots(steps);
  return detail::lesser(useful, slots);
}

/// min(beta(s, t), cap). Each factor at least doubles the product, so there are at most 64 of them.
[[nodiscard]] constexpr step_index capped_beta(step_index s, step_index t, step_index cap) noexcept {
  step_index const fewer = detail::lesser(s, t);
  step_index const large = detail::greater(s, t);
  wide product = 1;
  for (step_index k = 1; k <= fewer; ++k) {
    product = product * (wide(large) + wide(k)) / wide(k);
    if (product >= wide(cap)) return cap;
  }
  return product < wide(cap) ? step_index(product) : cap;
}

/// The repetition number: the least t with beta(slots, t) >= steps. Doubles t, then halves the interval: O(log t)
/// evaluations of beta.
/// \pre steps >= 0, slots >= 1
[[nodiscard]] constexpr step_index repetitions(step_index steps, slot_index slots) noexcept {
  if (steps <= 1) return 0;
  step_index below = 0;
  step_index enough = 1;
  while (capped_beta(slots, enough, steps) < steps) {
    below = enough;
    enough = enough > (steps - 1) / 2 ? steps - 1 : 2 * enough;
  }
  while (enough - below > 1) {
    step_index const middle = below + (enough - below) / 2;
    (capped_beta(slots, middle, steps) < steps ? below : enough) = middle;
  }
  return enough;
}

namespace detail {

/// What the cursor stores with a kept state: the numbers of the rule for the steps after that state, with s slots,
/// including that of the state itself.
struct bracket {
  step_index p;  ///< beta(s, t-1); less than the number of steps if that is 2 or more
  step_index q;  ///< beta(s-1, t-1)
  step_index t;  ///< the repetition number, or one more if beta(s, t-1) equals the number of steps
};

/// \pre steps >= 0, slots >= 1
[[nodiscard]] constexpr bracket bracket_of(step_index steps, slot_index slots) noexcept {
  step_index const t = repetitions(steps, slots);
  if (t == 0) return {};
  step_index const p = capped_beta(slots, t - 1, steps);
  return {p, step_index(wide(p) * wide(slots) / (wide(slots) + wide(t) - 1)), t};
}

/// Whether `q_below` needs no more than 64 bits for intermediate results.
[[nodiscard]] constexpr bool is_narrow(slot_index slots, bracket const& own) noexcept {
  return ((std::uint64_t(slots) | std::uint64_t(own.q)) >> 32) == 0;
}
/// beta(s-2, t-1) of a bracket with s slots, exact: the only division of a walk.   \pre slots >= 2, own.t >= 1
template <class Unsigned>
[[nodiscard]] constexpr step_index q_below(slot_index slots, bracket const& own) noexcept {
  return step_index(Unsigned(own.q) * Unsigned(slots - 1) / (Unsigned(slots - 2) + Unsigned(own.t)));
}
/// Places the next checkpoint in `own`: returns its distance in steps from the kept state.
/// The rule is optimal in advances and, among those, in saves (Griewank & Walther 2000, section 3, as a clamp): y =
/// clamp(steps - beta(s-1, t-1) - beta(s-2, t-1), max(1, beta(s, t-1) - beta(s-1, t-1)), beta(s, t-1)).
/// \param below  q_below(slots, own)
/// \param own    becomes the bracket of the first y steps   \param right  becomes the bracket of the other steps, with
/// one slot fewer
/// \pre steps >= 2, slots >= 2
[[nodiscard]] constexpr step_index take_split(step_index steps, step_index below, bracket& own,
                                              bracket& right) noexcept {
  auto const [p, q, t] = own;
  right = {q, below, t};
  own = {p - q, q - below, t - 1};
  step_index const least = p - q < 1 ? 1 : p - q;
  step_index const wanted = steps - q - below;
  return wanted < least ? least : wanted > p ? p : wanted;
}

}  // namespace detail

/// The fewest advances that reverse `steps` steps with `slots` slots, the slot of the initial state included: t n -
/// beta(s+1, t-1).
/// \pre steps >= 0, slots >= 1
[[nodiscard]] constexpr wide fewest_advances(step_index steps, slot_index slots) noexcept {
  auto const [p, q, t] = detail::bracket_of(steps, slots);
  wide const sum = wide(slots) + wide(t);
  return wide(t) * wide(steps) - wide(p) * sum / (wide(slots) + 1);
}

/// The fewest saves of a schedule with the fewest advances, the save of the initial state included (Griewank & Walther
/// 2000, equation for q).
/// \pre steps >= 0, 1 <= slots <= max(1, steps - 1)
[[nodiscard]] constexpr wide fewest_saves(step_index steps, slot_index slots) noexcept {
  auto const [p, q, t] = detail::bracket_of(steps, slots);
  return t == 0 ? 0 : steps - p <= q ? wide(q) : wide(steps - p);
}

}  // namespace cairn
