// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file two_words.hpp  Integers of 128 bits for compilers that have none: those for 32-bit processors, and MSVC.
#include <bit>
#include <compare>
#include <cstdint>
#include <type_traits>

namespace cairn::detail {

/// An integer of 128 bits in two words, in two's complement if it is signed. All operations give the results of
/// __int128, but conversions that would lose something are explicit. Signed and unsigned numbers do not mix.
template <bool Signed>
class two_words {
  template <class T>
  static constexpr bool is_whole = std::is_integral_v<T> && sizeof(T) <= sizeof(std::uint64_t);

 public:
  constexpr two_words() noexcept = default;
  /// From any smaller integer; in an unsigned number, a negative one becomes 2^128 minus its magnitude.
  template <class Whole>
    requires is_whole<Whole>
  constexpr two_words(Whole value) noexcept : low_{std::uint64_t(value)}, high_{fill_of(value)} {}
  /// Rounds towards zero.   \pre the result is in range
  template <class Real>
    requires std::is_floating_point_v<Real>
  constexpr explicit two_words(Real value) noexcept {
    bool const negative = value < 0;
    if (negative) value = -value;
    high_ = std::uint64_t(value / Real(two_to_64));
    low_ = std::uint64_t(value - Real(high_) * Real(two_to_64));
    if (negative) *this = -*this;
  }
  /// The same bits.
  constexpr explicit two_words(two_words<!Signed> other) noexcept : low_{other.low()}, high_{other.high()} {}
  [[nodiscard]] static constexpr two_words of(std::uint64_t high, std::uint64_t low) noexcept {
    two_words made;
    made.high_ = high, made.low_ = low;
    return made;
  }

  [[nodiscard]] constexpr std::uint64_t low() const noexcept { return low_; }
  [[nodiscard]] constexpr std::uint64_t high() const noexcept { return high_; }

  /// The low bits; for `bool`, whether any bit is set.
  template <class Whole>
    requires is_whole<Whole>
  [[nodiscard]] constexpr explicit operator Whole() const noexcept {
    if constexpr (std::is_same_v<Whole, bool>) return (low_ | high_) != 0;
    else return Whole(low_);
  }
  /// Rounds to nearest once: bits beyond the first 64 only break ties.
  template <class Real>
    requires std::is_floating_point_v<Real>
  [[nodiscard]] constexpr explicit operator Real() const noexcept {
    if (is_negative()) return -Real(two_words<false>(-*this));
    if (high_ == 0) return Real(low_);
    int const free = std::countl_zero(high_);
    two_words const shifted = *this << free;
    Real power = Real(two_to_64);
    for (int k = 0; k < free; ++k) power /= 2;
    if constexpr (sizeof(Real) <= sizeof(double)) return Real(shifted.high_ | (shifted.low_ != 0 ? 1 : 0)) * power;
    else return (Real(shifted.high_) + Real(shifted.low_) / Real(two_to_64)) * power;  // long double: 64 bits or more
  }

  constexpr two_words operator+() const noexcept { return *this; }
  constexpr two_words operator-() const noexcept { return two_words{} - *this; }
  constexpr two_words operator~() const noexcept { return of(~high_, ~low_); }

  friend constexpr two_words operator+(two_words a, two_words b) noexcept {
    std::uint64_t const low = a.low_ + b.low_;
    return of(a.high_ + b.high_ + (low < a.low_ ? 1 : 0), low);
  }
  friend constexpr two_words operator-(two_words a, two_words b) noexcept {
    return of(a.high_ - b.high_ - (a.low_ < b.low_ ? 1 : 0), a.low_ - b.low_);
  }
  friend constexpr two_words operator*(two_words a, two_words b) noexcept {
    two_words product = of_words(a.low_, b.low_);
    product.high_ += a.low_ * b.high_ + a.high_ * b.low_;
    return product;
  }
  /// \pre b is not 0
  friend constexpr two_words operator/(two_words a, two_words b) noexcept {
    two_words const quotient = divided(magnitude(a), magnitude(b)).quotient;
    return a.is_negative() != b.is_negative() ? -quotient : quotient;
  }
  /// Has the sign of a.   \pre b is not 0
  friend constexpr two_words operator%(two_words a, two_words b) noexcept {
    two_words const rest = divided(magnitude(a), magnitude(b)).rest;
    return a.is_negative() ? -rest : rest;
  }
  friend constexpr two_words operator&(two_words a, two_words b) noexcept {
    return of(a.high_ & b.high_, a.low_ & b.low_);
  }
  friend constexpr two_words operator|(two_words a, two_words b) noexcept {
    return of(a.high_ | b.high_, a.low_ | b.low_);
  }
  friend constexpr two_words operator^(two_words a, two_words b) noexcept {
    return of(a.high_ ^ b.high_, a.low_ ^ b.low_);
  }
  /// \pre 0 <= by < 128
  template <class Whole>
    requires is_whole<Whole>
  friend constexpr two_words operator<<(two_words a, Whole by) noexcept {
    auto const n = unsigned(by);
    if (n == 0) return a;
    if (n >= 64) return of(a.low_ << (n - 64), 0);
    return of(a.high_ << n | a.low_ >> (64 - n), a.low_ << n);
  }
  /// \pre 0 <= by < 128
  template <class Whole>
    requires is_whole<Whole>
  friend constexpr two_words operator>>(two_words a, Whole by) noexcept {
    auto const n = unsigned(by);
    std::uint64_t const fill = a.is_negative() ? ~std::uint64_t{0} : 0;
    if (n == 0) return a;
    if (n == 64) return of(fill, a.high_);
    if (n > 64) return of(fill, a.high_ >> (n - 64) | fill << (128 - n));
    return of(a.high_ >> n | fill << (64 - n), a.low_ >> n | a.high_ << (64 - n));
  }

