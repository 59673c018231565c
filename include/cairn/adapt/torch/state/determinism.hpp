#pragma once
/// \file determinism.hpp  How closely a second run is compared with the first.

namespace cairn::libtorch {

/// What must be the same when something is run again.
enum class Check {
  Off,       ///< how many tensors there are, and which operations save them
  Metadata,  ///< sizes, types and devices
  Bits       ///< these and every bit; reads each tensor once more, on the CPU
};

}  // namespace cairn::libtorch
