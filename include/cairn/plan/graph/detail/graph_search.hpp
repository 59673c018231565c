// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file graph_search.hpp  The search for plans of one graph, with what several budgets share.
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>
#include <cairn/core/error.hpp>
#include <cairn/plan/graph/detail/block_search.hpp>
#include <cairn/plan/graph/detail/exact_search.hpp>
#include <cairn/plan/graph/detail/graph_model.hpp>
#include <cairn/plan/graph/detail/lower_set_table.hpp>
#include <cairn/plan/graph/detail/remake_cut.hpp>
#include <cairn/plan/graph/detail/run_order.hpp>
#include <cairn/plan/graph/detail/run_search.hpp>
#include <cairn/plan/graph/graph_plan.hpp>
#include <cairn/rules/operation_graph.hpp>
#include <cairn/schedule/work_limit.hpp>

namespace cairn::detail {

/// A lower bound on the peak of every plan: the bytes of the action that needs the most.
[[nodiscard]] inline std::int64_t least_peak_bound(graph_model const& model) {
  std::int64_t most = 0;
  auto const sum = [&](std::vector<std::size_t> const& values) {
    std::int64_t bytes = 0;
    for (std::size_t const v : values) bytes += model.bytes[v];
    return bytes;
  };
  for (std::size_t v = 0; v <= model.count; ++v) {
    most = (std::max)(most, sum(model.needs[v]) + model.tape[v] + model.back_work[v]);
    if (v < model.count) most = (std::max)(most, sum(model.inputs[v]) + model.bytes[v] + model.work[v]);
  }
  return most;
}

/// A lower bound on the time that every plan within the budget spends on operations run again.
/// When the adjoint of a starts, every operation below it has run. A value that the adjoints a-1..b read, and that the
/// adjoint of a does not read, is then either kept, within the free bytes, or made again before b's adjoint. It is made
/// from inputs for which the same holds. A cut at a price per byte bounds that time (`remake_cut`). Such spans do not
/// overlap, so their bounds add up.
/// Cost: cuts for each pair of some places; all places in graphs of up to 80 operations.
/// If the limit of the meter is reached, the bound of the one span from the loss to the end.
/// \pre the budget is feasible   \param meter  counts the work; null for no limit
[[nodiscard]] inline std::int64_t least_extra_time(graph_model const& model, std::int64_t budget,
                                                   work_meter* meter = nullptr) {
  std::size_t const count = model.count;
  constexpr wide sums_for_span = 256;  // for each operation
  if (count == 0) return 0;
  std::size_t const wanted = std::size_t(std::sqrt(double(std::size_t{1} << 19) / double(count)));
  std::size_t const ends = std::clamp<std::size_t>(wanted, 8, (std::max<std::size_t>)(8, count));
  std::vector<std::size_t> places;  // where spans begin and end
  for (std::size_t k = 0; k <= ends; ++k)
    if (std::size_t const place = count * k / ends; places.empty() || places.back() != place) places.push_back(place);
  auto const span = [&](std::size_t a, std::size_t b) {
    std::int64_t free_bytes = budget - model.back_work[a] - model.tape[a];
    for (std::size_t const v : model.needs[a]) free_bytes -= model.bytes[v];
    return remake_cut{model, {model, a, b}}.least_time((std::max)(0.0, double(free_bytes)));
  };
  auto const rounded = [](double time) { return std::int64_t(std::ceil(time * (1 - 1e-9))); };
  std::vector<double> most(places.size(), 0);  // the best bound for all spans from the loss to here
  double const whole = span(count, 0);
  try {
    for (std::size_t k = places.size(); k-- > 1;) {
      most[k - 1] = (std::max)(most[k - 1], most[k]);
      for (std::size_t j = k; j-- > 0;) {
        count_work(meter, sums_for_span * places[k]);
        most[j] = (std::max)(most[j], most[k] + span(places[k], places[j]));
      }
    }
  } catch (too_much_work const&) {
    return rounded(whole);
  }
  return rounded(most[0]);
}

/// Runs the methods for one graph.
class graph_search {
 public:
  /// \throws invalid_plan, overflow_error   for an invalid graph or invalid options
  explicit graph_search(operation_graph const& graph, graph_options options = {})
      : model_{graph, who_}, options_{options}, bound_{least_peak_bound(model_)} {
    auto const check = [](bool holds, step_index value) {
      if (!holds)
        throw invalid_plan{who_,
                           "an option of the graph planner is out of range",
                           {{"value", value}},
                           "exact_operations is 0..18, block_operations 1..10, effort 0 or more"};
    };
    check(options.exact_operations >= 0 && options.exact_operations <= step_index(exact_search::most_items),
          options.exact_operations);
    check(options.block_operations >= 1 && options.block_operations <= step_index(block_search::most_operations),
          options.block_operations);
    check(options.effort >= 0, options.effort);
  }