  constexpr two_words& operator+=(two_words b) noexcept { return *this = *this + b; }
  constexpr two_words& operator-=(two_words b) noexcept { return *this = *this - b; }
  constexpr two_words& operator*=(two_words b) noexcept { return *this = *this * b; }
  constexpr two_words& operator/=(two_words b) noexcept { return *this = *this / b; }
  constexpr two_words& operator%=(two_words b) noexcept { return *this = *this % b; }
  constexpr two_words& operator&=(two_words b) noexcept { return *this = *this & b; }
  constexpr two_words& operator|=(two_words b) noexcept { return *this = *this | b; }
  constexpr two_words& operator^=(two_words b) noexcept { return *this = *this ^ b; }
  template <class Whole>
    requires is_whole<Whole>
  constexpr two_words& operator<<=(Whole by) noexcept { return *this = *this << by; }
  template <class Whole>
    requires is_whole<Whole>
  constexpr two_words& operator>>=(Whole by) noexcept { return *this = *this >> by; }
  constexpr two_words& operator++() noexcept { return *this += 1; }
  constexpr two_words& operator--() noexcept { return *this -= 1; }
  constexpr two_words operator++(int) noexcept {
    two_words const before = *this;
    ++*this;
    return before;
  }
  constexpr two_words operator--(int) noexcept {
    two_words const before = *this;
    --*this;
    return before;
  }

  friend constexpr bool operator==(two_words a, two_words b) noexcept { return a.high_ == b.high_ && a.low_ == b.low_; }
  friend constexpr std::strong_ordering operator<=>(two_words a, two_words b) noexcept {
    if (a.high_ == b.high_) return a.low_ <=> b.low_;
    if constexpr (Signed) return std::int64_t(a.high_) <=> std::int64_t(b.high_);
    else return a.high_ <=> b.high_;
  }

 private:
  static constexpr double two_to_64 = 18446744073709551616.0;

  struct division { two_words quotient, rest; };

  template <class Whole>
  [[nodiscard]] static constexpr std::uint64_t fill_of(Whole value) noexcept {
    if constexpr (std::is_signed_v<Whole>) return value < 0 ? ~std::uint64_t{0} : 0;
    else return 0;
  }
  [[nodiscard]] constexpr bool is_negative() const noexcept { return Signed && high_ >> 63 != 0; }
  /// The absolute value, whose bits are those of an unsigned number: that of -2^127 is 2^127.
  [[nodiscard]] static constexpr two_words magnitude(two_words a) noexcept { return a.is_negative() ? -a : a; }

  /// The product of two words, by halves.
  [[nodiscard]] static constexpr two_words of_words(std::uint64_t a, std::uint64_t b) noexcept {
    constexpr std::uint64_t half = 0xFFFFFFFF;
    std::uint64_t const low = (a & half) * (b & half), left = (a >> 32) * (b & half), right = (a & half) * (b >> 32);
    std::uint64_t const middle = (low >> 32) + (left & half) + (right & half);
    return of((a >> 32) * (b >> 32) + (left >> 32) + (right >> 32) + (middle >> 32), middle << 32 | (low & half));
  }

  /// Divides the bits of a by those of b, read as unsigned numbers.   Cost: six divisions of words if b is below 2^32,
  /// as most divisors are; otherwise as many subtractions as the quotient may have bits.
  [[nodiscard]] static constexpr division divided(two_words a, two_words b) noexcept {
    if ((a.high_ | b.high_) == 0) return {a.low_ / b.low_, a.low_ % b.low_};
    if (b.high_ == 0 && b.low_ >> 32 == 0) return divided_by_half(a, b.low_);
    unsigned_bits rest = bits(a), by = bits(b);
    if (rest < by) return {0, a};
    int const most = leading_zeros(b) - leading_zeros(a);
    two_words quotient;
    by <<= most;
    for (int k = most; k >= 0; --k, by >>= 1) {
      quotient <<= 1;
      if (rest < by) continue;
      rest -= by;
      quotient.low_ |= 1;
    }
    return {quotient, of(rest.high(), rest.low())};
  }
  /// Divides by `by` < 2^32, in digits of 32 bits.
  [[nodiscard]] static constexpr division divided_by_half(two_words a, std::uint64_t by) noexcept {
    std::uint64_t const high = a.high_ / by;
    std::uint64_t rest = a.high_ % by << 32 | a.low_ >> 32;
    std::uint64_t const middle = rest / by;
    rest = rest % by << 32 | (a.low_ & 0xFFFFFFFF);
    return {of(high, middle << 32 | rest / by), rest % by};
  }

  using unsigned_bits = two_words<false>;
  [[nodiscard]] static constexpr unsigned_bits bits(two_words a) noexcept {
    return unsigned_bits::of(a.high_, a.low_);
  }
  [[nodiscard]] static constexpr int leading_zeros(two_words a) noexcept {
    return a.high_ != 0 ? std::countl_zero(a.high_) : 64 + std::countl_zero(a.low_);
  }

  std::uint64_t low_ = 0, high_ = 0;
};

}  // namespace cairn::detail
