#pragma once
/// \file script_mode.hpp  Runs TorchScript as it ran before.
#include <torch/csrc/jit/python/update_graph_executor_opt.h>

namespace cairn::libtorch::detail {

inline constexpr char const* script_advice =
    "call the TorchScript function twice before, so that it has optimised itself";

/// While it lives, TorchScript in this thread makes no new optimisations. A function that has only been called once so
/// far, to be measured, then saves what it saved in that call; one that is optimised already stays so.
class plain_scripts {
 public:
  /// \param wanted  without, nothing is changed
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
