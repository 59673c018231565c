// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file bytes.hpp  Sizes in bytes as people write them: 4_GB, 512_MiB, "1.5 GB". GB is 10^9, GiB is 2^30; a bare G is
/// refused.
#include <compare>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <cairn/core/detail/text.hpp>
#include <cairn/core/error.hpp>
#include <cairn/core/wide.hpp>

namespace cairn {
namespace detail {

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

}  // namespace detail

/// A size in bytes, 0 to 2^64 - 1. Made from whole numbers or from texts such as "4GB", "1.5 GiB" or "100", with the
/// units B, kB, KB, MB ... EB and KiB ... EiB. Arithmetic is exact. Usable in constant expressions.
/// \throws invalid_size   quotes the text and says what would work
/// \throws overflow_error   for 2^64 and more
class byte_size {
 public:
  constexpr byte_size() = default;
  /// From a whole number of bytes.   \throws invalid_size, overflow_error
  template <class Integer>
  requires((std::is_integral_v<Integer> && !std::is_same_v<Integer, bool> && !std::is_same_v<Integer, char>) ||
           std::is_same_v<Integer, wide>) constexpr byte_size(Integer bytes)
      : count_{std::uint64_t(bytes)} {
    if constexpr (std::is_same_v<Integer, wide>) {
      if (bytes >> 64 != 0) detail::refuse_number("the size does not fit 64 bits", true);
    } else if constexpr (std::is_signed_v<Integer>) {
      if (bytes < 0) detail::refuse_number("a size cannot be negative", false);
    }
  }
  /// From `length` characters.   \throws invalid_size, overflow_error
  constexpr byte_size(char const* text, std::size_t length) {
    auto const read = detail::read_size(text, length);
    if (read.fault != detail::size_fault::none) detail::refuse_size(text, length, read);
    count_ = read.value;
  }
  /// From a null-terminated text.   \throws invalid_size, overflow_error
  constexpr byte_size(char const* text) : byte_size{text, detail::text_length(text)} {}
  /// From anything with data() and size(): std::string, std::string_view.
  template <class Text>
  requires requires(Text const& text) {
    { text.data() } -> std::same_as<char const*>;
    { text.size() } -> std::convertible_to<std::size_t>;
  }
  constexpr byte_size(Text const& text) : byte_size{text.data(), std::size_t(text.size())} {}

  [[nodiscard]] constexpr std::uint64_t count() const noexcept { return count_; }  ///< number of bytes
  friend constexpr bool operator==(byte_size, byte_size) = default;
  friend constexpr auto operator<=>(byte_size, byte_size) =
      default;  // NOLINT(modernize-use-nullptr): clang-tidy 14 mistakes this for a pointer

