#pragma once
/// \file chain_planner.hpp  From a chain and a budget to the fastest plan, with its proof.
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>
#include <cairn/core/chain.hpp>
#include <cairn/core/error.hpp>
#include <cairn/plan/chain/chain_options.hpp>
#include <cairn/plan/chain/chain_plan.hpp>
#include <cairn/plan/chain/detail/chain_model.hpp>
#include <cairn/plan/chain/detail/chain_search.hpp>
#include <cairn/plan/chain/detail/lower_bounds.hpp>

namespace cairn {

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

/// Plans one chain, for as many budgets as one likes: what is found for one helps the next. Not for several threads at once.
class chain_planner {
 public:
  /// \throws invalid_plan, overflow_error   for a chain or options that cannot be
  explicit chain_planner(chain work, chain_options options = {}) : search_{std::move(work), std::move(options)} {}

  /// The fastest plan that the method finds whose peak is at most `budget` bytes, state 0 not counted.
  /// Cost: see `chain_options::effort`, `chain_options::limit` and the methods. Where the limit is passed, the best plan found by then: its gap says what is proven.
  /// \throws infeasible_budget   that says the least feasible bytes   \throws too_much_work   where no plan was found before the limit was passed
  [[nodiscard]] chain_plan plan(std::int64_t budget) {
    search_.start();
    if (auto found = search_.plan(budget, search_.options().effort)) return std::move(*found);
    auto const why = reason(budget);
    throw infeasible_budget{who, "no plan of this chain keeps within the budget", {{"budget", budget}, {"least bytes", why.least_bytes}, {"stage that needs the most", why.stage}, {"its bytes", why.lower_bound}},
                            "give the least bytes, or more; chain_planner::why_infeasible says what they are for"};
  }

  /// The plan of the smallest budget at which the method's makespan is at most `time`; where the optimum is not exact, to 1/1000 of that budget.
  /// Where the limit of work is passed, the smallest found by then.
  /// \throws infeasible_budget   where `time` is less than storing everything takes, and where the method finds no plan so fast, saying its fastest
  /// \throws too_much_work   where no plan so fast was found before the limit was passed
  [[nodiscard]] chain_plan min_memory(std::int64_t time) {
    search_.start();
    auto const& model = search_.model();
    if (time < model.store_all_time())
      throw infeasible_budget{who, "no plan of this chain is so fast", {{"time", time}, {"time of storing everything", model.store_all_time()}}, "give that time, or more"};
    chain_plan best = fast_enough(time);
    std::int64_t low = detail::least_peak_bound(model) - 1, high = (std::max)(best.cost.peak, low + 1);
    double effort = search_.options().effort / 8;
    while (high - low > 1 && !search_.has_stopped()) {
      std::int64_t const middle = low + (high - low) / 2;
      auto found = planned_so_far(middle, effort);
      if (found && found->cost.makespan <= time) {
        high = (std::min)(middle, (std::max)(found->cost.peak, low + 1));
        best = std::move(*found);
      } else {
        low = middle;
      }
      if (!search_.is_exact() && high - low <= high / 1000) break;
    }
    return best;
  }

  /// Plans from the least feasible budget to that of storing everything, each faster than all that are smaller, at budgets of equal ratios.
  /// Where the limit of work is passed, those found by then and that of storing everything; `chain_plan::left_out` says how many are missing where.
  /// Cost: that of one plan in all, or a little more   \param most_points  >= 2
  /// \throws infeasible_budget   where the method finds no plan at any budget   \throws too_much_work   where no plan was found before the limit was passed
  [[nodiscard]] std::vector<chain_plan> pareto(std::size_t most_points = 40) {
    search_.start();
    if (most_points < 2) throw invalid_plan{who, "too few points for a curve", {{"points", most_points}}, "give 2 or more"};
    std::vector<chain_plan> front;
    std::int64_t const least = least_budget(), most = (std::max)(least, search_.model().store_all_peak());
    double const ratio = std::pow(double(most) / double(std::max<std::int64_t>(1, least)), 1 / double(most_points - 1));
    // Behind a plan as fast as storing everything no budget has a faster one.
    auto const may_lack = [&] { return search_.has_stopped() && (front.empty() || front.back().cost.makespan > store_all_time()); };
    std::int64_t before = -1, left_out = search_.knows_least() ? 0 : 1;
    for (std::size_t k = 0; k < most_points; ++k) {
      double const wanted = double(least) * std::pow(ratio, double(k));
      std::int64_t const budget = k == 0 ? least : k + 1 == most_points ? most : std::clamp(std::int64_t(wanted), least, most);
      if (budget == before) continue;
      before = budget;
      double const effort = search_.options().effort / double(most_points);
      std::optional<chain_plan> found;
      if (front.empty() && budget == most) found = search_.plan(budget, effort);
      else if (!search_.has_stopped() || budget == most) found = planned_so_far(budget, effort);
      if (!found || (!front.empty() && found->cost.makespan >= front.back().cost.makespan)) {
        left_out += may_lack() ? 1 : 0;
        continue;
      }
      found->left_out = std::exchange(left_out, 0);
      front.push_back(std::move(*found));
    }
    if (!front.empty()) front.back().left_out += left_out;
    return front;
  }

