// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file weighed_leaf.hpp  What a tool's recording of a leaf takes, for planners.
#include <cairn/core/action.hpp>
#include <cairn/core/sweep_bytes.hpp>

namespace cairn::detail {

/// The leaf that was weighed last.
class weighed_leaf {
 public:
  /// Its bytes, if it had so many steps; otherwise `unknown_bytes`.
  [[nodiscard]] wide known(step_index steps) const noexcept { return steps == steps_ ? bytes_ : unknown_bytes; }
  /// Weighs one of so many steps. It is recorded three times, starting with an empty tape: the tool's buffers have their
  /// final size then.
  /// \param forget  sets the bytes that `most` returns to 0   \param run  records the leaf and reverses it
  template <class Tool, class Forget, class Run, class Most>
  wide weigh(Tool& tool, step_index steps, Forget const& forget, Run const& run, Most const& most) {
    for (int tried = 0; tried < 3; ++tried) {
      if (tried == 2) forget();
      run();
      if constexpr (requires { tool.fit(); })
        if (tried == 0) tool.fit();
    }
    steps_ = steps;
    return bytes_ = most();
  }

 private:
  step_index steps_ = 0;
  wide bytes_ = 0;
};

}  // namespace cairn::detail
