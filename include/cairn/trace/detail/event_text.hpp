// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file event_text.hpp  Writes the text of an event into memory that has room for it.
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

namespace cairn::detail {

/// Most digits of a number of 64 bits. All of them are overwritten behind a number, however short it is.
inline constexpr std::size_t most_event_digits = 20;

/// A place in memory that moves on with what is written.   \pre there is room
class event_text {
 public:
  explicit event_text(char* at) noexcept : at_{at} {}

  template <std::size_t N>
  event_text& put(char const (&literal)[N]) noexcept {
    std::memcpy(at_, literal, N - 1);
    at_ += N - 1;
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
    char digits[2 * most_event_digits];
    char* const to = digits + most_event_digits;
    std::memset(to, 0, most_event_digits);
    char* from = to;
    for (; rest >= 100; rest /= 100) from = pair(from, rest % 100);
    if (rest >= 10) from = pair(from, rest);
    else *--from = char('0' + rest);
    std::memcpy(at_, from, most_event_digits);  // a length that is known is no call
    at_ += to - from;
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
  /// Two digits in front of `end`; std::to_chars, which counts digits first, takes twice as long.
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
