// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file recompute_mismatch.hpp  The exception for a recomputation that differs from the first run.
#include <cairn/core/error.hpp>

namespace cairn::libtorch {

/// The tensors that a recomputation saves for backward differ from those of the first run; the values say which tensor,
/// counted from 0.
class recompute_mismatch : public error {
 public:
  using error::error;
};

}  // namespace cairn::libtorch
