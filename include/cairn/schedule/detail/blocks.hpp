// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file blocks.hpp  A loop divided into blocks: their lengths, and how many states the uniform walk over them keeps.
#include <cstdint>
#include <cairn/core/action.hpp>
#include <cairn/core/detail/compiler.hpp>
#include <cairn/core/wide.hpp>
#include <cairn/schedule/detail/leaves_in.hpp>

namespace cairn::detail {

/// floor(sqrt(x)), one binary digit at a time.
[[nodiscard]] constexpr std::uint64_t floor_sqrt(wide x) noexcept {
  wide root = 0;
  for (wide digit = wide{1} << 126; digit != 0; digit >>= 2) {
    bool const fits = x >= root + digit;
    if (fits) x -= root + digit;
    root = (root >> 1) + (fits ? digit : 0);
  }
  return std::uint64_t(root);
}

/// ceil(sqrt(x)). \pre x <= (2^64-1)^2
[[nodiscard]] constexpr std::uint64_t ceil_sqrt(wide x) noexcept {
  std::uint64_t const root = floor_sqrt(x);
  return wide(root) * root < x ? root + 1 : root;
}

/// `front` blocks of `front_length` steps, then blocks of `back_length` steps. A loop of no steps is one empty block.
struct block_layout {
  step_index steps = 0;
  step_index count = 1;
  step_index front = 1;
  step_index front_length = 0;
  step_index back_length = 0;

  /// The number of steps of block j.   \pre 0 <= j < count
  [[nodiscard]] constexpr step_index length(step_index j) const noexcept {
    return j < front ? front_length : back_length;
  }
  /// The state before block j.   \pre 0 <= j <= count
  [[nodiscard]] constexpr step_index start(step_index j) const noexcept {
    return j <= front ? j * front_length : front * front_length + (j - front) * back_length;
  }
  /// Whether a block other than the first begins at state i.
  [[nodiscard]] constexpr bool starts_at(step_index i) const noexcept {
    if (i <= 0 || i >= steps) return false;
    step_index const rest = i - front * front_length;
    return rest > 0 ? rest % back_length == 0 : i % front_length == 0;
  }
  /// The most states kept at once: the first states of all blocks up to the one being reversed, and the inner states of
  /// that block but the last.
  [[nodiscard]] constexpr slot_index peak() const noexcept {
    if (steps < 2) return 0;
    slot_index const at_turn = count - 1 + (length(count - 1) - 1);
    step_index const last_front =
        front < count ? front - 1 : front - 2;  // the last front block that has to be run again
    slot_index const at_front = last_front < 0 ? 0 : last_front + 1 + (front_length > 2 ? front_length - 2 : 0);
    return greater(at_front, at_turn);
  }
};

/// `count` blocks that differ by at most one step, shorter ones first.   \pre 1 <= count <= max(1, steps)
[[nodiscard]] constexpr block_layout balanced_blocks(step_index steps, step_index count) noexcept {
  step_index const longer = steps % count;
  return {steps, count, count - longer, steps / count, longer > 0 ? steps / count + 1 : 0};
}

/// Blocks of `length` steps; the last one may be shorter.   \pre length >= 1
[[nodiscard]] constexpr block_layout equal_blocks(step_index steps, step_index length) noexcept {
  if (length >= steps) return {steps, 1, 1, steps, 0};
  step_index const count = leaves_in(steps, length);
  step_index const rest = steps - (count - 1) * length;
  return rest == length ? block_layout{steps, count, count, length, 0}
                        : block_layout{steps, count, count - 1, length, rest};
}

/// The least peak of any `balanced_blocks` or `equal_blocks`. Let c = ceil(2 sqrt n), the least of B + ceil(n / B).
/// Balanced blocks need c - 2 slots; a short last block saves one more if B (c - B) exceeds n for some B.
[[nodiscard]] constexpr slot_index least_block_peak(step_index steps) noexcept {
  if (steps < 2) return 0;
  auto const c = wide(ceil_sqrt(4 * wide(steps)));
  return slot_index(c * c >= 4 * (wide(steps) + 1) ? c - 3 : c - 2);
}

/// The blocks with the fewest advances, 2 n - (blocks + length of the last one), whose peak is at most `slots`. The
/// peak is at least blocks + length of the last one - 2, so no blocks can have fewer advances if this bound is reached;
/// it is reached wherever balanced blocks fit.
/// \pre slots >= least_block_peak(steps)
[[nodiscard]] constexpr block_layout blocks_within(step_index steps, slot_index slots) noexcept {
  if (slots >= steps - 1) return balanced_blocks(steps, steps < 1 ? 1 : steps);
  auto const c = wide(slots) + 2;
  if (c * c >= 4 * wide(steps))  // largest B with B + ceil(n / B) <= c
    return balanced_blocks(steps, step_index((c + floor_sqrt(c * c - 4 * wide(steps))) / 2));
  auto const d = c + 1;
  return equal_blocks(steps, step_index((d + floor_sqrt(d * d - 4 * (wide(steps) + 1))) / 2));
}

}  // namespace cairn::detail
