// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file sweep_node.hpp  A sweep as a node of the autograd graph, which a backward that keeps no graph consumes.
#include <mutex>
#include <optional>
#include <utility>
#include <torch/csrc/autograd/function.h>
#include <cairn/core/error.hpp>

namespace cairn::libtorch::detail {

[[noreturn]] inline void refuse_used_up(char const* who) {
  throw invalid_call{
      who, "the checkpoints were used up by an earlier backward", {}, "give that one retain_graph = true"};
}

/// Holds the sweep until the engine releases it.
template <class Sweep>
class sweep_node : public torch::autograd::Node {
 public:
  void will_release_variables() override { releasing_ = true; }
  void release_variables() final {
    std::lock_guard const lock{mutex_};
    release();
  }

 protected:
  sweep_node(char const* who, Sweep sweep) : who_{who}, sweep_{std::move(sweep)} {}

  /// Frees what the node holds.   \pre the node is locked
  virtual void release() { sweep_.reset(); }
  /// \throws invalid_call   if an earlier backward has taken the sweep
  void need_sweep() const {
    if (!sweep_) refuse_used_up(who_);
  }

  char const* who_;
  std::optional<Sweep> sweep_;
  bool releasing_ = false;
};

}  // namespace cairn::libtorch::detail
