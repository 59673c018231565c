// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file read_size.hpp  Reads a size in bytes from text, exactly, and explains what is wrong with other texts.
#include <cstddef>
#include <cstdint>
#include <cairn/core/detail/text.hpp>
#include <cairn/core/error.hpp>
#include <cairn/core/wide.hpp>

namespace cairn::detail {

/// Characters before the null.
[[nodiscard]] constexpr std::size_t text_length(char const* text) noexcept {
  std::size_t length = 0;
  while (text[length] != '\0') ++length;
  return length;
}

inline constexpr char unit_letters[] = "BKMGTPE";
/// A unit of size: base^power, with base 1000 or 1024.
struct size_unit {
  unsigned base = 1000;
  int power = -1;  ///< -1 means no unit
};
[[nodiscard]] constexpr int power_of(char letter) noexcept {
  for (int k = 0; unit_letters[k] != '\0'; ++k)
    if (letter == unit_letters[k]) return k;
  return -1;
}
/// Reads B, kB or KB, MB ... EB, KiB ... EiB.
[[nodiscard]] constexpr size_unit read_unit(char const* unit, std::size_t length) noexcept {
  if (length == 1) return {1000, unit[0] == 'B' ? 0 : -1};
  if (length == 2 && unit[0] == 'k' && unit[1] == 'B') return {1000, 1};
  int const power = length > 1 ? power_of(unit[0]) : -1;
  if (power > 0 && length == 2 && unit[1] == 'B') return {1000, power};
  if (power > 0 && length == 3 && unit[1] == 'i' && unit[2] == 'B') return {1024, power};
  return {};
}

enum class size_fault : std::uint8_t { none, shape, unit, not_whole, overflow };
struct size_reading {
  size_fault fault = size_fault::none;
  std::uint64_t value = 0;
  std::size_t number = 0, unit = 0, end = 0;  ///< where number and unit begin and the text ends, without blanks
};
[[nodiscard]] constexpr bool is_digit(char c) noexcept { return c >= '0' && c <= '9'; }
[[nodiscard]] constexpr bool is_blank(char c) noexcept { return c == ' ' || c == '\t'; }

/// "12.5" times a unit, in exact decimal arithmetic.
[[nodiscard]] constexpr size_reading scaled_number(char const* number, std::size_t length, size_unit unit) noexcept {
  constexpr wide most = ~std::uint64_t{0};
  constexpr std::size_t most_digits = 60;  // after the decimal point: 2^-60 EiB is one byte
  unsigned digits[most_digits] = {};
  std::size_t count = 0, k = 0;
  wide value = 0;
  for (; k < length && is_digit(number[k]); ++k) value = value > most ? value : value * 10 + wide(number[k] - '0');
  while (length > k + 1 && number[length - 1] == '0') --length;
  for (++k; k < length; ++k, ++count) {
    if (count == most_digits) return {size_fault::not_whole};
    digits[count] = unsigned(number[k] - '0');
  }
  for (int times = 0; times < unit.power; ++times) {
    unsigned carry = 0;
    for (std::size_t d = count; d-- > 0; carry = digits[d] / 10, digits[d] %= 10)
      digits[d] = digits[d] * unit.base + carry;
    value = value * unit.base + carry;  // below 2^68 before the first of six rounds, so below 2^128
  }
  if (value > most) return {size_fault::overflow};
  for (std::size_t d = 0; d < count; ++d)
    if (digits[d] != 0) return {size_fault::not_whole};
  return {size_fault::none, std::uint64_t(value)};
}

/// Reads a number and a unit; the unit is optional after a whole number. Blanks around and between are ignored.
[[nodiscard]] constexpr size_reading read_size(char const* text, std::size_t length) noexcept {
  size_reading at;
  at.end = length;
  while (at.end > 0 && is_blank(text[at.end - 1])) --at.end;
  while (at.number < at.end && is_blank(text[at.number])) ++at.number;
  auto const digits = [&](std::size_t k) {
    while (k < at.end && is_digit(text[k])) ++k;
    return k;
  };
  std::size_t stop = digits(at.number);
  bool const point = stop > at.number && stop < at.end && text[stop] == '.';
  bool const shaped = stop > at.number && (!point || digits(stop + 1) > stop + 1);
  if (point) stop = digits(stop + 1);
  at.unit = stop;
  while (at.unit < at.end && is_blank(text[at.unit])) ++at.unit;
  size_unit const unit = at.unit == at.end ? size_unit{1000, 0} : read_unit(text + at.unit, at.end - at.unit);
  size_reading const value = scaled_number(text + at.number, stop - at.number, unit);
  at.fault = !shaped ? size_fault::shape : unit.power < 0 ? size_fault::unit : value.fault;
  at.value = value.value;
  return at;
}

/// Refuses a text: says what is wrong with it and what would be right.
[[noreturn]] inline void refuse_size(char const* written, std::size_t length, size_reading const& at) {
  text<160> problem, advice;
  auto const quote = [&](auto& into, std::size_t from, std::size_t to) {
    for (std::size_t k = from; k < to && k < from + 40; ++k)
      into.put(written[k] >= ' ' && written[k] <= '~' ? written[k] : '?');
    if (to > from + 40) into.add("...");
  };
  problem.put('"');
  quote(problem, 0, length);
  problem.add(at.fault == size_fault::overflow    ? "\" does not fit 64 bits"
              : at.fault == size_fault::not_whole ? "\" is not a whole number of bytes"
                                                  : "\" is not a size in bytes");
  if (at.fault == size_fault::overflow)
    throw overflow_error{
        "cairn::byte_size", problem.c_str(), {}, "the largest size is 18446744073709551615B, a little less than 16EiB"};
  auto const unit_at = [&](std::size_t k) {
    return at.fault == size_fault::unit && at.unit + k < at.end ? written[at.unit + k] : '\0';
  };
  char const first = is_digit(unit_at(1)) ? '\0' : unit_at(0);
  int const power = power_of(first >= 'a' && first <= 'z' ? char(first - 'a' + 'A') : first);
  std::size_t stop = at.unit;
  while (stop > at.number && is_blank(written[stop - 1])) --stop;
  if (power > 0) {
    advice.add("write ");
    quote(advice, at.number, stop);
    advice.put(unit_letters[power]);
    advice.add("B (10^").add(3 * wide(power)).add(") or ");
    quote(advice, at.number, stop);
    advice.put(unit_letters[power]);
    advice.add("iB (2^").add(10 * wide(power)).add(")");
  } else advice.add("write 4GB (10^9), 512MiB (2^20), 1.5 GB, or a whole number of bytes");
  throw invalid_size{"cairn::byte_size", problem.c_str(), {}, advice.c_str()};
}
[[noreturn]] inline void refuse_number(char const* problem, bool too_large) {
  if (too_large)
    throw overflow_error{
        "cairn::byte_size", problem, {}, "the largest size is 18446744073709551615B, a little less than 16EiB"};
  throw invalid_size{"cairn::byte_size", problem, {}, "sizes begin at 0"};
}

}  // namespace cairn::detail
