// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file buffers_guard.hpp  Restores buffers that a recomputation would change a second time.
#include <utility>
#include <vector>
#include <ATen/core/Tensor.h>
#include <ATen/core/grad_mode.h>

namespace cairn::libtorch::detail {

/// Restores the values of tensors at the end of a scope, such as the running means of a batch norm. Their versions do
/// not change: a graph outside may have saved them.
class buffers_guard {
 public:
  /// \param buffers  undefined ones are ignored
  explicit buffers_guard(std::vector<at::Tensor> const& buffers) {
    at::NoGradGuard const no_grad;
    for (auto const& buffer : buffers)
      if (buffer.defined()) values_.emplace_back(buffer, buffer.detach().clone());
  }
  buffers_guard(buffers_guard const&) = delete;
  buffers_guard& operator=(buffers_guard const&) = delete;
  ~buffers_guard() {
    at::NoGradGuard const no_grad;
    for (auto const& [buffer, values] : values_)
      buffer.variable_data().copy_(values);  // variable_data() has its own version counter
  }

 private:
  std::vector<std::pair<at::Tensor, at::Tensor>> values_;
};

}  // namespace cairn::libtorch::detail
