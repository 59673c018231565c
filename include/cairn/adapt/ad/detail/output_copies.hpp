// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file output_copies.hpp  Copies of a recording's results, which do not move until the next recording.
#include <cstddef>
#include <deque>
#include <utility>
#include <vector>
#include <cairn/core/wide.hpp>

namespace cairn::detail {

/// Copies of results, which stay in place and are reused by the next recording. A growing vector would copy its
/// elements, and copying a tool's scalar records an operation.
template <class Scalar>
class output_copies {
 public:
  output_copies() = default;
  output_copies(output_copies&& other) noexcept
      : all_{std::move(other.all_)}, list_{std::move(other.list_)}, used_{std::exchange(other.used_, 0)} {}

  /// The next copy; still has the value from the previous recording.
  [[nodiscard]] Scalar& next() {
    if (used_ == all_.size()) {
      list_.push_back(&all_.emplace_back());
    }
    return *list_[used_++];
  }
  void begin() noexcept { used_ = 0; }
  [[nodiscard]] std::size_t size() const noexcept { return used_; }
  [[nodiscard]] Scalar& operator[](std::size_t k) const noexcept { return *list_[k]; }
  /// With what the growth of the list has taken.
  [[nodiscard]] wide bytes() const noexcept {
    return wide(all_.size()) * sizeof(Scalar) + wide(list_.capacity() + list_.capacity() / 2) * sizeof(Scalar*);
  }
  /// Pointers to all of them.
  [[nodiscard]] Scalar** data() noexcept { return list_.data(); }
  void clear() noexcept {
    all_.clear();
    list_.clear();
    used_ = 0;
  }

 private:
  std::deque<Scalar> all_;
  std::vector<Scalar*> list_;
  std::size_t used_ = 0;
};

}  // namespace cairn::detail
