#pragma once
/// \file loop_options.hpp  How a loop over tensors is checkpointed, and what it says about itself.
#include <concepts>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>
#include <torch/arg.h>
#include <torch/nn/module.h>
#include <cairn/adapt/torch/loop/slot_pool.hpp>
#include <cairn/adapt/torch/loop/step_callbacks.hpp>
#include <cairn/adapt/torch/loop/step_stats.hpp>
#include <cairn/adapt/torch/state/determinism.hpp>
#include <cairn/adapt/torch/state/rng.hpp>
#include <cairn/adapt/torch/state/tensor_state.hpp>
#include <cairn/core/bytes.hpp>
#include <cairn/core/error.hpp>
#include <cairn/core/replay_check.hpp>
#include <cairn/schedule/any.hpp>

namespace cairn::libtorch {

/// How the loop learns which tensors, beside its state, the step differentiates with respect to: parameters, weights
/// computed before the loop.
enum class Capture {
  FirstStep,  ///< those that the first steps use; another one in a later step is refused during backward
  EveryStep,  ///< those that any step uses; each step of the forward sweep then builds the graph of that step
  Explicit    ///< those that were named by `captures` or `module`; another one is refused before the second step runs
};
/// What becomes of the buffers of a module, for example the running means of a batch norm, when steps are run again.
enum class SideEffects {
  RestoreBuffers,  ///< after backward they are as they were before it: each step has changed them once
  Keep             ///< they stay as the steps that were run again leave them
};
/// Where kept states stand that lie on a CUDA device.
enum class Offload {
  Off,    ///< on the device
  Pinned  ///< in pinned memory of the host: copied there beside the computation, and back when they are needed
};

/// Options of `checkpointed_loop`, `checkpointed_scan` and `checkpointed_while`.
struct LoopOptions {
  /// States kept at once, the initial one included, >= 1; 0 is one for each block.
  TORCH_ARG(std::int64_t, checkpoints) = 0;
  /// Steps that are differentiated together, >= 1: their tapes stand at once. 0 is 1 where `checkpoints` is given, else
  /// floor(sqrt T).
  TORCH_ARG(std::int64_t, block_size) = 0;
  /// Any of cairn's schedules over T steps, or one of your own, in place of `checkpoints` and `block_size`, which make
  /// a `revolve` over blocks.
  TORCH_ARG(std::optional<any_schedule>, schedule) = std::nullopt;
  /// How captured tensors are found.
  TORCH_ARG(Capture, capture) = Capture::FirstStep;
  /// Captured tensors that are known; those that require no gradient do not matter.
  TORCH_ARG(std::vector<at::Tensor>, captures) = {};
  /// Whether steps that are run again draw the same random numbers. Afterwards the generators stand where a plain loop
  /// leaves them.
  TORCH_ARG(Rng, rng) = Rng::Preserve;
  /// What must be the same in states that are computed again.
  TORCH_ARG(Check, determinism) = Check::Metadata;
  /// Whether states that are run again are compared with the first ones bit by bit, whatever `determinism` says: none,
  /// those between blocks, or all, which is `Check::Bits`. Costs one look at each of these on either way, on the
  /// processor.
  TORCH_ARG(replay_check, verify) = replay_check::off;
  /// Whether `create_graph` may be asked for: the second derivative keeps the tapes of all steps at once.
  TORCH_ARG(bool, double_backward) = true;
  /// What becomes of the buffers of `module`.
  TORCH_ARG(SideEffects, side_effects) = SideEffects::RestoreBuffers;
  /// Lazy slots refer to the tensors of states. Eager ones copy into tensors that each slot makes once, at its first
  /// state, and keeps until the graph is gone; they take no more at once. Parts that share memory with the initial
  /// state, or have gaps or overlaps in it, stay references.
  TORCH_ARG(SlotMode, slots) = SlotMode::Lazy;
  /// What becomes of kept states on a CUDA device. The initial state stays there, as the caller's, and so do parts with
  /// gaps or overlaps in memory; a memory limit counts all as if they did. Tensors on the processor stay where they
  /// are.
  TORCH_ARG(Offload, offload) = Offload::Off;
  /// Where the loop counts what it does, and what it takes; several loops may share one.
  TORCH_ARG(std::shared_ptr<StepStats>, stats) = nullptr;
  /// Functions that are called before steps are run.
  TORCH_ARG(StepCallbacks, callbacks) = {};

 public:
  /// A module that the step uses, added to those before: its parameters are captured, its buffers restored.
  LoopOptions& module(torch::nn::Module const& used) {
    for (auto const& parameter : used.parameters()) captures_.push_back(parameter);
    for (auto const& buffer : used.buffers()) buffers_.push_back(buffer);
    return *this;
  }
  /// The same of a `torch::nn::Linear`, `LSTMCell` ...
  template <class Contained>
  LoopOptions& module(torch::nn::ModuleHolder<Contained> const& used) {
    return module(static_cast<torch::nn::Module const&>(*used));
  }
  /// Bytes for all tensors that the loop holds at once, in forward and backward: "4GB", or a number. Steps are measured
  /// first, and the fastest (checkpoints, block size) within the limit are taken. States count, the initial and the
  /// last one too, the tapes, what steps work with, adjoints, and the gradients of captured tensors, which end up with
  /// the caller. The measurement runs eight steps or fewer forward and back, on the device of the state; where the same
  /// loop runs often, ask `estimate` once and give what it found.   \throws invalid_size, overflow_error
  LoopOptions& memory_limit(byte_size limit) {
    memory_limit_ = limit;
    memory_share_ = 0;
    return *this;
  }
  /// A part of what is free on the state's device when the loop begins, 0 < share <= 1.   \throws invalid_plan
  template <std::floating_point Share>
  LoopOptions& memory_limit(Share share) {
    if (!(share > 0 && share <= 1))
      throw invalid_plan{"cairn::libtorch::LoopOptions", "a share of the free memory is more than 0 and at most 1", {},
                         "give 0.5 for a half, and bytes as a whole number or \"4GB\""};
    memory_share_ = double(share);
    memory_limit_.reset();
    return *this;
  }
  /// Nothing where it is a share, or there is none.
  [[nodiscard]] std::optional<byte_size> memory_limit() const noexcept { return memory_limit_; }
  /// 0 where it is in bytes, or there is none.
  [[nodiscard]] double memory_share() const noexcept { return memory_share_; }
  /// Of either kind.
  [[nodiscard]] bool has_memory_limit() const noexcept { return memory_limit_ || memory_share_ > 0; }
  /// None any more.
  LoopOptions& no_memory_limit() noexcept {
    memory_limit_.reset();
    memory_share_ = 0;
    return *this;
  }
  /// The buffers of the modules.
  [[nodiscard]] std::vector<at::Tensor> const& buffers() const noexcept { return buffers_; }
  /// Those that are put back after steps ran again.
  [[nodiscard]] std::vector<at::Tensor> restored_buffers() const {
    return side_effects_ == SideEffects::Keep ? std::vector<at::Tensor>{} : buffers_;
  }

 private:
  std::vector<at::Tensor> buffers_;
  std::optional<byte_size> memory_limit_;
  double memory_share_ = 0;
};

}  // namespace cairn::libtorch
