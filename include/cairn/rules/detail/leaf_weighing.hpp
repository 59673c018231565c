// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file leaf_weighing.hpp  How it is found out what a leaf holds.

namespace cairn::detail {

/// Nobody says, the adjoint says, or a tool records to know.
struct leaf_weighing {
  bool by_recording = false;  ///< by a tool: twice the steps take at most twice the tape
  bool memory_stays = false;  ///< of the tool's longest recording
};

}  // namespace cairn::detail
