// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file fingerprint.hpp  A 128-bit hash of all actions of a plan.
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <type_traits>
#include <cairn/core/action.hpp>
#include <cairn/detail/linkage.hpp>
#include <cairn/schedule/any.hpp>
#include <cairn/schedule/detail/action_hash.hpp>
#include <cairn/schedule/leaves.hpp>
#include <cairn/schedule/revolve.hpp>
#include <cairn/schedule/two_level.hpp>
#include <cairn/schedule/uniform.hpp>
#include <cairn/schedule/work_limit.hpp>

namespace cairn {

template <class Plan>
class verified;

/// 128 bits that are equal for plans with the same actions; made by `fingerprint`. The same on every machine.
struct plan_fingerprint {
  std::uint64_t high = 0;  ///< the first half
  std::uint64_t low = 0;   ///< the second half
  /// 32 hexadecimal digits.
  [[nodiscard]] CAIRN_DECL std::string text() const;
  friend constexpr bool operator==(plan_fingerprint const&, plan_fingerprint const&) = default;
};

/// The default limit for the work of `fingerprint`: 10^9 sums. An action that is walked counts as one, a part of a
/// `revolve` as 256 or, with one slot or one slot per state, 4096.
inline constexpr work_limit fingerprint_limit{.most_sums = 1'000'000'000};

namespace detail {

/// How the steps of a plan map to those of the loop: step i becomes `unit * i`, and the end becomes `end`.
struct step_stretch {
  residue unit{1};
  step_index end = 0;
};

[[nodiscard]] CAIRN_DECL residue hash_of(revolve const& plan, step_stretch const& by, work_meter& meter);
[[nodiscard]] CAIRN_DECL residue hash_of(uniform const& plan, step_stretch const& by);
[[nodiscard]] CAIRN_DECL residue hash_of(two_level const& plan, step_stretch const& by, work_meter& meter);
/// Spreads the residue over 128 bits; different residues stay different.
[[nodiscard]] CAIRN_DECL plan_fingerprint fingerprint_of(residue hash) noexcept;
[[nodiscard]] CAIRN_DECL work_meter fingerprint_meter(step_index steps, work_limit const& limit);
/// \throws too_much_work   if the least number of actions of the plan exceeds the limit
CAIRN_DECL void check_least_walk(step_index steps, step_index leaf, work_limit const& limit);

/// The hash of a plan in closed form; nothing if its type has none.
template <class Plan>
struct known_hash {
  [[nodiscard]] static std::optional<residue> of(Plan const& plan, step_stretch const& by, work_meter& meter) {
    if constexpr (std::same_as<Plan, uniform>) return hash_of(plan, by);
    else if constexpr (std::same_as<Plan, revolve> || std::same_as<Plan, two_level>) return hash_of(plan, by, meter);
    else return {};
  }
};
template <class Plan>
struct known_hash<leaves<Plan>> {
  [[nodiscard]] static std::optional<residue> of(leaves<Plan> const& plan, step_stretch const& by, work_meter& meter) {
    return known_hash<Plan>::of(plan.inner(), {by.unit * residue{plan.size()}, by.end}, meter);
  }
};
template <class Plan>
struct known_hash<verified<Plan>> {
  template <class Checked>
  [[nodiscard]] static std::optional<residue> of(Checked const& plan, step_stretch const& by, work_meter& meter) {
    return known_hash<Plan>::of(plan.inner(), by, meter);
  }
};
template <>
struct known_hash<any_schedule> {
  [[nodiscard]] static std::optional<residue> of(any_schedule const& plan, step_stretch const& by, work_meter& meter) {
    return first_of<revolve, uniform, two_level, leaves<revolve>, leaves<uniform>, leaves<two_level>,
                    leaves<any_schedule>>(plan, by, meter);
  }

 private:
  template <class... Plans>
  [[nodiscard]] static std::optional<residue> first_of(any_schedule const& plan, step_stretch const& by,
                                                       work_meter& meter) {
    std::optional<residue> found;
    auto const is = [&](auto const* inside) {
      if (inside) found = known_hash<std::remove_cvref_t<decltype(*inside)>>::of(*inside, by, meter);
      return inside != nullptr;
    };
    (void)(is(plan.target<Plans>()) || ...);
    return found;
  }
};

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
/// Cost: O(log steps) for `uniform` and `store_all`; O(slots * repetition number) time and memory for `revolve` (10^18
/// steps: milliseconds with 10 to 1000 slots, refused with 2), and the same for a period of `two_level`. These costs
/// hold over `leaves`, in `verified` and in an `any_schedule`, too. All other plans are walked: O(actions), some 10^7
/// to 10^8 per second.
/// \param limit  most work; by default 10^9, see `fingerprint_limit`
/// \throws too_much_work   if the limit is exceeded; at once if a plan that has to be walked has too many steps
template <schedule Plan>
[[nodiscard]] plan_fingerprint fingerprint(Plan const& plan, work_limit const& limit = fingerprint_limit) {
  auto meter = detail::fingerprint_meter(plan.steps(), limit);
  if (auto const known = detail::known_hash<Plan>::of(plan, {.end = plan.steps()}, meter))
    return detail::fingerprint_of(*known);
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
