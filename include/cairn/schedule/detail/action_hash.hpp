// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file action_hash.hpp  The hash of a list of actions.
/// A list a_0 .. a_(m-1) has the hash sum of c(a_i) x^(m-1-i) modulo the prime 2^127 - 1, where the code c is linear in
/// slot, from and to. Lists that differ are different polynomials of degree at most m in x, and at most m of all 2^127
/// points x give them the same value.
#include <cstdint>
#include <cairn/core/action.hpp>

namespace cairn::detail {

/// A residue modulo 2^127 - 1.
class residue {
 public:
  constexpr residue() = default;
  /// From any integer, negative ones included.
  constexpr residue(std::int64_t number) noexcept
      : value_{number < 0 ? prime - wide(-(number + 1)) - 1 : wide(number)} {}
  /// From the two halves of a number.   \pre high < 2^63, and the number is below the prime
  constexpr residue(std::uint64_t high, std::uint64_t low) noexcept : value_{wide(high) << 64 | low} {}

  [[nodiscard]] constexpr wide value() const noexcept { return value_; }  ///< 0 .. 2^127 - 2

  friend constexpr residue operator+(residue a, residue b) noexcept { return reduced(a.value_ + b.value_); }
  friend constexpr residue operator*(residue a, residue b) noexcept {
    std::uint64_t const a0 = std::uint64_t(a.value_), a1 = std::uint64_t(a.value_ >> 64);
    std::uint64_t const b0 = std::uint64_t(b.value_), b1 = std::uint64_t(b.value_ >> 64);
    wide const low = wide(a0) * b0, middle = wide(a1) * b0 + wide(a0) * b1, high = wide(a1) * b1;
    // 2^128 is 2 modulo the prime. The middle part begins at bit 64, so its bits from 63 on begin at bit 127, and 2^127
    // is 1.
    residue const sum = reduced(reduced(low).value_ + reduced(2 * high).value_);
    return sum + reduced((middle >> 63) + ((middle & ((wide{1} << 63) - 1)) << 64));
  }
  friend constexpr bool operator==(residue const&, residue const&) = default;

 private:
  static constexpr wide prime = (wide{1} << 127) - 1;

  [[nodiscard]] static constexpr residue reduced(wide number) noexcept {
    number = (number & prime) + (number >> 127);
    residue made;
    made.value_ = number >= prime ? number - prime : number;
    return made;
  }

  wide value_ = 0;
};

/// The point of the polynomials, and the weights of the members of an action: hexadecimal digits of pi, without the
/// first bit.
inline constexpr residue hash_point{0x243F6A8885A308D3, 0x13198A2E03707344};
inline constexpr residue hash_kind{0x24093822299F31D0, 0x082EFA98EC4E6C89};
inline constexpr residue hash_slot{0x452821E638D01377, 0xBE5466CF34E90C6C};
inline constexpr residue hash_from{0x40AC29B7C97C50DD, 0x3F84D5B5B5470917};
inline constexpr residue hash_to{0x1216D5D98979FB1B, 0xD1310BA698DFB5AC};

/// The part of an action's code that says what it does, not where. It differs for different kinds, tiers and contents.
[[nodiscard]] constexpr residue code_of(action_kind kind, tier where, content what) noexcept {
  return hash_kind * residue{1 + std::int64_t(kind) + (std::int64_t(where) << 8) + (std::int64_t(what) << 16)};
}

/// The hash of a sequence of actions, built one action at a time.
class action_hash {
 public:
  /// Appends an action.   Cost: six products of 127 bits.
  constexpr void add(action const& a) noexcept {
    residue const code = code_of(a.kind, a.where, a.what) + hash_slot * residue{a.slot} + hash_from * residue{a.from} +
                         hash_to * residue{a.to};
    sum_ = sum_ * hash_point + code;
  }
  [[nodiscard]] constexpr residue value() const noexcept { return sum_; }  ///< the hash of all actions so far

 private:
  residue sum_;
};

}  // namespace cairn::detail
