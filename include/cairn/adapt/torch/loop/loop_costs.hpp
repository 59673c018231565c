// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file loop_costs.hpp  Sizes and times of the steps of a loop over tensors.
#include <cairn/core/action.hpp>
#include <cairn/core/wide.hpp>

namespace cairn::libtorch {

/// Sizes and times of a loop over tensors, measured by `estimate` or known.
struct loop_costs {
  step_index steps = 0;  ///< T, >= 0
  wide state_bytes = 0;  ///< of one state
  wide generator_bytes = 0;  ///< generator states, and buffers that steps change, kept with each state
  wide step_bytes = 0;  ///< the most that a step takes at once in the forward sweep, its result included
  /// The most that differentiating one step takes at once: its tape and its temporary memory.
  wide block_bytes = 0;
  wide pair_bytes = 0;  ///< the same for two steps together
  wide tape_bytes = 0;  ///< added for each further step
  wide third_bytes = 0;     ///< added once for more than two steps: if LibTorch makes a new sum for the gradients of a
                            ///< cast, two of them exist besides their sum
  wide gradient_bytes = 0;  ///< the gradients of captured tensors, which the caller receives
  wide probe_bytes = 0;  ///< the least limit with which these numbers can be measured
  wide other_bytes = 0;  ///< what backward holds in any case: the last state and its adjoint, buffers
  double step_seconds = 1;  ///< a step without a tape, >= 0
  double vjp_seconds = 0;  ///< a step with its tape, and its adjoint, >= 0
  double call_seconds = 0;  ///< what a block takes in addition to its steps, >= 0
};

}  // namespace cairn::libtorch
