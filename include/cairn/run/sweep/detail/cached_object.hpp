// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file cached_object.hpp  Memory for an object whose type is known late; it is kept from call to call.

namespace cairn::detail {

/// Holds one object of the type requested last; a copy starts empty.
class cached_object {
 public:
  cached_object() = default;
  constexpr cached_object(cached_object const&) noexcept {}
  constexpr cached_object& operator=(cached_object const&) noexcept { return *this; }
  constexpr ~cached_object() { clear(); }

  /// The object in it if that is a T, otherwise a new T.
  template <class T>
  [[nodiscard]] T& get() {
    if (destroy_ != &destroy<T>) {
      clear();
      object_ = new T{};
      destroy_ = &destroy<T>;
    }
    return *static_cast<T*>(object_);
  }
  /// Destroys the object.
  constexpr void clear() noexcept {
    if (destroy_ != nullptr) destroy_(object_);
    destroy_ = nullptr;
  }

 private:
  template <class T>
  static void destroy(void* object) noexcept { delete static_cast<T*>(object); }
  void* object_ = nullptr;
  void (*destroy_)(void*) noexcept = nullptr;
};

/// Such memory, or that of another one, which outlives it; a copy starts empty.
class lent_object {
 public:
  lent_object() = default;
  constexpr explicit lent_object(lent_object* lender) noexcept : lender_{lender} {}
  constexpr lent_object(lent_object const&) noexcept {}
  constexpr lent_object& operator=(lent_object const&) noexcept { return *this; }
  [[nodiscard]] constexpr cached_object& object() noexcept { return lender_ != nullptr ? lender_->object() : own_; }

 private:
  cached_object own_;
  lent_object* lender_ = nullptr;
};

}  // namespace cairn::detail