  /// What binds where no plan keeps within the budget; nothing where one does.
  /// \throws infeasible_budget   where the method finds no plan at any budget   \throws too_much_work   where the limit is passed before that is known
  [[nodiscard]] std::optional<chain_infeasibility> why_infeasible(std::int64_t budget) {
    search_.start();
    if (search_.plan(budget, search_.options().effort)) return {};
    return reason(budget);
  }

  /// The least budget for which the method finds a plan. Where it works in slots or tries segments, to 1/1000.
  /// \throws infeasible_budget   where the method finds no plan at any budget   \throws too_much_work   where the limit is passed before that is known
  [[nodiscard]] std::int64_t least_bytes() {
    search_.start();
    return proven_least();
  }
  /// The budget from which on everything is stored; more buys nothing.
  [[nodiscard]] std::int64_t store_all_peak() const noexcept { return search_.model().store_all_peak(); }
  /// The makespan of storing everything; none is shorter.
  [[nodiscard]] std::int64_t store_all_time() const noexcept { return search_.model().store_all_time(); }
  /// The chain that is planned.
  [[nodiscard]] chain const& work() const noexcept { return search_.work(); }

 private:
  static constexpr char const* who = "cairn::chain_planner";

  /// The least budget that is found to do.   \throws infeasible_budget   where none does
  [[nodiscard]] std::int64_t least_budget() {
    if (auto const least = search_.least_bytes()) return *least;
    refuse_all();
  }
  [[noreturn]] void refuse_all() const {
    throw infeasible_budget{who, "this method finds no plan, whatever the budget", {{"slots", search_.options().slots}}, "give more slots, or plan by chain_method::automatic"};
  }
  /// The same, proven to be the least.
  [[nodiscard]] std::int64_t proven_least() {
    std::int64_t const least = least_budget();
    if (!search_.knows_least())
      throw too_much_work{who, "the least bytes of this chain were not found with the work that is allowed", {{"stages", search_.model().stages}, {"bytes that do", least}},
                          "allow more by chain_options::limit, or give the bytes that do"};
    return least;
  }
  /// A plan of a call that has others to answer with: nothing where the limit is passed first.
  [[nodiscard]] std::optional<chain_plan> planned_so_far(std::int64_t budget, double effort) {
    try {
      return search_.plan(budget, effort);
    } catch (too_much_work const&) { return {}; }
  }
  /// A plan within `time`, from the budget of storing everything on: slots round up, and some methods never store everything. Few slots may fit the sizes of a smaller budget better,
  /// so these come last.   \throws infeasible_budget, too_much_work
  [[nodiscard]] chain_plan fast_enough(std::int64_t time) {
    std::int64_t const least = least_budget(), first = (std::max)(search_.model().store_all_peak(), least), most = search_.most_bytes(first);
    std::optional<chain_plan> fastest;
    auto const is_enough_at = [&](std::int64_t budget) {
      auto found = search_.plan(budget, search_.options().effort);
      if (found && (!fastest || found->cost.makespan < fastest->cost.makespan)) fastest = std::move(found);
      return fastest && fastest->cost.makespan <= time;
    };
    for (std::int64_t budget = first;; budget = budget > 0 ? 2 * budget : 1) {
      if (is_enough_at(budget)) return std::move(*fastest);
      if (budget >= most || search_.has_stopped()) break;
    }
    for (std::int64_t budget = least; budget < first && !search_.has_stopped(); budget += budget / 4 + 1)
      if (is_enough_at(budget)) return std::move(*fastest);
    if (!fastest) refuse_all();
    if (search_.has_stopped())
      throw too_much_work{who, "no plan so fast was found with the work that is allowed", {{"time", time}, {"time of the fastest found", fastest->cost.makespan}},
                          "allow more by chain_options::limit, or give that time"};
    throw infeasible_budget{who, "this method finds no plan so fast", {{"time", time}, {"time of the fastest found", fastest->cost.makespan}},
                            "give that time, or more, or plan by chain_method::automatic"};
  }
  [[nodiscard]] chain_infeasibility reason(std::int64_t budget) {
    auto const most = detail::binding_need(search_.model());
    return {budget, proven_least(), most.bytes, most.stage, most.is_backward, most.state, most.tape, most.adjoint, most.work};
  }

  detail::chain_search search_;
};

}  // namespace cairn
