// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file determinism.hpp  How closely a recomputation is compared with the first run.

namespace cairn::libtorch {

/// What must be equal when something is run again.
enum class Check {
  Off,       ///< the number of tensors, and the operations that save them
  Metadata,  ///< also sizes, types and devices
  Bits       ///< also every bit; reads each tensor once more, on the CPU
};

}  // namespace cairn::libtorch
