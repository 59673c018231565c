#pragma once
/// \file rng.hpp  Whether a second run draws the random numbers of the first.

namespace cairn::libtorch {

/// Whether what is run again draws the random numbers that it drew before.
enum class Rng {
  Preserve,  ///< yes: the states of the generators are kept beside each checkpoint, 5 KB for the CPU's, 16 bytes for a
             ///< CUDA device's. A region keeps 2.5 KB for the CPU's, and only where it drew some of its numbers
  Ignore  ///< no: nothing random is run, or its numbers do not matter
};

}  // namespace cairn::libtorch
