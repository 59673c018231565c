// SPDX-License-Identifier: Apache-2.0
#pragma once
// The loop that is measured: heat in many short rods, one number after the other. Rods do not touch each other, so that
// a few of them can be checked separately by storing all of their states. constexpr: for kernels and for the host.
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cairn/core/action.hpp>

namespace gpu {

/// Numbers of a rod, whose ends touch: 2 KiB.
inline constexpr std::size_t rod = 512;

/// A number between -0.5 and 0.5, without order.
[[nodiscard]] constexpr float noise(std::uint64_t k) {
  auto mixed = static_cast<std::uint32_t>(k) * 2654435761u + static_cast<std::uint32_t>(k >> 32) * 40503u + 1013904223u;
  mixed = (mixed ^ (mixed >> 16)) * 2246822519u;
  mixed ^= mixed >> 13;
  return static_cast<float>(mixed >> 8) / 16777216.0f - 0.5f;
}
/// How much flows between neighbours in step i.
[[nodiscard]] constexpr float flow(cairn::step_index i) { return 0.2f + 0.01f * static_cast<float>(i % 7); }
/// A number after step i, from it and its neighbours.
[[nodiscard]] constexpr float stepped(float left, float x, float right, cairn::step_index i) {
  return x + flow(i) * (left - 2.0f * x + right) - 0.01f * x * x * x + 0.01f * (static_cast<float>(i % 7) - 3.0f);
}
/// The adjoint before step i, from those after it and the number before.
[[nodiscard]] constexpr float pulled_back(float left, float bar, float right, float x, cairn::step_index i) {
  return bar * (1.0f - 0.03f * x * x) + flow(i) * (left - 2.0f * bar + right);
}
/// What one number adds to the digest of a state.
[[nodiscard]] constexpr std::uint64_t digest_of(float x, std::uint64_t k) {
  std::uint64_t mixed = (std::bit_cast<std::uint32_t>(x) + (k << 32)) * 0x9e3779b97f4a7c15u;
  mixed = (mixed ^ (mixed >> 29)) * 0xbf58476d1ce4e5b9u;
  return mixed ^ (mixed >> 32);
}

}  // namespace gpu
