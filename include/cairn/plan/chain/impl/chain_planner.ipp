// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <algorithm>
#include <cairn/core/detail/compiler.hpp>
#include <cairn/core/error.hpp>
#include <cairn/plan/chain/chain_planner.hpp>
#include <cairn/plan/chain/detail/chain_model.hpp>
#include <cairn/plan/chain/detail/chain_search.hpp>
#include <cairn/plan/chain/detail/lower_bounds.hpp>

namespace cairn {

CAIRN_DECL chain_planner::chain_planner(chain work, chain_options options)
    : search_{new detail::chain_search{std::move(work), std::move(options)}} {}
CAIRN_DECL chain_planner::~chain_planner() { delete search_; }

CAIRN_DECL chain_plan chain_planner::plan(byte_budget budget) {
  search_->start();
  if (auto found = search_->plan(budget.count(), search_->options().effort)) return std::move(*found);
  auto const why = reason(budget.count());
  throw infeasible_budget{who,
                          "no plan of this chain keeps within the budget",
                          {{"budget", budget.count()},
                           {"least bytes", why.least_bytes},
                           {"stage that needs the most", why.stage},
                           {"its bytes", why.lower_bound}},
                          "give the least bytes, or more; chain_planner::why_infeasible says what they are for"};
}

CAIRN_DECL chain_plan chain_planner::min_memory(std::int64_t time) {
  search_->start();
  auto const& model = search_->model();
  if (time < model.store_all_time())
    throw infeasible_budget{who,
                            "no plan of this chain is that fast",
                            {{"time", time}, {"time of storing everything", model.store_all_time()}},
                            "give that time, or more"};
  chain_plan best = fast_enough(time);
  std::int64_t low = detail::least_peak_bound(model) - 1, high = (std::max)(best.cost.peak, low + 1);
  double effort = search_->options().effort / 8;
  while (high - low > 1 && !search_->has_stopped()) {
    std::int64_t const middle = low + (high - low) / 2;
    auto found = planned_so_far(middle, effort);
    if (found && found->cost.makespan <= time) {
      high = (std::min)(middle, (std::max)(found->cost.peak, low + 1));
      best = std::move(*found);
    } else {
      low = middle;
    }
    if (!search_->is_exact() && high - low <= high / 1000) break;
  }
  return best;
}

CAIRN_DECL std::vector<chain_plan> chain_planner::pareto(std::size_t most_points) {
  search_->start();
  if (most_points < 2)
    throw invalid_plan{who, "too few points for a curve", {{"points", most_points}}, "give 2 or more"};
  std::vector<chain_plan> front;
  std::int64_t const least = least_budget(), most = (std::max)(least, search_->model().store_all_peak());
  double const ratio =
      detail::power(double(most) / double(std::max<std::int64_t>(1, least)), 1 / double(most_points - 1));
  // Once a plan is as fast as storing everything, no larger budget has a faster one.
  auto const may_lack = [&] {
    return search_->has_stopped() && (front.empty() || front.back().cost.makespan > store_all_time());
  };
  std::int64_t before = -1, left_out = search_->knows_least() ? 0 : 1;
  for (std::size_t k = 0; k < most_points; ++k) {
    double const wanted = double(least) * detail::power(ratio, double(k));
    std::int64_t const budget = k == 0                 ? least
                                : k + 1 == most_points ? most
                                                       : std::clamp(std::int64_t(wanted), least, most);
    if (budget == before) continue;
    before = budget;
    double const effort = search_->options().effort / double(most_points);
    std::optional<chain_plan> found;
    if (front.empty() && budget == most) found = search_->plan(budget, effort);
    else if (!search_->has_stopped() || budget == most) found = planned_so_far(budget, effort);
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

CAIRN_DECL std::optional<chain_infeasibility> chain_planner::why_infeasible(byte_budget budget) {
  search_->start();
  if (search_->plan(budget.count(), search_->options().effort)) return {};
  return reason(budget.count());
}

CAIRN_DECL std::int64_t chain_planner::least_bytes() {
  search_->start();
  return proven_least();
}

CAIRN_DECL std::int64_t chain_planner::store_all_peak() const noexcept { return search_->model().store_all_peak(); }
CAIRN_DECL std::int64_t chain_planner::store_all_time() const noexcept { return search_->model().store_all_time(); }
CAIRN_DECL chain const& chain_planner::work() const noexcept { return search_->work(); }

CAIRN_DECL std::int64_t chain_planner::least_budget() {
  if (auto const least = search_->least_bytes()) return *least;
  refuse_all();
}

CAIRN_DECL void chain_planner::refuse_all() const {
  throw infeasible_budget{who,
                          "this method finds no plan, whatever the budget",
                          {{"slots", search_->options().slots}},
                          "give more slots, or plan by chain_method::automatic"};
}

CAIRN_DECL std::int64_t chain_planner::proven_least() {
  std::int64_t const least = least_budget();
  if (!search_->knows_least())
    throw too_much_work{who,
                        "the least bytes of this chain were not found with the work that is allowed",
                        {{"stages", search_->model().stages}, {"bytes that do", least}},
                        "allow more by chain_options::limit, or give the bytes that do"};
  return least;
}

CAIRN_DECL std::optional<chain_plan> chain_planner::planned_so_far(std::int64_t budget, double effort) {
  try {
    return search_->plan(budget, effort);
  } catch (too_much_work const&) { return {}; }
}

CAIRN_DECL chain_plan chain_planner::fast_enough(std::int64_t time) {
  std::int64_t const least = least_budget(), first = (std::max)(search_->model().store_all_peak(), least),
                     most = search_->most_bytes(first);
  std::optional<chain_plan> fastest;
  auto const is_enough_at = [&](std::int64_t budget) {
    auto found = search_->plan(budget, search_->options().effort);
    if (found && (!fastest || found->cost.makespan < fastest->cost.makespan)) fastest = std::move(found);
    return fastest && fastest->cost.makespan <= time;
  };
  for (std::int64_t budget = first;; budget = budget > 0 ? 2 * budget : 1) {
    if (is_enough_at(budget)) return std::move(*fastest);
    if (budget >= most || search_->has_stopped()) break;
  }
  for (std::int64_t budget = least; budget < first && !search_->has_stopped(); budget += budget / 4 + 1)
    if (is_enough_at(budget)) return std::move(*fastest);
  if (!fastest) refuse_all();
  if (search_->has_stopped())
    throw too_much_work{who,
                        "no plan that fast was found with the work that is allowed",
                        {{"time", time}, {"time of the fastest found", fastest->cost.makespan}},
                        "allow more by chain_options::limit, or give that time"};
  throw infeasible_budget{who,
                          "this method finds no plan that fast",
                          {{"time", time}, {"time of the fastest found", fastest->cost.makespan}},
                          "give that time, or more, or plan by chain_method::automatic"};
}

CAIRN_DECL chain_infeasibility chain_planner::reason(std::int64_t budget) {
  auto const most = detail::binding_need(search_->model());
  return {budget,     proven_least(), most.bytes,   most.stage, most.is_backward,
          most.state, most.tape,      most.adjoint, most.work};
}

}  // namespace cairn
