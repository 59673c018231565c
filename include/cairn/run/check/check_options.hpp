// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file check_options.hpp  How much `check_adjoint` does.
#include <cstdint>
#include <cairn/core/action.hpp>

namespace cairn {

/// How much `check_adjoint` does.
struct check_options {
  /// Steps tested: all steps of a loop of at most this many; else this many, spread over the loop, including the first
  /// and the last.
  step_index most_steps = 64;
  int directions = 2;             ///< random directions at each tested step
  std::uint64_t random_seed = 1;  ///< the same directions for the same seed
  bool whole = true;              ///< whether the Taylor remainder of the whole gradient is tested, too
};

}  // namespace cairn
