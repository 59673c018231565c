// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file hc_config.hpp  Options of an HCModule.
#include <cstdint>
#include <functional>
#include <torch/arg.h>
#include <cairn/adapt/torch/checkpoint/checkpoint_policy.hpp>
#include <cairn/plan/block/block_planner.hpp>

namespace cairn::libtorch {

/// How an `HCModule` divides its model into blocks. By default: blocks of ceil(sqrt(number of nodes)).
struct HCConfig {
  /// Nodes per block; 0 for the default. Nodes are recorded operators if the model is not a Sequential.
  TORCH_ARG(std::int64_t, block_size) = 0;
  /// A callable `plan(chain const& work)` that returns a `block_plan`, used in place of a block size. The chain holds
  /// the sizes and times of the nodes, measured on the example inputs.
  TORCH_ARG(block_planner, planner) = {};
  /// Called with the reason if the model runs without checkpoints, or if something is held that cannot be made again;
  /// if empty, it goes to std::clog.
  TORCH_ARG(std::function<void(char const*)>, notice) = {};
  /// Whether each saved tensor that is made again is compared with what it was, by a sum of 64 bits.
  TORCH_ARG(bool, verify) = false;
  /// Which operators' results are held in blocks, as in a region; `cairn::libtorch::keep` works there, too. The plan
  /// does not count these bytes. By default none.
  TORCH_ARG(checkpoint_policy, policy) = {};
};

}  // namespace cairn::libtorch
