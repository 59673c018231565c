#pragma once
/// \file hc_config.hpp  How an HCModule cuts its model into blocks.
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

/// How an `HCModule` cuts its model into blocks. Left as it is: blocks of ceil(sqrt(number of nodes)).
struct HCConfig {
  /// Nodes of a block, which are operations where the model is no Sequential and no list of nodes is given; chosen
  /// where 0.
  TORCH_ARG(std::int64_t, block_size) = 0;
  /// Instead: a callable `plan(chain const& work)` that answers a `block_plan`. The chain is what the nodes took on the
  /// example inputs.
  TORCH_ARG(block_planner, planner) = {};
  /// Told why the model runs without checkpoints, where it does; std::clog where empty.
  TORCH_ARG(std::function<void(char const*)>, notice) = {};
  /// Whether a second run draws the random numbers of the first.
  TORCH_ARG(Rng, rng) = Rng::Preserve;
  /// How closely what a second run saves is compared with the first.
  TORCH_ARG(Check, determinism) = Check::Metadata;
  /// Which operators keep their results in the nodes that are run again, as in a region. The plan does not count these
  /// bytes. Left out: all operators run again.
  TORCH_ARG(checkpoint_policy, policy) = {};

 public:
  /// In place of blocks: bytes of values, what autograd saves, adjoints and working memory at once, as for
  /// `checkpoint_module`. The fastest plan within it is taken, whatever the model is. Left out: the limit of
  /// `set_memory_limit`, where there is one and neither a block size nor a planner is given.
  HCConfig& memory_limit(byte_size limit) {
    memory_limit_ = limit;
    return *this;
  }
  /// Nothing where there is none.
  [[nodiscard]] std::optional<byte_size> memory_limit() const { return memory_limit_; }

 private:
  std::optional<byte_size> memory_limit_;
};

}  // namespace cairn::libtorch
