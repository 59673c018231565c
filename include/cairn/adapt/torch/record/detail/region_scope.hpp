// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file region_scope.hpp  While it lives, the calling thread runs a region: a record of its own, or a part of the one
/// around it.
#include <ATen/core/Tensor.h>
#include <ATen/core/grad_mode.h>
#include <memory>
#include <optional>
#include <torch/csrc/autograd/engine.h>
#include <torch/csrc/autograd/saved_variable_hooks.h>
#include <utility>
#include <vector>
#include <cairn/adapt/torch/checkpoint/detail/saved_hooks.hpp>
#include <cairn/adapt/torch/record/detail/call_record.hpp>
#include <cairn/adapt/torch/record/detail/plain_tensor.hpp>
#include <cairn/adapt/torch/record/detail/record_scope.hpp>
#include <cairn/adapt/torch/record/detail/record_totals.hpp>
#include <cairn/adapt/torch/state/tensor_state.hpp>

namespace cairn::libtorch::detail {

inline constexpr char const* region_name = "cairn::libtorch::checkpoint";

/// Counts of all regions that are no part of another call.
[[nodiscard]] inline std::shared_ptr<record_totals> const& region_totals() {
  static auto const& one = *new auto(std::make_shared<record_totals>());
  return one;
}

class region_scope {
 public:
  /// \param rules  what they name must outlive it   \param inputs  of the region: hooks around it hold them
  /// \param who  is named in errors
  region_scope(call_record::rules const& rules, bool keeps_leftovers, tensor_list const& inputs,
               char const* who = region_name) {
    need_saved_hooks(who);
    auto const& around = hook_engine::factories();
    record_ = call_record::of_call();
    bool const is_part = record_ != nullptr && !around.empty() && around.back() == record_->factory;
    if (!is_part) {
      auto packed = packed_inputs(inputs);
      own_.emplace(nullptr, region_totals(), who);
      record_ = &own_->record();
      for (auto& [t, hooks] : packed) record_->is_packed(t, std::move(hooks));
    }
    outer_ = std::exchange(record_->in_force, rules);
    record_->open_region(!is_part, keeps_leftovers);
  }
  region_scope(region_scope const&) = delete;
  region_scope& operator=(region_scope const&) = delete;
  ~region_scope() {
    record_->in_force = outer_;
    if (!own_) record_->close_region();
  }

 private:
  using hooks_of_input = std::pair<at::Tensor, std::unique_ptr<torch::autograd::SavedVariableHooks>>;

  /// Those inputs that hooks can hold: tensors that fill a memory of their own.
  [[nodiscard]] static std::vector<hooks_of_input> packed_inputs(tensor_list const& inputs) {
    std::vector<hooks_of_input> all;
    if (hook_engine::factories().empty()) return all;
    at::NoGradGuard const off;
    for (auto const& t : inputs) {
      if (!is_plain_memory(t) || t.nbytes() != t.storage().nbytes() || !t.is_non_overlapping_and_dense()) continue;
      auto hooks = torch::autograd::Engine::get_default_engine().get_default_saved_variable_hooks();
      if (!hooks) break;
      hooks->call_pack_hook(t.detach());
      all.emplace_back(t, std::move(hooks));
    }
    return all;
  }

  std::optional<record_scope> own_;
  call_record* record_;
  call_record::rules outer_;
};

}  // namespace cairn::libtorch::detail
