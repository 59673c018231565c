// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file chain_plan.hpp  A plan for a chain, its cost, and how far it is from the optimum.
#include <algorithm>
#include <cstdint>
#include <vector>
#include <cairn/plan/chain/chain_cost.hpp>
#include <cairn/rules/chain.hpp>

namespace cairn {

/// Methods that find plans for chains.
enum class chain_method : std::uint8_t {
  automatic,       ///< the method that fits the chain, with as many slots as the wanted gap needs
  store_all,       ///< every tape is kept
  revolve,         ///< the closed form for stages that are all alike
  persistent,      ///< the optimum among plans that keep a state until its adjoint is made; exact in bytes
  slots,           ///< the same optimum in slots: sizes are rounded up
  non_persistent,  ///< plans may also drop a state early and make it again on the way to another state
  tiers,           ///< states may be kept on other tiers, too
  sqrt,            ///< segments of equal length (Chen, Xu, Zhang, Guestrin 2016)
  greedy,          ///< segments of about equal bytes (same paper)
  single_level     ///< the best segments, each of which is run again once
};

/// The name of the method, as `cairn chain --planner` takes it.
[[nodiscard]] constexpr char const* name_of(chain_method by) noexcept {
  switch (by) {
    case chain_method::automatic: return "auto";
    case chain_method::store_all: return "store_all";
    case chain_method::revolve: return "revolve";
    case chain_method::persistent: return "persistent";
    case chain_method::slots: return "slots";
    case chain_method::non_persistent: return "non_persistent";
    case chain_method::tiers: return "tiers";
    case chain_method::sqrt: return "sqrt";
    case chain_method::greedy: return "greedy";
    case chain_method::single_level: break;
  }
  return "single_level";
}

/// A class of plans for which a bound holds.
enum class chain_class : std::uint8_t { every_schedule, persistent, non_persistent };

/// The name of the class.
[[nodiscard]] constexpr char const* name_of(chain_class of) noexcept {
  switch (of) {
    case chain_class::every_schedule: return "every_schedule";
    case chain_class::persistent: return "persistent";
    case chain_class::non_persistent: break;
  }
  return "non_persistent";
}

/// What is proven for a chain at a budget.
struct chain_certificate {
  std::int64_t lower_bound_time = 0;  ///< no schedule of any kind has a shorter makespan
  std::int64_t lower_bound_peak = 0;  ///< no schedule of any kind has a lower peak, at any time
  std::int64_t class_bound_time = 0;  ///< no plan of the class `of` has a shorter makespan; 0 if nothing is proven
  chain_class of = chain_class::every_schedule;  ///< the class of `class_bound_time`
};

/// A plan for a chain at a budget.
struct chain_plan {
  std::vector<action> actions;  ///< by `chain_actions`, for `replay` and the executor of chains
  chain_cost cost;                    ///< what `replay` says of `actions`
  std::int64_t budget = 0;            ///< bytes the plan was made for, without state 0
  chain_method by = chain_method::automatic;  ///< the method that found the plan; never `automatic`
  chain_certificate proof;            ///< bounds that say how far the plan is from the optimum
  std::int64_t left_out = 0;  ///< in a curve: the number of budgets that have no plan because the limit of work was
                              ///< reached. These are the budgets between the previous plan and this one, and those
                              ///< after the last plan

  /// Time of the sweep that stores everything: every stage and every adjoint once.
  [[nodiscard]] std::int64_t store_all_time() const noexcept {
    return cost.makespan - cost.extra_forward - cost.transfer;
  }
  /// The makespan divided by that of storing everything; 1 if nothing takes time.
  [[nodiscard]] double slowdown() const noexcept {
    return store_all_time() > 0 ? double(cost.makespan) / double(store_all_time()) : 1;
  }
  /// The larger of the two bounds on the makespan.
  [[nodiscard]] std::int64_t bound() const noexcept {
    return (std::max)(proof.lower_bound_time, proof.class_bound_time);
  }
  /// The class that `bound` holds for.
  [[nodiscard]] chain_class bound_class() const noexcept {
    return proof.class_bound_time > proof.lower_bound_time ? proof.of : chain_class::every_schedule;
  }
  /// (makespan - bound) / bound; 0 if the plan is the best of its class.
  [[nodiscard]] double gap() const noexcept {
    return bound() > 0 ? double(cost.makespan - bound()) / double(bound()) : 0;
  }
  /// Whether no plan of `bound_class` is faster.
  [[nodiscard]] bool exact() const noexcept { return cost.makespan <= bound(); }
};

}  // namespace cairn
