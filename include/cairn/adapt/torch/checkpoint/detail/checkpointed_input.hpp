// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file checkpointed_input.hpp  An input of a computation that runs again.
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>
#include <ATen/core/Tensor.h>
#include <ATen/core/grad_mode.h>
#include <c10/core/TensorImpl.h>
#include <torch/csrc/autograd/engine.h>
#include <torch/csrc/autograd/saved_variable_hooks.h>
#include <cairn/adapt/torch/state/detail/read_tracker.hpp>
#include <cairn/adapt/torch/state/detail/saved_metadata.hpp>
#include <cairn/core/error.hpp>

namespace cairn::libtorch::detail {

/// An input, kept without the graph that made it. If saved tensors have hooks, as inside another region, the hooks keep
/// it.
class checkpointed_input {
 public:
  explicit checkpointed_input(at::Tensor const& t) {
    if (!t.defined()) return;
    requires_grad_ = t.requires_grad();
    at::NoGradGuard const off;
    hooks_ = torch::autograd::Engine::get_default_engine().get_default_saved_variable_hooks();
    if (hooks_) {
      version_ = version_of(t);
      hooks_->call_pack_hook(t.detach());
    } else saved_ = saved_tensor{t.detach()};
  }
  /// A leaf of a new graph with the input's values.
  /// \throws invalid_call   if it has been changed in place
  [[nodiscard]] at::Tensor leaf(char const* who, std::size_t number) const {
    if (!hooks_ && !saved_.value.defined()) return {};
    if (!hooks_ && !saved_.unchanged())
      throw invalid_call{
          who,
          "an input was changed in place before backward",
          {{"input", number}},
          "change a copy of it, also in the region itself, and run backward before the optimiser's step"};
    auto const values = (hooks_ ? hooks_->call_unpack_hook() : saved_.value).detach();
    // A copy has its own version counter, and hooks that save it again compare the version.
    if (hooks_ && version_of(values) != version_)
      values.unsafeGetTensorImpl()->set_version_counter(c10::VariableVersion(std::uint32_t(version_)));
    return values.requires_grad_(requires_grad_);
  }
  /// Whether its values have not changed, as far as is visible here: hooks check their own tensors.
  [[nodiscard]] bool is_unchanged() const { return hooks_ || !saved_.value.defined() || saved_.unchanged(); }
  /// Whether hooks hold it.
  [[nodiscard]] bool is_elsewhere() const noexcept { return hooks_ != nullptr; }

 private:
  std::unique_ptr<torch::autograd::SavedVariableHooks> hooks_;
  saved_tensor saved_;
  std::int64_t version_ = 0;  ///< used only with hooks
  bool requires_grad_ = false;
};

}  // namespace cairn::libtorch::detail
