// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file bytes.hpp  Sizes in bytes as people write them: 4_GB, 512_MiB, "1.5 GB". GB is 10^9, GiB is 2^30; a bare G is
/// refused.
#include <compare>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <cairn/core/detail/read_size.hpp>
#include <cairn/core/detail/text.hpp>
#include <cairn/core/wide.hpp>

namespace cairn {

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
