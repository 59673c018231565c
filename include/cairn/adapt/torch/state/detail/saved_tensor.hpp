// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file saved_tensor.hpp  A tensor that is read again later, and must not have changed by then.
#include <cstdint>
#include <utility>
#include <ATen/core/Tensor.h>

namespace cairn::libtorch::detail {

/// A tensor, and how often it had been changed in place when it was saved.
struct saved_tensor {
  at::Tensor value;
  std::int64_t version = 0;

  saved_tensor() = default;
  explicit saved_tensor(at::Tensor t) : value{std::move(t)}, version{std::int64_t(value._version())} {}
  [[nodiscard]] bool unchanged() const { return std::int64_t(value._version()) == version; }
};

}  // namespace cairn::libtorch::detail
