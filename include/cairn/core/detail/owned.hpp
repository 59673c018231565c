// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file owned.hpp  The owner of one object on the heap.
#include <utility>

namespace cairn::detail {

/// Owns an object of a class with a virtual destructor; may own nothing.
template <class T>
class owned {
 public:
  explicit owned(T* object) noexcept : object_{object} {}
  owned(owned&& other) noexcept : object_{std::exchange(other.object_, nullptr)} {}
  owned& operator=(owned&& other) noexcept {
    std::swap(object_, other.object_);
    return *this;
  }
  ~owned() { delete object_; }
  [[nodiscard]] T* operator->() const noexcept { return object_; }
  [[nodiscard]] T& operator*() const noexcept { return *object_; }

 private:
  T* object_;
};

}  // namespace cairn::detail
