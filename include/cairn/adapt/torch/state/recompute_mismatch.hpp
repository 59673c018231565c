// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file recompute_mismatch.hpp  The exception for a recomputation that differs from the first run.
#include <memory>
#include <string>
#include <cairn/core/error.hpp>

namespace cairn::libtorch {

/// The tensors that a recomputation saves for backward differ from those of the first run; the values say which tensor,
/// counted from 0.
class recompute_mismatch : public error {
 public:
  using error::error;
  /// The same error with the operations of both runs, a text of several lines.
  [[nodiscard]] recompute_mismatch with_operations(std::string const& operations) const {
    auto longer = *this;
    longer.text_ = std::make_shared<std::string const>(std::string{what()} + '\n' + operations);
    return longer;
  }
  /// As for every error; with the operations if they are known.
  [[nodiscard]] char const* what() const noexcept override { return text_ ? text_->c_str() : error::what(); }

 private:
  std::shared_ptr<std::string const> text_;  ///< null without operations
};

}  // namespace cairn::libtorch
