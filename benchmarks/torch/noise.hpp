// SPDX-License-Identifier: Apache-2.0
#pragma once
// Numbers that are the same in every program, as those of benchmarks/peers.
#include <cstdint>
#include <torch/torch.h>

namespace benchmark {

/// Between -0.5 and 0.5.
inline float noise(std::uint32_t k) {
  std::uint32_t mixed = k * 2654435761u + 1013904223u;
  mixed = (mixed ^ (mixed >> 16)) * 2246822519u;
  mixed ^= mixed >> 13;
  return float(mixed >> 8) / 16777216.0f - 0.5f;
}
inline torch::Tensor noise(std::int64_t first, at::IntArrayRef sizes) {
  torch::Tensor made = torch::empty(sizes);
  float* const into = made.data_ptr<float>();
  for (std::int64_t k = 0; k < made.numel(); ++k) into[k] = noise(std::uint32_t(first + k));
  return made;
}

}  // namespace benchmark
