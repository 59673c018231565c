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
#include <cairn/schedule/detail/action_hash.hpp>
#include <cairn/schedule/work_limit.hpp>

namespace cairn {

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
