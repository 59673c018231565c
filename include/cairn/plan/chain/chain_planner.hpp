// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file chain_planner.hpp  Finds the fastest plan for a chain and a budget, and a bound that says how good it is.
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>
#include <cairn/core/byte_budget.hpp>
#include <cairn/detail/linkage.hpp>
#include <cairn/plan/chain/chain_options.hpp>
#include <cairn/plan/chain/chain_plan.hpp>
#include <cairn/rules/chain.hpp>

namespace cairn {
namespace detail {
class chain_search;
}  // namespace detail

/// Why no plan fits a budget.
struct chain_infeasibility {
  std::int64_t budget = 0;       ///< the budget asked for
  std::int64_t least_bytes = 0;  ///< the least budget for which the method finds a plan
  std::int64_t lower_bound = 0;  ///< no schedule of any kind exists below this budget
  step_index stage = 0;          ///< the stage that needs the most bytes at one time; L for the loss
  bool is_backward = false;      ///< whether that is at its adjoint; if false, at its recorded run
  std::int64_t state = 0;        ///< part of `lower_bound`: the state that is read then
  std::int64_t tape = 0;         ///< part of `lower_bound`: the tape of the stage
  std::int64_t adjoint = 0;      ///< part of `lower_bound`: the adjoint that is read then
  std::int64_t work = 0;         ///< part of `lower_bound`: working bytes
};

/// Plans one chain for any number of budgets. Results for one budget speed up the next. One thread at a time may use a
/// planner.
class chain_planner {
 public:
  /// \throws invalid_plan, overflow_error   for an invalid chain or invalid options
  CAIRN_DECL explicit chain_planner(chain work, chain_options options = {});
  chain_planner(chain_planner&& from) noexcept
      : search_{std::exchange(from.search_, nullptr)} {}     ///< takes over the plans of `from`
  chain_planner& operator=(chain_planner&& from) noexcept {  ///< swaps with `from`
    std::swap(search_, from.search_);
    return *this;
  }
  CAIRN_DECL ~chain_planner();

  /// The fastest plan that the method finds with a peak of at most `budget`, without state 0.
  /// \param budget  a size, "512MiB", if the chain is in bytes; or a number in the unit of the chain
  /// Cost: see `chain_options::effort`, `chain_options::limit` and the methods. If the limit is reached, this returns
  /// the best plan found so far; its gap says what is proven.
  /// \throws infeasible_budget   with the least feasible bytes   \throws too_much_work   if the limit was reached
  ///   before any plan was found
  [[nodiscard]] CAIRN_DECL chain_plan plan(byte_budget budget);

  /// The plan with the smallest budget at which the method's makespan is at most `time`; if the optimum is not exact,
  /// within 1/1000 of that budget. If the limit of work is reached, the plan with the smallest budget found so far.
  /// \throws infeasible_budget   if `time` is less than storing everything takes, or if the method finds no plan that
  ///   fast; the message then says its fastest
  /// \throws too_much_work   if the limit was reached before a plan that fast was found
  [[nodiscard]] CAIRN_DECL chain_plan min_memory(std::int64_t time);

  /// Plans from the least feasible budget to that of storing everything, at budgets of equal ratios. Each plan is
  /// faster than all plans with smaller budgets. If the limit of work is reached, the plans found so far and the one
  /// that stores everything; `chain_plan::left_out` counts the missing ones. Cost: all plans together cost as much as
  /// one plan, or a little more
  /// \param most_points  >= 2
  /// \throws infeasible_budget   if the method finds no plan at any budget   \throws too_much_work   if the limit was
  ///   reached before any plan was found
  [[nodiscard]] CAIRN_DECL std::vector<chain_plan> pareto(std::size_t most_points = 40);

  /// Why no plan fits the budget; nothing if one does.
  /// \throws infeasible_budget   if the method finds no plan at any budget   \throws too_much_work   if the limit is
  ///   reached before the answer is known
  [[nodiscard]] CAIRN_DECL std::optional<chain_infeasibility> why_infeasible(byte_budget budget);

  /// The least budget for which the method finds a plan; within 1/1000 for methods that work in slots or try segments.
  /// \throws infeasible_budget   if the method finds no plan at any budget   \throws too_much_work   if the limit is
  ///   reached before the answer is known
  [[nodiscard]] CAIRN_DECL std::int64_t least_bytes();
  /// The peak of storing everything; larger budgets give no faster plan.
  [[nodiscard]] CAIRN_DECL std::int64_t store_all_peak() const noexcept;
  /// The makespan of storing everything; no plan has a shorter one.
  [[nodiscard]] CAIRN_DECL std::int64_t store_all_time() const noexcept;
  /// The chain that this planner plans.
  [[nodiscard]] CAIRN_DECL chain const& work() const noexcept;

 private:
  static constexpr char const* who = "cairn::chain_planner";

  /// The least budget found for which there is a plan.   \throws infeasible_budget   if there is none
  [[nodiscard]] CAIRN_DECL std::int64_t least_budget();
  [[noreturn]] CAIRN_DECL void refuse_all() const;
  /// The least budget, proven to be the least.
  [[nodiscard]] CAIRN_DECL std::int64_t proven_least();
  /// The plan for a budget within a call that has other plans to return; nothing if the limit is reached first.
  [[nodiscard]] CAIRN_DECL std::optional<chain_plan> planned_so_far(std::int64_t budget, double effort);
  /// A plan within `time`, at the budget of storing everything or above: slots round up, and some methods never store
  /// everything. Last it tries smaller budgets, whose sizes may fit few slots better.
  /// \throws infeasible_budget, too_much_work
  [[nodiscard]] CAIRN_DECL chain_plan fast_enough(std::int64_t time);
  [[nodiscard]] CAIRN_DECL chain_infeasibility reason(std::int64_t budget);

  detail::chain_search* search_;  ///< owned; its type is complete only in impl/
};

}  // namespace cairn

#ifndef CAIRN_SEPARATE_COMPILATION
#include <cairn/plan/chain/impl/chain_planner.ipp>
#endif
