// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file action_hash.hpp  The hash of a list of actions, and of pieces of such a list that are moved and joined.
/// A list a_0 .. a_(m-1) has the hash sum of c(a_i) x^(m-1-i) modulo the prime 2^127 - 1. The code c is linear in slot,
/// from and to, so the hash of a piece that moves to other steps and slots changes by a linear form, too. Lists that
/// differ are different polynomials of degree at most m in x, and at most m of all 2^127 points x give them the same
/// value.
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

/// A linear form in the numbers that a piece of a list leaves open.
struct linear_form {
  residue one = {};   ///< the constant part
  residue base = {};  ///< factor of the step at which the piece begins
  residue slot = {};  ///< factor of the number by which its slots move
  residue root = {};  ///< factor of the slot of the state from which the whole piece starts
  residue turn = {};  ///< factor of the iteration number of a loop over pieces

  friend constexpr linear_form operator+(linear_form const& a, linear_form const& b) noexcept {
    return {a.one + b.one, a.base + b.base, a.slot + b.slot, a.root + b.root, a.turn + b.turn};
  }
  friend constexpr linear_form operator*(linear_form const& a, residue b) noexcept {
    return {a.one * b, a.base * b, a.slot * b, a.root * b, a.turn * b};
  }
};

/// A move of a piece: by how much each number of a `linear_form` changes.
struct hash_move {
  step_index base = 0;
  slot_index slot = 0, root = 0;
  std::int64_t turn = 0;
};

/// The hash of a piece of a list as a linear form, and the point raised to the piece's length.
struct hash_piece {
  linear_form sum = {};
  residue power{1};

  /// The piece `a` followed by the piece `b`.
  friend constexpr hash_piece operator*(hash_piece const& a, hash_piece const& b) noexcept {
    return {a.sum * b.power + b.sum, a.power * b.power};
  }
  constexpr hash_piece& operator*=(hash_piece const& b) noexcept { return *this = *this * b; }
  /// The same actions at other steps and slots.
  [[nodiscard]] constexpr hash_piece moved(hash_move const& by) const noexcept {
    hash_piece made = *this;
    made.sum.one = sum.one + sum.base * residue{by.base} + sum.slot * residue{by.slot} + sum.root * residue{by.root} +
                   sum.turn * residue{by.turn};
    return made;
  }
  /// The same piece as a function of the iteration number of a loop; each iteration moves it by `by`.
  [[nodiscard]] constexpr hash_piece moving(hash_move const& by) const noexcept {
    hash_piece made = *this;
    made.sum.turn = sum.base * residue{by.base} + sum.slot * residue{by.slot} + sum.root * residue{by.root};
    return made;
  }
};

/// Iterations 0 .. count - 1 of a loop over pieces, in this order or the reverse one.   Cost: O(log count)
[[nodiscard]] constexpr hash_piece repeated(hash_piece run, std::int64_t count, bool upward) noexcept {
  hash_piece all;
  std::int64_t done = 0;
  // `run` is 2^bit iterations from iteration 0 on; `all` is the first `done` iterations.
  for (std::int64_t length = 1; count > 0; count >>= 1) {
    if (count & 1) {
      hash_piece const next = run.moved({.turn = done});
      all = upward ? all * next : next * all;
      done += length;
    }
    if (count == 1) break;
    hash_piece const next = run.moved({.turn = length});
    run = upward ? run * next : next * run;
    length *= 2;
  }
  all.sum.turn = {};
  return all;
}

}  // namespace cairn::detail
