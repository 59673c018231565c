// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file shared.hpp  Immutable objects that a plan shares with its copies and cursors.
#include <cstddef>
#include <utility>

namespace cairn::detail {

/// Counts its owners; a base class.
class shared_object {
 public:
  shared_object() = default;
  shared_object(shared_object const&) = delete;
  shared_object& operator=(shared_object const&) = delete;

 private:
  template <class Object>
  friend class shared;
  mutable std::size_t owners_ = 1;
};

/// One owner of a `shared_object`. Owners may be copied and destroyed in several threads at once. Never empty: moving
/// copies.
template <class Object>
class shared {
 public:
  /// Takes ownership of an object made by `new`.
  explicit shared(Object const* object) noexcept : object_{object} {}
  shared(shared const& other) noexcept : object_{other.object_} {
    __atomic_add_fetch(&object_->owners_, 1, __ATOMIC_RELAXED);
  }
  shared& operator=(shared other) noexcept {
    std::swap(object_, other.object_);
    return *this;
  }
  ~shared() {
    if (__atomic_sub_fetch(&object_->owners_, 1, __ATOMIC_ACQ_REL) == 0) delete object_;
  }
  [[nodiscard]] Object const& operator*() const noexcept { return *object_; }
  [[nodiscard]] Object const* operator->() const noexcept { return object_; }

 private:
  Object const* object_;
};

}  // namespace cairn::detail
