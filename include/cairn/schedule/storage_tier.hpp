// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file storage_tier.hpp  Storage tiers with costs, and which of them a plan can use.
#include <cstddef>
#include <initializer_list>
#include <limits>
#include <optional>
#include <cairn/core/action.hpp>
#include <cairn/core/detail/compiler.hpp>
#include <cairn/core/error.hpp>
#include <cairn/schedule/binomial.hpp>

namespace cairn {

/// A tier on which a plan may keep states, with its costs in the unit of the plan's other costs.
struct storage_tier {
  slot_index slots = 0;  ///< most states kept there at once, >= 0
  double write = 0;  ///< cost of one save, finite and >= 0
  double read = 0;  ///< cost of one load, finite and >= 0
  /// Its name. By default the name follows from the position among the tiers given: memory; memory, disk; memory, host,
  /// disk; memory, device, host, disk.
  std::optional<tier> where = {};
};

/// Some of the tiers given to a plan, by position, counted from 0.
struct tier_positions {
  std::size_t count = 0;  ///< how many
  std::size_t at[tier_count] = {};  ///< the position of each
  [[nodiscard]] constexpr std::size_t size() const noexcept { return count; }  ///< how many
  [[nodiscard]] constexpr bool empty() const noexcept { return count == 0; }  ///< whether there is none
  [[nodiscard]] constexpr std::size_t operator[](std::size_t k) const noexcept { return at[k]; }  ///< \pre k < size()
  [[nodiscard]] constexpr std::size_t const* begin() const noexcept { return at; }  ///< the first
  [[nodiscard]] constexpr std::size_t const* end() const noexcept { return at + count; }  ///< past the last
  friend constexpr bool operator==(tier_positions const&, tier_positions const&) = default;
};

namespace detail {

[[nodiscard]] constexpr bool is_cost(double cost) noexcept {
  return cost >= 0 && cost <= (std::numeric_limits<double>::max)();
}
/// \throws invalid_plan   for a cost that is none
constexpr void check_cost(char const* who, double cost, std::initializer_list<named_value> values = {}) {
  if (!is_cost(cost)) throw invalid_plan{who, "a cost is a finite number that is not negative", values, ""};
}

/// The tiers given, checked; each with its name and with no more slots than can be used.
struct tier_set {
  std::size_t count = 0;
  storage_tier of[tier_count];

  /// \throws invalid_plan
  constexpr tier_set(char const* who, step_index steps, storage_tier const* tiers, std::size_t given) : count{given} {
    if (given < 1 || given > tier_count) throw invalid_plan{who, "a plan has 1 to 4 tiers", {{"tiers", given}}, ""};
    constexpr tier labels[tier_count][tier_count] = {{tier::memory},
                                                     {tier::memory, tier::disk},
                                                     {tier::memory, tier::host, tier::disk},
                                                     {tier::memory, tier::device, tier::host, tier::disk}};
    bool any = false;
    for (std::size_t k = 0; k < count; ++k) {
      of[k] = tiers[k];
      check(who, k);
      if (!of[k].where) of[k].where = labels[count - 1][k];
      if (std::size_t(*of[k].where) >= tier_count) throw invalid_plan{who, "there is no such tier", {{"tier", k}}, ""};
      for (std::size_t j = 0; j < k; ++j)
        if (of[j].where == of[k].where)
          throw invalid_plan{
              who, "two tiers have the same label", {{"tier", j}, {"tier", k}}, "say by `where` what each of them is"};
      of[k].slots = useful_slots(steps, of[k].slots);
      any = any || of[k].slots > 0;
    }
    if (!any) throw invalid_plan{who, "too few slots", {{"steps", steps}, {"slots", 0}, {"least slots", 1}}, ""};
  }

  /// Whether tier j is no dearer than tier k, both to write and to read; if they cost the same, whether j comes first.
  [[nodiscard]] constexpr bool precedes(std::size_t j, std::size_t k) const noexcept {
    bool const no_dearer = of[j].write <= of[k].write && of[j].read <= of[k].read;
    bool const cheaper = of[j].write < of[k].write || of[j].read < of[k].read;
    return j != k && no_dearer && (cheaper || j < k);
  }
  /// Whether tier k can lower the cost of any plan over `steps` steps. It cannot if the tiers that precede it have
  /// slots for all states: whenever a state would be kept on k, one of these has a free slot and costs no more.
  [[nodiscard]] constexpr bool is_of_use(std::size_t k, step_index steps) const noexcept {
    slot_index missing = useful_slots(steps);
    for (std::size_t j = 0; j < count; ++j)
      if (precedes(j, k)) missing -= lesser(missing, of[j].slots);
    return of[k].slots > 0 && missing > 0;
  }

  /// Calls use(positions) with every order of the useful tiers in which none follows a tier that it precedes. If all
  /// tiers are comparable there is one order, by cost.
  template <class Use>
  constexpr void each_order(step_index steps, Use use) const {
    bool left[tier_count] = {};
    std::size_t used = 0;
    for (std::size_t k = 0; k < count; ++k) used += left[k] = is_of_use(k, steps);
    extend({}, left, used, use);
  }

 private:
  constexpr void check(char const* who, std::size_t k) const {
    if (of[k].slots < 0)
      throw invalid_plan{
          who, "a tier cannot have a negative number of slots",
          {{"tier", k}, {"slots", of[k].slots}}, "give 0 or more"};
    for (double const cost : {of[k].write, of[k].read}) check_cost(who, cost, {{"tier", k}});
  }
  template <class Use>
  constexpr void extend(tier_positions const& begun, bool (&left)[tier_count], std::size_t used, Use& use) const {
    if (begun.count == used) return use(begun);
    for (std::size_t k = 0; k < count; ++k) {
      bool next = left[k];
      for (std::size_t j = 0; j < count; ++j) next = next && !(left[j] && precedes(j, k));
      if (!next) continue;
      tier_positions longer = begun;
      longer.at[longer.count++] = k;
      left[k] = false;
      extend(longer, left, used, use);
      left[k] = true;
    }
  }
};

}  // namespace detail
}  // namespace cairn
