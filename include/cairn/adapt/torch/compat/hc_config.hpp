// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file hc_config.hpp  Options of an HCModule.
#include <cstdint>
#include <functional>
#include <optional>
#include <torch/arg.h>
#include <cairn/adapt/torch/checkpoint/checkpoint_policy.hpp>
#include <cairn/adapt/torch/state/determinism.hpp>
#include <cairn/adapt/torch/state/rng.hpp>
#include <cairn/core/bytes.hpp>
#include <cairn/plan/block/block_planner.hpp>

namespace cairn::libtorch {

/// How an `HCModule` divides its model into blocks. By default: blocks of ceil(sqrt(number of nodes)).
struct HCConfig {
  /// Nodes per block; 0 for the default. Nodes are operations if the model is not a Sequential and no list of nodes is
  /// given.
  TORCH_ARG(std::int64_t, block_size) = 0;
  /// A callable `plan(chain const& work)` that returns a `block_plan`, used in place of a block size. The chain holds
  /// the sizes and times of the nodes, measured on the example inputs.
  TORCH_ARG(block_planner, planner) = {};
  /// Called with the reason if the model runs without checkpoints; if empty, the reason goes to std::clog.
  TORCH_ARG(std::function<void(char const*)>, notice) = {};
  /// Whether a second run draws the same random numbers as the first.
  TORCH_ARG(Rng, rng) = Rng::Preserve;
  /// How closely the tensors that a second run saves are compared with those of the first.
  TORCH_ARG(Check, determinism) = Check::Metadata;
  /// Operators that keep their results in the nodes that are run again, as in a region. The plan does not count these
  /// bytes. By default all operators run again.
  TORCH_ARG(checkpoint_policy, policy) = {};
  /// A limit in place of blocks: bytes of values, of what autograd saves, of adjoints and of working memory at one
  /// time, as for `checkpoint_module`. The fastest plan within it is used, for any model. By default: the limit of
  /// `set_memory_limit`, if there is one and neither a block size nor a planner is given.
  TORCH_ARG(std::optional<byte_size>, memory_limit) = {};
  /// Whether a call that cannot be captured, and so cannot keep within the limit, throws instead of running as it is.
  TORCH_ARG(bool, strict) = false;
};

}  // namespace cairn::libtorch
