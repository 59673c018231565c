// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file fingerprint.hpp  A 128-bit hash of all actions of a plan.
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <string>
#include <type_traits>
#include <cairn/core/action.hpp>
#include <cairn/detail/linkage.hpp>
#include <cairn/schedule/work_limit.hpp>

namespace cairn {
namespace detail {

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

/// The hash of a sequence of actions, built one action at a time. A list a_0 .. a_(m-1) has the hash sum of
/// c(a_i) x^(m-1-i) modulo the prime 2^127 - 1, where the code c is linear in slot, from and to. Lists that differ are
/// different polynomials of degree at most m in x, and at most m of all 2^127 points x give them the same value.
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

}  // namespace detail

/// 128 bits that are equal for plans with the same actions; made by `fingerprint`. The same on every machine.
struct plan_fingerprint {
  std::uint64_t high = 0;  ///< the first half
  std::uint64_t low = 0;   ///< the second half
  /// 32 hexadecimal digits.
  [[nodiscard]] CAIRN_DECL std::string text() const;
  friend constexpr bool operator==(plan_fingerprint const&, plan_fingerprint const&) = default;
};

/// The default limit for the work of `fingerprint`: 10^9 actions.
inline constexpr work_limit fingerprint_limit{.most_sums = 1'000'000'000};

namespace detail {

/// Spreads the residue over 128 bits; different residues stay different.
[[nodiscard]] CAIRN_DECL plan_fingerprint fingerprint_of(residue hash) noexcept;
[[nodiscard]] CAIRN_DECL work_meter fingerprint_meter(step_index steps, work_limit const& limit);
/// \throws too_much_work   if the least number of actions of the plan exceeds the limit
CAIRN_DECL void check_least_walk(step_index steps, step_index leaf, work_limit const& limit);

/// The hash of all actions up to `done`, one by one.
template <class Cursor>
[[nodiscard]] residue walked_hash(Cursor cursor, work_meter& meter) {
  action_hash hash;
  for (action a = cursor.next(); a.kind != action_kind::done; a = cursor.next()) {
    meter.add(1);
    hash.add(a);
  }
  return hash.value();
}

/// A plan that is not a schedule but has a cursor over its actions, such as a plan for blocks.
template <class Plan>
concept walkable = !schedule<Plan> && requires(Plan const& plan) {
  requires cursor<std::remove_cvref_t<decltype(plan.walk())>>;
};
/// A plan with a list of its actions, such as a plan for a chain or a graph.
template <class Plan>
concept has_action_list = !schedule<Plan> && requires(Plan const& plan) {
  { plan.actions.data() } -> std::convertible_to<action const*>;
  { plan.actions.size() } -> std::convertible_to<std::size_t>;
};

}  // namespace detail

/// A 128-bit hash of a list of actions: of all members of all actions, in order, up to the first `done`.
/// Cost: O(count).
[[nodiscard]] CAIRN_DECL plan_fingerprint fingerprint(action const* actions, std::size_t count) noexcept;

/// A 128-bit hash of the actions of a plan. Plans with the same actions have the same fingerprint, whatever their
/// types. Plans with different actions have different fingerprints, except with probability (actions) / 2^127. Only
/// actions count, not the number of slots that a plan may use, nor its remarks.
/// Cost: O(actions), some 10^7 to 10^8 per second.
/// \param limit  most actions; by default 10^9
/// \throws too_much_work   if the limit is exceeded; at once if the plan has too many steps
template <schedule Plan>
[[nodiscard]] plan_fingerprint fingerprint(Plan const& plan, work_limit const& limit = fingerprint_limit) {
  auto meter = detail::fingerprint_meter(plan.steps(), limit);
  detail::check_least_walk(plan.steps(), plan.leaf(), limit);
  return detail::fingerprint_of(detail::walked_hash(plan.walk(), meter));
}

/// The same for a plan for a chain or a graph.   Cost: O(actions)
template <detail::has_action_list Plan>
[[nodiscard]] plan_fingerprint fingerprint(Plan const& plan) noexcept {
  return fingerprint(plan.actions.data(), plan.actions.size());
}

/// The same for a plan for blocks, by the actions that its cursor returns.   Cost: O(actions)   \throws too_much_work
template <detail::walkable Plan>
[[nodiscard]] plan_fingerprint fingerprint(Plan const& plan, work_limit const& limit = fingerprint_limit) {
  auto meter = detail::fingerprint_meter(0, limit);
  return detail::fingerprint_of(detail::walked_hash(plan.walk(), meter));
}

}  // namespace cairn

#ifndef CAIRN_SEPARATE_COMPILATION
#include <cairn/schedule/impl/fingerprint.ipp>
#endif
