// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file event_text.hpp  Writes the text of an event into memory that has room for it.
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

namespace cairn::detail {

/// Most characters of a number of 64 bits.
inline constexpr std::size_t most_event_digits = 20;

/// A position in memory that advances with each write.   \pre there is room
class event_text {
 public:
  explicit event_text(char* at) noexcept : at_{at} {}

  template <std::size_t Size>
  event_text& put(char const (&literal)[Size]) noexcept {
    std::memcpy(at_, literal, Size - 1);
    at_ += Size - 1;
    return *this;
  }
  event_text& text(std::string_view more) noexcept {
    if (!more.empty()) std::memcpy(at_, more.data(), more.size());
    at_ += more.size();
    return *this;
  }
  event_text& number(std::int64_t value) noexcept {
    auto rest = std::uint64_t(value);
    if (rest < 10) {
      *at_++ = char('0' + rest);
      return *this;
    }
    if (value < 0) {
      *at_++ = '-';
      rest = 0 - rest;
    }
    char* from = at_ += digits_of(rest);
    for (; rest >= 100; rest /= 100) from = pair(from, rest % 100);
    if (rest >= 10) (void)pair(from, rest);
    else *--from = char('0' + rest);
    return *this;
  }
  /// Microseconds with three decimals.   \pre nanoseconds >= 0
  event_text& microseconds(std::int64_t nanoseconds) noexcept {
    auto const whole = std::uint64_t(nanoseconds) / 1000, rest = std::uint64_t(nanoseconds) % 1000;
    number(std::int64_t(whole));
    at_[0] = '.';
    at_[1] = char('0' + rest / 100);
    (void)pair(at_ + 4, rest % 100);
    at_ += 4;
    return *this;
  }
  [[nodiscard]] char* end() const noexcept { return at_; }

 private:
  /// How many digits a number has, so that the digits can be written in their final place. Copying them there would be
  /// slow: a processor stalls when several small writes are soon read as one.
  static std::size_t digits_of(std::uint64_t value) noexcept {
    static constexpr auto powers = [] {
      std::array<std::uint64_t, most_event_digits> all{};  // 0, then 10, 100 ...
      for (std::size_t k = 1; k < all.size(); ++k) all[k] = 10 * (k > 1 ? all[k - 1] : 1);
      return all;
    }();
    auto const fewest = std::size_t(std::bit_width(value)) * 1233 >> 12;  // fewest digits for that many bits, less 1
    return fewest + std::size_t(value >= powers[fewest]);
  }
  /// Two digits in front of `end`.
  static char* pair(char* end, std::uint64_t below_100) noexcept {
    static constexpr auto digits = [] {
      std::array<char, 200> all{};
      for (std::size_t k = 0; k < 100; ++k) {
        all[2 * k] = char('0' + k / 10);
        all[2 * k + 1] = char('0' + k % 10);
      }
      return all;
    }();
    std::memcpy(end - 2, &digits[2 * std::size_t(below_100)], 2);
    return end - 2;
  }

  char* at_;
};

}  // namespace cairn::detail
