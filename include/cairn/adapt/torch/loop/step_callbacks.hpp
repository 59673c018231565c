#pragma once
/// \file step_callbacks.hpp  Functions of yours that a loop calls by the number of the step.
#include <cstdint>
#include <functional>
#include <ATen/core/Tensor.h>

namespace cairn::libtorch {

/// What a loop calls while it runs, each where it is not empty. They look only: tensors given to them must not be
/// changed. What they throw passes through the loop unchanged.
struct StepCallbacks {
  std::function<void(std::int64_t begin, std::int64_t end)>
      run_forward;  ///< steps [begin, end) are about to be run, for the first time or again
  std::function<void(std::int64_t begin, std::int64_t end)>
      run_backward;  ///< steps [begin, end) are about to be differentiated, together
  std::function<void(std::int64_t step, at::TensorList parts)>
      state;  ///< the parts of the state that this step starts from
  std::function<void(std::int64_t step, at::TensorList parts)>
      grad;  ///< the gradients with respect to that state, undefined where there is none
};

}  // namespace cairn::libtorch
