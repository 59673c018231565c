#pragma once
/// \file kept_results.hpp  Copies of a recording's results, each of which stays where it is until the next recording.
#include <cstddef>
#include <memory>
#include <vector>

namespace cairn::detail {

/// To copy a tool's number is to record, so that a vector of them must not grow; these are made one by one and used
/// again.
template <class Scalar>
class kept_results {
 public:
  /// The next one; it holds what it held in the recording before.
  [[nodiscard]] Scalar& next() {
    if (used_ == all_.size()) {
      all_.push_back(std::make_unique<Scalar>());
      list_.push_back(all_.back().get());
    }
    return *list_[used_++];
  }
  void begin() noexcept { used_ = 0; }
  [[nodiscard]] std::size_t size() const noexcept { return used_; }
  [[nodiscard]] Scalar& operator[](std::size_t k) const noexcept { return *list_[k]; }
  /// Pointers to all of them.
  [[nodiscard]] Scalar** data() noexcept { return list_.data(); }
  void clear() noexcept {
    all_.clear();
    list_.clear();
    used_ = 0;
  }

 private:
  std::vector<std::unique_ptr<Scalar>> all_;
  std::vector<Scalar*> list_;
  std::size_t used_ = 0;
};

}  // namespace cairn::detail
