// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file nanoseconds_since.hpp  How long a call has taken, on any device.
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <ATen/core/Tensor.h>

namespace cairn::libtorch::detail {

/// At least 1. Waits for the device of the result.   \param result  of the call; undefined if there is none
[[nodiscard]] inline std::int64_t nanoseconds_since(std::chrono::steady_clock::time_point start,
                                                    at::Tensor const& result) {
  if (result.defined() && !result.is_cpu())
    (void)result.detach().as_strided({(std::min)(std::int64_t{1}, result.numel())}, {1}).cpu();
  auto const passed = std::chrono::steady_clock::now() - start;
  return (std::max)(std::int64_t{1}, std::int64_t(std::chrono::nanoseconds(passed).count()));
}

}  // namespace cairn::libtorch::detail
