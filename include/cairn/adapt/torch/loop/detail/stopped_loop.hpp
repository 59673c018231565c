// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file stopped_loop.hpp  What is left of an online plan when its loop has ended.
#include <cairn/core/action.hpp>
#include <cairn/schedule/online.hpp>

namespace cairn::libtorch::detail {

/// The rest of an online plan after its loop has stopped, from after the turn. Its steps are blocks.
class stopped_loop {
 public:
  stopped_loop(step_index steps, online::cursor const& at) : steps_{steps}, at_{at} {}
  [[nodiscard]] step_index steps() const noexcept { return steps_; }
  [[nodiscard]] slot_index slots() const noexcept { return at_.slots(); }
  [[nodiscard]] step_index leaf() const noexcept { return 1; }
  [[nodiscard]] online::cursor const& walk() const noexcept { return at_; }

 private:
  step_index steps_;
  online::cursor at_;
};

}  // namespace cairn::libtorch::detail
