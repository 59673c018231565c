// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file pin.hpp  Holds a tensor of a recorded call that no operator can make again.
#include <cairn/language.hpp>  // first: an older language gets its message
#include <ATen/core/Tensor.h>
#include <cairn/adapt/torch/record/detail/call_record.hpp>

namespace cairn::libtorch {

/// Says that something which is no operator has written to a tensor: a raw pointer, a kernel of another library. In a
/// region, and in a call within a limit or by blocks, what the tensor holds is held until backward, and not made again.
/// Call it after the write. Outside of such calls it does nothing.   \returns the tensor
inline at::Tensor pin(at::Tensor t) {
  if (auto* const record = detail::call_record::of_call(); record != nullptr) record->pin(t);
  return t;
}

}  // namespace cairn::libtorch
