#pragma once
/// \file torch.hpp  Everything of the LibTorch adapter: loops as one autograd node, regions and chains under
/// checkpoints, memory, conversions.
#include <cairn/language.hpp>  // first: the sentence that an older language gets

// the functions first, so that an error in a call of theirs names the shortest way to it
#include <cairn/adapt/torch/keep.hpp>
#include <cairn/adapt/torch/loop.hpp>
#include <cairn/adapt/torch/loop_estimate.hpp>
#include <cairn/adapt/torch/region.hpp>
#include <cairn/adapt/torch/scan.hpp>
#include <cairn/adapt/torch/scan_estimate.hpp>
#include <cairn/adapt/torch/while.hpp>

#include <cairn/adapt/torch/checkpoint_group.hpp>
#include <cairn/adapt/torch/checkpointed_cell.hpp>
#include <cairn/adapt/torch/checkpointed_rnn.hpp>
#include <cairn/adapt/torch/checkpoint_policy.hpp>
#include <cairn/adapt/torch/checkpointed_sequential.hpp>
#include <cairn/adapt/torch/conversions.hpp>
#include <cairn/adapt/torch/debug_hooks.hpp>
#include <cairn/adapt/torch/dlpack.hpp>
#include <cairn/adapt/torch/free_memory.hpp>
#include <cairn/adapt/torch/hc_module.hpp>
#include <cairn/adapt/torch/loss_scaler.hpp>
#include <cairn/adapt/torch/memory_hook.hpp>
#include <cairn/adapt/torch/memory_stats.hpp>
#include <cairn/adapt/torch/process_memory.hpp>
#include <cairn/adapt/torch/resident_memory.hpp>
#include <cairn/adapt/torch/rng_states.hpp>
#include <cairn/adapt/torch/saved_tensors_hooks.hpp>
#include <cairn/adapt/torch/save_on_cpu.hpp>
#include <cairn/adapt/torch/sequential_forms.hpp>
#include <cairn/adapt/torch/settings.hpp>
#include <cairn/adapt/torch/slot_pool.hpp>
