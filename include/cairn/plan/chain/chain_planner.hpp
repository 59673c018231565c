#pragma once
/// \file chain_planner.hpp  From a chain and a budget to the fastest plan, with its proof.
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>
#include <cairn/core/byte_budget.hpp>
#include <cairn/core/chain.hpp>
#include <cairn/detail/linkage.hpp>
#include <cairn/plan/chain/chain_options.hpp>
#include <cairn/plan/chain/chain_plan.hpp>

namespace cairn {
namespace detail {
class chain_search;
}  // namespace detail

/// Why no plan keeps within a budget.
struct chain_infeasibility {
  std::int64_t budget = 0;       ///< that was given
  std::int64_t least_bytes = 0;  ///< the least for which the method finds a plan
  std::int64_t lower_bound = 0;  ///< below it no schedule of any kind exists
  step_index stage = 0;          ///< the stage that needs the most at once; L for the loss
  bool is_backward = false;      ///< whether its adjoint needs it, or its recorded run
  std::int64_t state = 0;        ///< of `lower_bound`: the state that is read then
  std::int64_t tape = 0;         ///< of `lower_bound`: the tape of the stage
  std::int64_t adjoint = 0;      ///< of `lower_bound`: the adjoint that is read then
  std::int64_t work = 0;         ///< of `lower_bound`: working bytes
};

/// Plans one chain, for as many budgets as one likes: what is found for one helps the next. Not for several threads at
/// once.
class chain_planner {
 public:
  /// \throws invalid_plan, overflow_error   for a chain or options that cannot be
  CAIRN_DECL explicit chain_planner(chain work, chain_options options = {});
  chain_planner(chain_planner&& from) noexcept
      : search_{std::exchange(from.search_, nullptr)} {}     ///< takes the place of `from`
  chain_planner& operator=(chain_planner&& from) noexcept {  ///< changes places with `from`
    std::swap(search_, from.search_);
    return *this;
  }
  CAIRN_DECL ~chain_planner();

  /// The fastest plan that the method finds whose peak is at most `budget`, state 0 not counted.
  /// \param budget  a size, "512MiB", where the chain is in bytes; or a number in the unit of the chain
  /// Cost: see `chain_options::effort`, `chain_options::limit` and the methods. Where the limit is passed, the best
  /// plan found by then: its gap says what is proven.
  /// \throws infeasible_budget   that says the least feasible bytes   \throws too_much_work   where no plan was found
  ///        before the limit was passed
  [[nodiscard]] CAIRN_DECL chain_plan plan(byte_budget budget);

  /// The plan of the smallest budget at which the method's makespan is at most `time`; where the optimum is not exact,
  /// to 1/1000 of that budget. Where the limit of work is passed, the smallest found by then.
  /// \throws infeasible_budget   where `time` is less than storing everything takes, and where the method finds no plan
  ///        so fast, saying its fastest
  /// \throws too_much_work   where no plan so fast was found before the limit was passed
  [[nodiscard]] CAIRN_DECL chain_plan min_memory(std::int64_t time);

  /// Plans from the least feasible budget to that of storing everything, each faster than all that are smaller, at
  /// budgets of equal ratios. Where the limit of work is passed, those found by then and that of storing everything;
  /// `chain_plan::left_out` says how many are missing where. Cost: that of one plan in all, or a little more
  /// \param most_points  >= 2
  /// \throws infeasible_budget   where the method finds no plan at any budget   \throws too_much_work   where no plan
  ///        was found before the limit was passed
  [[nodiscard]] CAIRN_DECL std::vector<chain_plan> pareto(std::size_t most_points = 40);

  /// What binds where no plan keeps within the budget; nothing where one does.
  /// \throws infeasible_budget   where the method finds no plan at any budget   \throws too_much_work   where the limit
  ///        is passed before that is known
  [[nodiscard]] CAIRN_DECL std::optional<chain_infeasibility> why_infeasible(byte_budget budget);

  /// The least budget for which the method finds a plan. Where it works in slots or tries segments, to 1/1000.
  /// \throws infeasible_budget   where the method finds no plan at any budget   \throws too_much_work   where the limit
  ///        is passed before that is known
  [[nodiscard]] CAIRN_DECL std::int64_t least_bytes();
  /// The budget from which on everything is stored; more buys nothing.
  [[nodiscard]] CAIRN_DECL std::int64_t store_all_peak() const noexcept;
  /// The makespan of storing everything; none is shorter.
  [[nodiscard]] CAIRN_DECL std::int64_t store_all_time() const noexcept;
  /// The chain that is planned.
  [[nodiscard]] CAIRN_DECL chain const& work() const noexcept;

 private:
  static constexpr char const* who = "cairn::chain_planner";

  /// The least budget that is found to do.   \throws infeasible_budget   where none does
  [[nodiscard]] CAIRN_DECL std::int64_t least_budget();
  [[noreturn]] CAIRN_DECL void refuse_all() const;
  /// The same, proven to be the least.
  [[nodiscard]] CAIRN_DECL std::int64_t proven_least();
  /// A plan of a call that has others to answer with: nothing where the limit is passed first.
  [[nodiscard]] CAIRN_DECL std::optional<chain_plan> planned_so_far(std::int64_t budget, double effort);
  /// A plan within `time`, from the budget of storing everything on: slots round up, and some methods never store
  /// everything. Few slots may fit the sizes of a smaller budget better, so these come last.
  /// \throws infeasible_budget, too_much_work
  [[nodiscard]] CAIRN_DECL chain_plan fast_enough(std::int64_t time);
  [[nodiscard]] CAIRN_DECL chain_infeasibility reason(std::int64_t budget);

  detail::chain_search* search_;  ///< its own; complete in impl/ only
};

}  // namespace cairn

#ifndef CAIRN_SEPARATE_COMPILATION
#include <cairn/plan/chain/impl/chain_planner.ipp>
#endif
