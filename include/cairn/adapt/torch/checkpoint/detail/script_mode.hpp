// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file script_mode.hpp  Runs TorchScript in a recomputation as in the first run.
#include <torch/csrc/jit/python/update_graph_executor_opt.h>

namespace cairn::libtorch::detail {

inline constexpr char const* script_advice =
    "call the TorchScript function twice before, so that it has optimised itself";

/// During its lifetime, TorchScript in this thread makes no new optimisations. A function that was called only once so
/// far, for profiling, then saves the same tensors as in that call; an optimised function stays optimised.
class plain_scripts {
 public:
  /// \param wanted  if false, nothing changes
  explicit plain_scripts(bool wanted) : before_{torch::jit::getGraphExecutorOptimize()} {
    if (wanted) torch::jit::setGraphExecutorOptimize(false);
  }
  plain_scripts(plain_scripts const&) = delete;
  plain_scripts& operator=(plain_scripts const&) = delete;
  ~plain_scripts() { torch::jit::setGraphExecutorOptimize(before_); }

 private:
  bool before_;
};

}  // namespace cairn::libtorch::detail
