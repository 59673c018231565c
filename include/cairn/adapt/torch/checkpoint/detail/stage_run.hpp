// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file stage_run.hpp  The first run of a stage of a chain, and its later runs.
#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <utility>
#include <ATen/core/Tensor.h>
#include <ATen/core/grad_mode.h>
#include <torch/csrc/autograd/saved_variable_hooks.h>
#include <cairn/adapt/torch/checkpoint/checkpoint_policy.hpp>
#include <cairn/adapt/torch/checkpoint/detail/active_region.hpp>
#include <cairn/adapt/torch/checkpoint/detail/cached_operations.hpp>
#include <cairn/adapt/torch/checkpoint/detail/dispatch_mode.hpp>
#include <cairn/adapt/torch/checkpoint/detail/saved_hooks.hpp>
#include <cairn/adapt/torch/checkpoint/detail/script_mode.hpp>
#include <cairn/adapt/torch/checkpoint/detail/stage_record.hpp>
#include <cairn/adapt/torch/checkpoint/detail/tensor_stage.hpp>
#include <cairn/adapt/torch/state/detail/read_tracker.hpp>
#include <cairn/adapt/torch/state/detail/rng_autocast.hpp>
#include <cairn/adapt/torch/state/detail/saved_metadata.hpp>
#include <cairn/adapt/torch/state/detail/saved_origin.hpp>
#include <cairn/adapt/torch/state/detail/write_log.hpp>
#include <cairn/adapt/torch/state/determinism.hpp>
#include <cairn/adapt/torch/state/rng.hpp>
#include <cairn/core/error.hpp>
#include <cairn/rules/chain.hpp>

namespace cairn::libtorch::detail {

/// Options of a chain.
struct chain_settings {
  Rng rng;
  Check check;
  char const* who;
  std::function<void(action const&)> told = {};  ///< called before each action after the loss
  checkpoint_policy policy = {};  ///< for operators in stages that run again; without one all run again
};

[[noreturn]] inline void refuse_inner_gradient(char const* who) {
  throw invalid_call{who,
                     "a saved tensor is needed while a stage runs",
                     {},
                     "a stage must not differentiate inside itself here; make it a region of its own by "
                     "cairn::libtorch::checkpoint"};
}

/// A run of a stage.
class stage_run {
 public:
  stage_run(tensor_stage const& stage, stage_record& record, chain_settings const& how)
      : stage_{stage}, record_{record}, how_{how} {}

  /// Runs the stage for the first time, and notes what it reads and where the generators are.
  /// \param here   a tensor on the device of the chain's input, whose generator is included
  /// \param hooks  returns the factory of the hooks for what it saves; takes a shared map of origins
  template <class Hooks>
  [[nodiscard]] at::Tensor first(at::Tensor const& in, at::Tensor const& here, Hooks const& hooks) {
    record_.requires_grad = in.requires_grad();
    if (record_.begins && how_.rng == Rng::Preserve) record_.generators = generator_states::now({in, here});
    record_.changes.begin(in);
    read_tracker const tracker{false, &record_.changes};
    auto const notes = std::make_shared<origin_map>();
    under_policy const policy{*this, *notes, false};
    saved_hooks_scope const scope{hooks(notes)};
    auto out = stage_.run(in);
    record_.changes.end();
    record_.reads.add_unchanged(tracker.reads(in));
    record_.scripts = tracker.saw_script();
    return out;
  }
  /// Runs stage i again. What it saves is compared with what it saved at first.
  /// \param keeps  whether that goes to the record's tape   \throws recompute_mismatch   if the two differ
  [[nodiscard]] at::Tensor again(step_index i, at::Tensor const& in, bool keeps) {
    std::size_t saved = 0;
    auto out = recorded_again(in, keeps ? &*record_.tape : nullptr, saved);
    if (saved != record_.saved())
      throw recompute_mismatch{how_.who,
                               "a stage saves a different number of tensors for backward when it is run again",
                               {{"stage", i}, {"saved", saved}, {"saved at first", record_.saved()}},
                               record_.scripts ? script_advice
                                               : "let the stages depend only on their inputs, and change nothing in "
                                                 "them between forward and backward"};
    for (std::size_t k = 0; keeps && k < saved; ++k)
      if (!same_saved(record_.metadata(k), record_.tape->saved[k]))
        record_.check(i, k, record_.tape->saved[k], how_.who);
    return out;
  }

 private:
  /// The policy of the chain, during its lifetime.
  class under_policy {
   public:
    under_policy(stage_run const& of, origin_map& notes, bool again) {
      if (!of.record_.has_policy) return;
      static kept_names const all;
      region_.emplace(of.record_.kept, notes, again, of.how_.rng, all);
      operators_.emplace(of.how_.policy, of.record_.operations, *region_, of.how_.who);
    }

   private:
    std::optional<active_region> region_;
    std::optional<operator_run> operators_;
  };
  /// Counts what is saved, and appends it to a tape.
  struct tape_hooks final : torch::autograd::SavedVariableHooks {
    tape_hooks(std::size_t& count, stage_tape* into, origin_map& notes, char const* name)
        : saved{count}, tape{into}, origins{notes}, who{name} {}
    void call_pack_hook(at::Tensor const& t) override {
      ++saved;
      if (tape == nullptr) return;
      dispatch_mode_scope const no_mode{false};
      tensor = t.detach();  // t may be the node's own result, and would keep alive the node that owns the hook
      tape->saved.emplace_back(tensor, origins.of(t));
    }
    at::Tensor call_unpack_hook() override {
      if (!tensor.defined()) refuse_inner_gradient(who);
      return tensor;
    }
    std::size_t& saved;
    stage_tape* tape;
    origin_map& origins;
    char const* who;
    at::Tensor tensor;
  };

  [[nodiscard]] at::Tensor recorded_again(at::Tensor const& in, stage_tape* tape, std::size_t& saved) {
    rewound_memory const memory{record_.changes, stage_.buffers};
    at::AutoGradMode const on{true};
    plain_scripts const scripts{record_.scripts};
    origin_map notes;
    under_policy const policy{*this, notes, true};
    saved_hooks_scope const hooks{[&] { return std::make_unique<tape_hooks>(saved, tape, notes, how_.who); }};
    return stage_.run(in).detach();
  }

  tensor_stage const& stage_;
  stage_record& record_;
  chain_settings const& how_;
};

}  // namespace cairn::libtorch::detail
