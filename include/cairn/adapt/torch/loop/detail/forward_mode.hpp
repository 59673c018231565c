// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file forward_mode.hpp  Refuses derivatives in forward mode, which recomputation in backward does not propagate.
#include <cstddef>
#include <ATen/core/Tensor.h>
#include <c10/core/AutogradState.h>
#include <cairn/core/error.hpp>

namespace cairn::libtorch::detail {

/// \throws invalid_call   if a tensor has a tangent and forward mode is on
inline void refuse_tangents(char const* who, at::TensorList tensors) {
  if (!c10::AutogradState::get_tls_state().get_fw_grad_mode()) return;
  for (std::size_t k = 0; k < tensors.size(); ++k)
    if (tensors[k].defined() && tensors[k]._fw_grad(0).defined())
      throw invalid_call{who, "a tensor has a tangent of forward mode, which would be lost", {{"tensor", k}},
                         "call it under torch::NoGradGuard: it is then the plain computation, which keeps tangents"};
}

}  // namespace cairn::libtorch::detail
