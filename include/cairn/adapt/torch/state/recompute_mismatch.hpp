#pragma once
/// \file recompute_mismatch.hpp  What is thrown where a second run is not as the first.
#include <memory>
#include <string>
#include <cairn/core/error.hpp>

namespace cairn::libtorch {

/// What is run again saves other tensors for backward than it saved at first; the values say which tensor, counted from
/// 0.
class recompute_mismatch : public error {
 public:
  using error::error;
  /// The same, and the operations of both runs, a text of lines.
  [[nodiscard]] recompute_mismatch with_operations(std::string const& operations) const {
    auto longer = *this;
    longer.text_ = std::make_shared<std::string const>(std::string{what()} + '\n' + operations);
    return longer;
  }
  /// As of every error; with the operations where they are known.
  [[nodiscard]] char const* what() const noexcept override { return text_ ? text_->c_str() : error::what(); }

 private:
  std::shared_ptr<std::string const> text_;  ///< none without operations
};

}  // namespace cairn::libtorch
