#pragma once
/// \file determinism.hpp  How closely a second run is compared with the first.

namespace cairn {

/// What must be the same when something is run again.
enum class Check {
  Off,       ///< nothing is compared but how many tensors there are
  Metadata,  ///< sizes, types and devices
  Bits       ///< these and every bit; reads each tensor once more, on the CPU
};

}  // namespace cairn
