// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file step_callbacks.hpp  User functions that a loop calls with the number of the step.
#include <cstdint>
#include <functional>
#include <ATen/core/Tensor.h>

namespace cairn::libtorch {

/// What a loop calls while it runs, for `LoopOptions().callbacks(...)`; empty functions are skipped. Steps are counted
/// from 0, and 0 <= begin < end. The functions must not change the tensors passed to them. Their exceptions pass
/// through the loop unchanged.
struct StepCallbacks {
  std::function<void(std::int64_t begin, std::int64_t end)>
      run_forward;  ///< called before steps [begin, end) run, for the first time or again
  std::function<void(std::int64_t begin, std::int64_t end)>
      run_backward;  ///< called before steps [begin, end) are differentiated, together
  std::function<void(std::int64_t step, at::TensorList parts)>
      state;  ///< receives the parts of the state before this step
  std::function<void(std::int64_t step, at::TensorList parts)>
      grad;  ///< receives the gradients with respect to that state; undefined if there is none
};

}  // namespace cairn::libtorch
