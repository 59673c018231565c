// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file listed_type.hpp  Types of a program by their names: two source files may each have one of the same name.
#include <cstring>
#include <mutex>

namespace cairn::detail {

/// A type in the list of those that the program has, and the libraries that are loaded now.
class listed_type {
 public:
  explicit listed_type(char const* name) : name_{name} {
    std::lock_guard const held{alone()};
    next_ = first();
    first() = this;
  }
  listed_type(listed_type const&) = delete;
  ~listed_type() {
    std::lock_guard const held{alone()};
    auto** at = &first();
    while (*at != this) at = &(*at)->next_;
    *at = next_;
  }
  [[nodiscard]] bool has_namesake() const {
    std::lock_guard const held{alone()};
    for (auto const* one = first(); one != nullptr; one = one->next_)
      if (one != this && std::strcmp(one->name_, name_) == 0) return true;
    return false;
  }

 private:
  static std::mutex& alone() noexcept {
    static std::mutex one;
    return one;
  }
  static listed_type*& first() noexcept {
    static listed_type* one = nullptr;
    return one;
  }
  char const* name_;
  listed_type* next_ = nullptr;
};

}  // namespace cairn::detail
