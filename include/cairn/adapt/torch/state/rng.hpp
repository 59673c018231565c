// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file rng.hpp  Whether a recomputation draws the same random numbers.

namespace cairn::libtorch {

/// Whether a recomputation draws the same random numbers as the first run.
enum class Rng {
  Preserve,  ///< yes: the states of the generators are kept with each checkpoint, 5 KB for the CPU's, 16 bytes for a
             ///< CUDA device's
  Ignore  ///< no: no random numbers are used, or they do not matter
};

}  // namespace cairn::libtorch
