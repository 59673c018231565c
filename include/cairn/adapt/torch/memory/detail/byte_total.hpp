// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file byte_total.hpp  A number of bytes and its peak, for objects that count blocks of memory under a lock.
#include <algorithm>
#include <cstdint>
#include <mutex>

namespace cairn::libtorch::detail {

/// The bytes of the blocks that a derived class knows, and their peak. The lock also protects the derived class's table
/// of blocks, so that total and table change together.
class byte_total {
 public:
  [[nodiscard]] std::int64_t allocated() const {
    std::lock_guard const lock{access_};
    return allocated_;
  }
  [[nodiscard]] std::int64_t peak() const {
    std::lock_guard const lock{access_};
    return peak_;
  }
  void reset_peak() {
    std::lock_guard const lock{access_};
    peak_ = allocated_;
  }

 protected:
  byte_total() = default;
  ~byte_total() = default;

  /// \pre the caller holds `access_`
  void change_by(std::int64_t bytes) noexcept {
    allocated_ += bytes;
    peak_ = (std::max)(peak_, allocated_);
  }

  mutable std::mutex access_;

 private:
  std::int64_t allocated_ = 0;
  std::int64_t peak_ = 0;
};

}  // namespace cairn::libtorch::detail
