// SPDX-License-Identifier: Apache-2.0
#pragma once
// A diffusion with a reaction in one dimension, its state and its adjoint: a step that costs little.
#include <cmath>
#include <cstddef>
#include <vector>
#include <cairn/core/action.hpp>

using field = std::vector<float>;

struct diffusion {
  std::size_t cells;
  field out = field(cells);
  [[nodiscard]] field begin() const {
    field x(cells);
    for (std::size_t k = 0; k < cells; ++k) x[k] = 0.5f + 0.4f * std::sin(0.01f * float(k));
    return x;
  }
  [[gnu::noinline]] void step(float const* __restrict x, float* __restrict x1, cairn::step_index i) const {
    float const reaction = 1e-4f * float(i & 15);
    x1[0] = x[0], x1[cells - 1] = x[cells - 1];
    for (std::size_t k = 1; k + 1 < cells; ++k)
      x1[k] = x[k] + 0.2f * (x[k - 1] - 2 * x[k] + x[k + 1]) + reaction * x[k] * (1 - x[k]);
  }
  [[gnu::noinline]] void back(float const* __restrict x, float const* __restrict bar, float* __restrict to,
                              cairn::step_index i) const {
    float const reaction = 1e-4f * float(i & 15);
    auto const own = [&](std::size_t k) { return bar[k] * (0.6f + reaction * (1 - 2 * x[k])); };
    std::size_t const last = cells - 2;
    to[1] = own(1) + 0.2f * bar[2];
    for (std::size_t k = 2; k < last; ++k) to[k] = own(k) + 0.2f * bar[k - 1] + 0.2f * bar[k + 1];
    to[last] = own(last) + 0.2f * bar[last - 1];
    to[0] = bar[0] + 0.2f * bar[1], to[cells - 1] = bar[cells - 1] + 0.2f * bar[cells - 2];
  }
  void adjoint(float const* x, field& bar, cairn::step_index i) { back(x, bar.data(), out.data(), i), bar.swap(out); }
};
