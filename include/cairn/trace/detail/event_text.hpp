#pragma once
/// \file event_text.hpp  Writes the text of an event into memory that has room for it.
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

namespace cairn::detail {

/// Most characters of a number of 64 bits, its sign among them.
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
    if (value >= 0 && value < 10) *at_++ = char('0' + value);
    else at_ = std::to_chars(at_, at_ + most_event_digits, value).ptr;
    return *this;
  }
  /// Microseconds with three decimals.   \pre nanoseconds >= 0
  event_text& microseconds(std::int64_t nanoseconds) noexcept {
    auto const whole = std::uint64_t(nanoseconds) / 1000, rest = std::uint64_t(nanoseconds) % 1000;
    number(std::int64_t(whole));
    *at_++ = '.';
    *at_++ = char('0' + rest / 100);
    *at_++ = char('0' + rest / 10 % 10);
    *at_++ = char('0' + rest % 10);
    return *this;
  }
  [[nodiscard]] char* end() const noexcept { return at_; }

 private:
  char* at_;
};

}  // namespace cairn::detail