  /// The fastest plan found whose peak is at most `budget` bytes; if the limit of work is reached, the fastest found so
  /// far.
  /// \throws infeasible_budget   below `least_budget`   \throws too_much_work   if the limit was reached before any
  ///   plan was found
  [[nodiscard]] graph_plan plan(std::int64_t budget) {
    start();
    return plan_on(budget);
  }
  /// The least budget for which `plan` finds a plan; the least of all plans if the graph is planned exactly. If the
  /// limit of work is reached, the least budget known to be enough.
  [[nodiscard]] std::int64_t least_budget() {
    start();
    return find_least();
  }
  /// Plans from the least budget to that of storing everything, at budgets in equal steps. Each plan is faster than all
  /// plans with smaller budgets.
  /// \param most_points  >= 2
  [[nodiscard]] std::vector<graph_plan> pareto(std::size_t most_points = 20) {
    if (most_points < 2)
      throw invalid_plan{
          "cairn::graph_planner::pareto", "too few points for a curve", {{"points", most_points}}, "give 2 or more"};
    start();
    std::int64_t const least = find_least(), all = run_measure{model_}.cost(store_all_runs(model_)).peak;
    std::vector<graph_plan> curve;
    std::int64_t last = -1;
    for (std::size_t k = 0; k < most_points; ++k) {
      std::int64_t const budget = least + std::int64_t(wide(all - least) * k / (most_points - 1));
      if (budget == last) continue;
      last = budget;
      if (meter_.has_stopped() && budget < all) continue;
      graph_plan next = plan_on(budget);
      if (curve.empty() || next.cost.makespan < curve.back().cost.makespan) curve.push_back(std::move(next));
    }
    return curve;
  }

 private:
  static constexpr char const* who_ = "cairn::graph_planner";
  static constexpr std::size_t most_places = 64;
  static constexpr std::uint64_t table_effort = std::uint64_t{1} << 21;
  static constexpr int most_cuts = 12;
  static constexpr char const* advice_ = "allow more, or give a larger budget";
  static constexpr work_words words_{.is_too_much = "the plan of this graph takes too much work",
                                     .was_stopped = "the planning of this graph was stopped"};

  /// Whether all plans are searched. That search knows of no copies of states.
  [[nodiscard]] bool is_small() const noexcept {
    return !model_.has_copies && step_index(exact_search::items_of(model_)) <= options_.exact_operations;
  }
  /// Begins a call of the planner: its work is counted from 0.
  void start() { meter_ = {who_, {"operations", model_.count}, options_.limit, advice_, words_}; }

