// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file torch.hpp  The LibTorch adapter: loops as one autograd node, checkpointed regions and Sequentials, memory.
/// Further parts are in <cairn/adapt/torch/compat.hpp>.
#include <cairn/language.hpp>  // first: an older language gets its message

// The functions come first, so that the include chain in the error of a wrong call is as short as possible.
#include <cairn/adapt/torch/loop/loop.hpp>
#include <cairn/adapt/torch/loop/loop_estimate.hpp>
#include <cairn/adapt/torch/record/region.hpp>
#include <cairn/adapt/torch/loop/scan.hpp>
#include <cairn/adapt/torch/loop/while.hpp>

#include <cairn/adapt/torch/checkpoint/checkpoint_policy.hpp>
#include <cairn/adapt/torch/checkpoint/saved_tensors_hooks.hpp>
#include <cairn/adapt/torch/loop/checkpointed_rnn.hpp>
#include <cairn/adapt/torch/loop/loop_options.hpp>
#include <cairn/adapt/torch/loop/loop_plan.hpp>
#include <cairn/adapt/torch/loop/step_stats.hpp>
#include <cairn/adapt/torch/memory/byte_meter.hpp>
#include <cairn/adapt/torch/memory/process_memory.hpp>
#include <cairn/adapt/torch/record/sequential.hpp>
#include <cairn/adapt/torch/state/rng_states.hpp>
#include <cairn/adapt/torch/state/tensor_state.hpp>
