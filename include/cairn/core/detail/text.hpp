// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file text.hpp  Text of bounded length, without std::string.
#include <cstddef>
#include <cairn/core/wide.hpp>

namespace cairn::detail {

/// Up to `Capacity` characters, null-terminated; longer text is cut and ends in "...".
/// Nothing is inlined: every program contains the constructor of errors, and nine inlined copies of these loops would
/// be a third of its compile time.
template <std::size_t Capacity>
class text {
 public:
  [[gnu::noinline]] constexpr text& add(char const* more) noexcept {
    while (*more != '\0') put(*more++);
    return *this;
  }
  [[gnu::noinline]] constexpr text& add(wide number) noexcept {
    char digits[40] = {};
    std::size_t count = 0;
    do digits[count++] = char('0' + int(number % 10));
    while ((number /= 10) != 0);
    while (count > 0) put(digits[--count]);
    return *this;
  }
  [[gnu::noinline]] constexpr void put(char c) noexcept {
    if (size_ < Capacity) { characters_[size_++] = c; characters_[size_] = '\0'; }
    else for (std::size_t k = Capacity < 3 ? 0 : Capacity - 3; k < Capacity; ++k) characters_[k] = '.';
  }
  [[nodiscard]] constexpr char const* c_str() const noexcept { return characters_; }
  [[nodiscard]] constexpr std::size_t size() const noexcept { return size_; }

 private:
  char characters_[Capacity + 1] = {};
  std::size_t size_ = 0;
};

}  // namespace cairn::detail
