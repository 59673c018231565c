// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file hc_config.hpp  Options of an HCModule.
#include <cstdint>
#include <functional>
#include <optional>
#include <torch/arg.h>
#include <cairn/adapt/torch/checkpoint/checkpoint_policy.hpp>
#include <cairn/core/bytes.hpp>
#include <cairn/plan/block/block_planner.hpp>

namespace cairn::libtorch {

/// How an `HCModule` divides its model into blocks. By default: blocks of ceil(sqrt(number of nodes)).
struct HCConfig {
  /// Nodes per block; 0 for the default. Nodes are recorded operators if the model is not a Sequential and no list of
  /// nodes is given.
  TORCH_ARG(std::int64_t, block_size) = 0;
  /// A callable `plan(chain const& work)` that returns a `block_plan`, used in place of a block size. The chain holds
  /// the sizes and times of the nodes, measured on the example inputs.
  TORCH_ARG(block_planner, planner) = {};
  /// Called with the reason if the model runs without checkpoints, if the limit was passed, or if something is held
  /// that cannot be made again; if empty, it goes to std::clog.
  TORCH_ARG(std::function<void(char const*)>, notice) = {};
  /// Whether each saved tensor that is made again is compared with what it was, by a sum of 64 bits.
  TORCH_ARG(bool, verify) = false;
  /// Which operators' results are held in blocks, as in a region; `cairn::libtorch::keep` works there, too. The plan
  /// does not count these bytes. Cannot be combined with a limit, which decides itself what is held. By default none.
  TORCH_ARG(checkpoint_policy, policy) = {};
  /// A limit in place of blocks, as for `checkpoint_module`, for any model. By default: the limit of
  /// `set_memory_limit`, if there is one and no block size, planner or policy is given.
  TORCH_ARG(std::optional<byte_size>, memory_limit) = {};
  /// Whether a step that passes the limit throws, in place of a notice.
  TORCH_ARG(bool, strict) = false;
};

}  // namespace cairn::libtorch