 private:
  std::uint64_t count_ = 0;
};

/// The shortest text that reads back as the same size: "4GB", "512MiB", "1001B".
[[nodiscard]] constexpr auto to_text(byte_size size) noexcept {
  std::uint64_t least = size.count();
  int power = 0;
  bool binary = false;
  for (std::uint64_t const base : {1024u, 1000u}) {
    std::uint64_t rest = size.count();
    for (int k = 1; k < 7 && rest != 0 && rest % base == 0; ++k) {
      rest /= base;
      if (rest < least) least = rest, power = k, binary = base == 1024;
    }
  }
  detail::text<24> text;
  text.add(wide(least));
  if (power > 0) text.put(power == 1 && !binary ? 'k' : detail::unit_letters[power]);
  text.add(binary ? "iB" : "B");
  return text;
}
/// A rounded size for people: three digits and a binary unit, "31.5 MiB"; exact below 1 KiB.
[[nodiscard]] constexpr auto to_short_text(wide bytes) noexcept {
  int power = 0;
  wide unit = 1;
  while (power < 6 && bytes / unit >= 1024) ++power, unit *= 1024;
  auto const rounded = [&](wide tenths) { return bytes / unit * tenths + (bytes % unit * tenths + unit / 2) / unit; };
  wide places = bytes / unit < 10 ? 100 : bytes / unit < 100 ? 10 : 1;
  if (places > 1 && rounded(places) >= 1000) places /= 10;
  if (power < 6 && places == 1 && rounded(1) >= 1024) ++power, unit *= 1024, places = 100;
  if (power == 0) places = 1;
  wide const value = rounded(places);
  detail::text<48> text;
  text.add(value / places);
  if (places > 1) {
    text.put('.');
    if (places == 100) text.put(char('0' + int(value / 10 % 10)));
    text.put(char('0' + int(value % 10)));
  }
  text.put(' ');
  text.put(detail::unit_letters[power]);
  return text.add(power > 0 ? "iB" : "");
}
/// The same for a `byte_size`.
[[nodiscard]] constexpr auto to_short_text(byte_size size) noexcept { return to_short_text(wide(size.count())); }

namespace detail {

/// \tparam Class  the characters of the literal's number
template <unsigned Base, int Power, char... Class>
consteval byte_size literal_size() {
  constexpr auto read = [] {
    char number[sizeof...(Class) + 1] = {};
    std::size_t length = 0;
    ((Class != '\'' ? void(number[length++] = Class) : void()), ...);
    auto const plain = read_size(number, length);
    bool const bare_number = plain.unit == plain.end && plain.fault != size_fault::shape &&
                             (length < 2 || number[0] != '0' || number[1] == '.');
    return bare_number ? scaled_number(number, length, {Base, Power}) : size_reading{size_fault::shape};
  }();
  static_assert(read.fault != size_fault::shape,
                "cairn: write a size as a decimal number and a unit, as in 4_GB or 1.5_GiB");
  static_assert(read.fault != size_fault::not_whole, "cairn: this size is not a whole number of bytes");
  static_assert(read.fault != size_fault::overflow,
                "cairn: this size does not fit 64 bits; the largest is a little less than 16_EiB");
  return byte_size{read.value};
}

}  // namespace detail

/// `using namespace cairn::literals;` for 4_GB, 1.5_GiB.
inline namespace literals {
/// Times 1.
template <char... Class>
consteval byte_size operator""_B() { return detail::literal_size<1000, 0, Class...>(); }
/// Times 1000.
template <char... Class>
consteval byte_size operator""_kB() { return detail::literal_size<1000, 1, Class...>(); }
/// Times 1000, as kB.
template <char... Class>
consteval byte_size operator""_KB() { return detail::literal_size<1000, 1, Class...>(); }
/// Times 10^6.
template <char... Class>
consteval byte_size operator""_MB() { return detail::literal_size<1000, 2, Class...>(); }
/// Times 10^9.
template <char... Class>
consteval byte_size operator""_GB() { return detail::literal_size<1000, 3, Class...>(); }
/// Times 10^12.
template <char... Class>
consteval byte_size operator""_TB() { return detail::literal_size<1000, 4, Class...>(); }
/// Times 10^15.
template <char... Class>
consteval byte_size operator""_PB() { return detail::literal_size<1000, 5, Class...>(); }
/// Times 10^18.
template <char... Class>
consteval byte_size operator""_EB() { return detail::literal_size<1000, 6, Class...>(); }
/// Times 1024.
template <char... Class>
consteval byte_size operator""_KiB() { return detail::literal_size<1024, 1, Class...>(); }
/// Times 2^20.
template <char... Class>
consteval byte_size operator""_MiB() { return detail::literal_size<1024, 2, Class...>(); }
/// Times 2^30.
template <char... Class>
consteval byte_size operator""_GiB() { return detail::literal_size<1024, 3, Class...>(); }
/// Times 2^40.
template <char... Class>
consteval byte_size operator""_TiB() { return detail::literal_size<1024, 4, Class...>(); }
/// Times 2^50.
template <char... Class>
consteval byte_size operator""_PiB() { return detail::literal_size<1024, 5, Class...>(); }
/// Times 2^60.
template <char... Class>
consteval byte_size operator""_EiB() { return detail::literal_size<1024, 6, Class...>(); }
}  // namespace literals

}  // namespace cairn
