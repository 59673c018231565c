// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file determinism.hpp  How closely a recomputation is compared with the first run.
#include <cairn/core/error.hpp>

namespace cairn::libtorch {

/// What must be equal when something is run again.
enum class Check {
  Off,       ///< the number of tensors, and the operations that save them
  Metadata,  ///< also sizes, types and devices
  Bits       ///< also every bit; reads each tensor once more, on the CPU
};

/// The tensors that a recomputation saves for backward differ from those of the first run; the values say which tensor,
/// counted from 0.
class recompute_mismatch : public error {
 public:
  using error::error;
};

}  // namespace cairn::libtorch
