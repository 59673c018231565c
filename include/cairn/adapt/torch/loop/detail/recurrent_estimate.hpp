// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file recurrent_estimate.hpp  The memory of bidirectional layers: scan after scan, forward and back.
#include <algorithm>
#include <cstddef>
#include <vector>
#include <cairn/adapt/torch/loop/loop_estimate.hpp>
#include <cairn/core/wide.hpp>

namespace cairn::libtorch::detail {

/// One bidirectional layer; each direction is a scan of its own.
struct bidirectional_layer {
  LoopEstimate way;  ///< the estimate of each direction
  wide input = 0;   ///< bytes that the layer reads
  wide output = 0;  ///< bytes that one direction returns
  bool input_has_gradient = false;
};

/// What the scans of all layers take together: counts, seconds and kept bytes added up, the largest `checkpoints` and
/// `block_size` of a scan, the costs of the first layer, and the least limit that suits every scan. Peaks stay 0.
[[nodiscard]] inline LoopEstimate sum_of_scans(std::vector<bidirectional_layer> const& layers) {
  LoopEstimate sum;
  if (!layers.empty()) sum.costs = layers.front().way.costs;
  for (auto const& layer : layers) {
    auto const& way = layer.way;
    sum.checkpoints = (std::max)(sum.checkpoints, way.checkpoints);
    sum.block_size = (std::max)(sum.block_size, way.block_size);
    sum.forward += 2 * way.forward;
    sum.recompute += 2 * way.recompute;
    sum.vjp += 2 * way.vjp;
    sum.engine_calls += 2 * way.engine_calls;
    sum.kept_bytes += 2 * way.kept_bytes;
    sum.least_bytes = (std::max)(sum.least_bytes, wide(2 * layers.size()) * way.least_bytes);
    sum.forward_seconds += 2 * way.forward_seconds;
    sum.seconds += 2 * way.seconds;
    sum.plain_seconds += 2 * way.plain_seconds;
  }
  return sum;
}

/// Simulates the layers forward and back, and finds the peak.
class bidirectional_simulation {
 public:
  /// \param drops  whether there is a dropout between layers
  /// \param last_states  bytes of the states that the module returns
  bidirectional_simulation(std::vector<bidirectional_layer> const& layers, bool drops, wide last_states) {
    for (std::size_t k = 0; k < layers.size(); ++k) {
      auto const& layer = layers[k];
      bool const is_last = k + 1 == layers.size();
      note(layer.way.peak_bytes, layer.output);
      loops_ += layer.way.kept_bytes;
      callers_ += layer.input;  // the flipped input
      note(layer.way.peak_bytes, 2 * layer.output);
      loops_ += layer.way.kept_bytes;
      note(0, 4 * layer.output);  // both directions, and their concatenation
      callers_ += 2 * layer.output;
      if (drops && !is_last) {
        note(0, 4 * layer.output);
        callers_ += 2 * layer.output;
      }
    }
    callers_ += last_states;
    note(0, 0);
    wide given = 0;  // bytes of the gradient of a layer's output; the last layer's belongs to the caller
    for (std::size_t k = layers.size(); k-- > 0;) {
      auto const& layer = layers[k];
      wide const bar = layer.input_has_gradient ? layer.input : 0;
      for (int const way : {1, 0}) {
        loops_ -= layer.way.kept_bytes;
        note(layer.way.peak_bytes, given + (way == 1 ? layer.output : bar) + bar);
        loops_ += layer.way.costs.gradient_bytes;
        if (way == 1) {
          note(0, given + 2 * bar);
          callers_ -= layer.input;
        }
      }
      if (k == 0) break;
      note(0, 2 * bar);
      callers_ -= layer.input;
      if (drops) {
        note(0, 2 * bar);
        callers_ -= layer.input;
      }
      given = bar;
    }
  }
  [[nodiscard]] wide peak() const noexcept { return peak_; }  ///< everything together
  [[nodiscard]] wide callers() const noexcept { return peak_callers_; }  ///< the part that no limit counts

 private:
  void note(wide of_scan, wide more_callers) {
    auto const all = loops_ + of_scan + callers_ + more_callers;
    if (all <= peak_) return;
    peak_ = all;
    peak_callers_ = callers_ + more_callers;
  }

  wide loops_ = 0, callers_ = 0, peak_ = 0, peak_callers_ = 0;
};

}  // namespace cairn::libtorch::detail