  [[nodiscard]] graph_plan plan_on(std::int64_t budget) {
    run_measure measure{model_};
    run_order runs = store_all_runs(model_);
    bool const is_enough = measure.cost(runs).peak <= budget;
    std::int64_t bound = model_.least_time();
    bool is_exact = is_enough;
    if (!is_enough) {
      run_order const first = find_any(budget);
      std::int64_t const least = find_least();
      bool const is_cut_short = meter_.has_stopped() && budget < least;
      if (is_cut_short && first.empty()) meter_.add(1);  // throws, because the limit is reached
      if (!is_cut_short && budget < least)
        throw infeasible_budget{who_,
                                "no plan for this graph fits the budget",
                                {{"budget", budget}, {"least bytes", least}, {"lower bound", bound_}},
                                "give the least bytes, or more"};
      if (is_small() && !meter_.has_stopped()) is_exact = find_exactly(budget, runs);
      if (!is_exact) {
        bound += least_extra_time(model_, budget, &meter_);
        runs = is_cut_short ? first : near_best(budget, bound);
        if (!first.empty() && measure.cost(first).time < measure.cost(runs).time) runs = first;
      }
    }
    graph_plan found{.actions = measure.with_drops(runs), .cost = {}, .budget = budget, .lower_bound_peak = bound_};
    found.cost = replay(model_, found.actions, who_);
    found.lower_bound_time = is_exact ? found.cost.makespan : bound;
    found.is_exact = found.cost.makespan == found.lower_bound_time;
    return found;
  }
  /// Some plan within the budget, for a limit of little work; empty if none is found at once.
  [[nodiscard]] run_order find_any(std::int64_t budget) {
    run_search search{model_, budget, std::uint64_t(options_.effort), &meter_};
    try {
      (void)search.offer_to_cuts(store_all_runs(model_));
    } catch (too_much_work const&) {}
    return search.has_found() ? search.best() : run_order{};
  }
  /// Finds the fastest of all plans; false if the limit of work is reached.
  [[nodiscard]] bool find_exactly(std::int64_t budget, run_order& runs) {
    try {
      runs = exact_search{model_, &meter_}.fastest(budget).value_or(lean_);
      return true;
    } catch (too_much_work const&) {
      return false;
    }
  }
  [[nodiscard]] std::int64_t find_least() {
    if (least_) return *least_;
    run_measure measure{model_};
    if (lean_.empty()) lean_ = store_all_runs(model_);
    try {
      if (is_small()) {
        lean_ = exact_search{model_, &meter_}.leanest();
        bound_ = measure.cost(lean_).peak;
      } else {
        make_lean(measure);
      }
      least_ = measure.cost(lean_).peak;
    } catch (too_much_work const&) {}
    return measure.cost(lean_).peak;
  }
  /// Sets lean_ to the plan with the least peak that is found. It is looked for without times: they are measured, so a
  /// budget that was enough in one run would be too little in the next.
  void make_lean(run_measure& measure) {
    std::int64_t least = measure.cost(lean_).peak;
    graph_model untimed = model_;
    for (bool const by_bytes : {false, true}) {  // what is dropped first: few operations, or few bytes
      if (by_bytes) untimed.time = untimed.bytes;
      else std::fill(untimed.time.begin(), untimed.time.end(), 1);
      graph_blocks const parts{untimed, std::size_t(options_.block_operations), most_places, &meter_};
      lower_set_table table{untimed, parts, 1, table_effort, &meter_};
      if (table.time(table.least_budget())) {
        run_order runs = table.runs(table.least_budget());
        if (std::int64_t const peak = measure.cost(runs).peak; peak < least) least = peak, lean_ = std::move(runs);
      }
      // Bisection. A plan that is not found may still exist, so the search can end above the true least budget.
      for (std::int64_t low = bound_; low < least;) {
        std::int64_t const middle = low + (least - low) / 2;
        run_search search{untimed, middle, std::uint64_t(options_.effort) / 16, &meter_};
        for (int tries = 0; tries < 4 && !search.has_found(); ++tries)
          if (!search.offer(lean_)) (void)search.offer(store_all_runs(model_));
        if (search.has_found()) least = search.cost().peak, lean_ = search.best();
        else low = middle + 1;
      }
    }
  }
  [[nodiscard]] graph_blocks const& blocks() {
    if (!blocks_) blocks_.emplace(model_, std::size_t(options_.block_operations), most_places, &meter_);
    return *blocks_;
  }
  /// \param bound  no plan is faster than this   \pre budget >= find_least()
  [[nodiscard]] run_order near_best(std::int64_t budget, std::int64_t bound) {
    run_search search{model_, budget, std::uint64_t(options_.effort), &meter_};
    try {
      for (std::int64_t const slots :
           {std::int64_t{0}, std::int64_t{512}, std::int64_t{128}}) {  // exact in bytes unless that takes too much
        std::int64_t const unit = slots == 0 ? 1 : std::max<std::int64_t>(1, budget / slots);
        lower_set_table table{model_, blocks(), unit, table_effort, &meter_};
        bool const is_planned = table.time(budget).has_value();
        if (is_planned) (void)search.offer(table.runs(budget));
        if (is_planned || !table.gave_up()) break;
      }
      (void)search.offer(store_all_runs(model_));
      if (!search.has_found()) (void)search.offer(lean_);
      search.search();
      offer_cuts(search, budget);
      search.refine(3 * std::uint64_t(options_.effort), bound);
    } catch (too_much_work const&) {}
    return search.has_found() ? search.best() : lean_;
  }
  /// Offers orders that keep the cheapest choice of values at the loss, with fewer and fewer bytes.
  void offer_cuts(run_search& search, std::int64_t budget) {
    graph_model tilted = model_;  // so that one of several operations with equal cost is dropped first
    for (std::size_t v = 0; v < model_.count; ++v)
      tilted.time[v] += tilted.time[v] / 100 * std::int64_t(v) / std::int64_t(model_.count);
    remake_cut cut{tilted, {model_, model_.count, 0}};
    std::int64_t all = budget - model_.back_work[model_.count];
    for (std::size_t const v : model_.needs[model_.count]) all -= model_.bytes[v];
    run_measure measure{model_};
    double free_bytes = double(all), step = free_bytes / most_cuts;
    for (int tries = 0; tries < most_cuts && free_bytes > 0; ++tries, free_bytes -= step) {
      (void)cut.least_time(free_bytes);
      run_order runs = runs_of(model_, cut);
      measure.strip(runs);
      bool const fits = measure.cost(runs).peak <= budget;
      (void)search.offer_to_cuts(std::move(runs));
      if (fits) break;
    }
  }

  graph_model model_;
  graph_options options_;
  work_meter meter_{who_, {"operations", model_.count}, options_.limit, advice_, words_};
  std::int64_t bound_;                ///< no plan has a lower peak
  std::optional<std::int64_t> least_;
  run_order lean_;            ///< a plan for the least budget
  std::optional<graph_blocks> blocks_;
};

}  // namespace cairn::detail
