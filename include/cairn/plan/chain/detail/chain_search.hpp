// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file chain_search.hpp  Tries the methods for one chain and keeps the fastest plan and the best bound.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <cairn/core/error.hpp>
#include <cairn/plan/chain/chain_options.hpp>
#include <cairn/plan/chain/chain_plan.hpp>
#include <cairn/plan/chain/detail/chain_methods.hpp>
#include <cairn/plan/chain/detail/chain_model.hpp>
#include <cairn/plan/chain/detail/lower_bounds.hpp>
#include <cairn/rules/chain.hpp>
#include <cairn/schedule/detail/value_list.hpp>
#include <cairn/schedule/work_limit.hpp>

namespace cairn::detail {

/// \throws invalid_plan   for invalid options, or options that do not suit the chain
[[gnu::cold]] inline void check_chain_options(chain_options const& options, chain_model const& model) {
  constexpr char const* who = "cairn::chain_planner";
  if (!(options.gap >= 0))
    throw invalid_plan{
        who, "the wanted gap is negative", {}, "give 0 for the optimum, or a small number such as 0.01"};
  if (!(options.effort > 0))
    throw invalid_plan{who, "the effort is not above 0", {}, "leave it out, or give a number such as 1e10"};
  if (options.slots < 0)
    throw invalid_plan{who,
                       "the number of slots is negative",
                       {{"slots", options.slots}},
                       "give 1 or more, or 0 to leave the choice to the planner"};
  if (!options.tiers.empty() && options.by != chain_method::tiers)
    throw invalid_plan{who,
                       "tiers are given for a method that does not use them",
                       {{"tiers", options.tiers.size()}},
                       "plan by chain_method::tiers, or leave them out"};
  if (options.by == chain_method::revolve && !is_uniform(model))
    throw invalid_plan{who,
                       "the stages of this chain differ, so that no closed form fits",
                       {{"stages", model.stages}},
                       "plan by chain_method::automatic"};
}

/// What several budgets of one chain share, and the order in which methods are tried. Its parts refer to each other, so
/// the object cannot be moved.
class chain_search {
 public:
  [[gnu::cold]] chain_search(chain work, chain_options options)
      : work_{std::move(work)},
        options_{std::move(options)},
        model_{work_, who},
        meter_{who, {"stages", model_.stages}, options_.limit, advice} {
    check_chain_options(options_, model_);
  }
  chain_search(chain_search const&) = delete;

  [[nodiscard]] chain const& work() const noexcept { return work_; }
  [[nodiscard]] chain_options const& options() const noexcept { return options_; }
  [[nodiscard]] chain_model const& model() const noexcept { return model_; }
  /// Whether the last plan is the best of its class; if it is, less memory is never faster.
  [[nodiscard]] bool is_exact() const noexcept { return best_.is_exact(); }

  /// Begins a call of the planner: its work is counted from 0.
  void start() { meter_ = {who, {"stages", model_.stages}, options_.limit, advice}; }
  /// Whether the work since `start` reached the limit. Later questions are then answered at once, from what is known.
  [[nodiscard]] bool has_stopped() const noexcept { return meter_.has_stopped(); }

  /// The best plan of the method; nothing if it finds none.   \param effort  as in `chain_options`
  /// \throws too_much_work   if the limit was reached before any plan was found
  [[nodiscard, gnu::cold]] std::optional<chain_plan> plan(std::int64_t budget, double effort) {
    auto found = attempt(budget, effort, true);
    if (found) return found;
    // The sizes may fit the slots of a smaller budget better.
    if (auto const least = least_bytes(); least && budget > *least && (found = attempt(*least, effort, true)))
      found->budget = budget;
    return found;
  }

  /// The least budget for which `plan` finds a plan; nothing if there is none. If the limit is reached, the least
  /// budget known to be enough.
  /// \throws too_much_work   if the limit was reached before any plan was found
  [[nodiscard, gnu::cold]] std::optional<std::int64_t> least_bytes() {
    if (knows_least_) return least_;
    std::int64_t high = -1;  // known to be enough; negative if none is known
    try {
      knows_least_ = find_least(high);
    } catch (too_much_work const&) {
      if (high < 0) throw;
    }
    return least_ = high < 0 ? std::nullopt : std::optional{high};
  }
  /// Whether the last answer of `least_bytes` is the least budget.
  [[nodiscard]] bool knows_least() const noexcept { return knows_least_; }
  /// A budget above which the method finds no further plan. With k slots nothing changes once each item takes one slot,
  /// so k times all bytes are enough; for a method that takes more slots for more bytes, rounding is a few percent.
  [[nodiscard]] std::int64_t most_bytes(std::int64_t first) const noexcept {
    bool const few_slots = options_.by == chain_method::tiers;  // at most 501 slots, however large the budget is
    return std::int64_t(
        (std::min)(wide(first) * wide(std::max<std::int64_t>(options_.slots, few_slots ? 512 : 4)), wide(endless)));
  }

 private:
  static constexpr char const* who = "cairn::chain_planner";
  static constexpr char const* advice = "allow more, give fewer slots, join stages into blocks, or name another method";
  /// The visits that one unit of effort pays for: a visit of a state takes as long as 256 sums of a table.
  static constexpr double visits_for_effort = 1.0 / 256;

  /// \param with_proof  also proves how far the plan is from the best
  [[nodiscard, gnu::cold]] std::optional<chain_plan> attempt(std::int64_t budget, double effort, bool with_proof) {
    best_.begin(budget);
    try {
      search(effort, with_proof);
    } catch (too_much_work const&) {
      if (!best_.exists() && (options_.by == chain_method::automatic || options_.by == chain_method::persistent))
        methods_.take_the_nearest();
      if (!best_.exists()) throw;
    }
    if (best_.exists() && with_proof) best_.certify();
    return best_.take();
  }
  /// Runs the method.   \throws too_much_work   if the limit is reached; `best_` then holds what was found
  [[gnu::cold]] void search(double effort, bool with_proof) {
    switch (options_.by) {
      case chain_method::automatic: try_all(effort); break;
      case chain_method::store_all: methods_.try_store_all(); break;
      case chain_method::revolve: (void)methods_.try_uniform(); break;
      case chain_method::persistent:
        if (!methods_.try_exact(1e6)) methods_.try_exact_pruned(0);
        break;
      case chain_method::slots: methods_.try_slots(options_.slots, with_proof); break;
      case chain_method::non_persistent: methods_.try_non_persistent(options_.slots, with_proof); break;
      case chain_method::tiers: methods_.try_tiers(); break;
      case chain_method::sqrt: methods_.try_sqrt(); break;
      case chain_method::greedy: methods_.try_greedy(); break;
      case chain_method::single_level: methods_.try_single_level(); break;
    }
  }
  /// Lowers `high` to the least budget that is enough; leaves it negative if there is none. Returns whether the search
  /// finished.
  [[gnu::cold]] bool find_least(std::int64_t& high) {
    std::int64_t const all = model_.store_all_peak();
    bool const stores_all = options_.by == chain_method::store_all || options_.by == chain_method::persistent ||
                            options_.by == chain_method::automatic;
    if (stores_all) high = all;
    if (options_.by == chain_method::store_all) return true;
    if (options_.by == chain_method::persistent ||
        (options_.by == chain_method::automatic && model_.stages <= persistent_optimum::most_stages)) {
      high = methods_.optimum().least_budget();
      if (options_.by == chain_method::automatic && methods_.is_small())
        high = (std::min)(high, methods_.free_optimum().least_budget());
      return true;
    }
    auto const does = [&](std::int64_t budget) { return attempt(budget, options_.effort / 32, false).has_value(); };
    // For methods whose plans may not fit the bytes of storing everything.
    std::int64_t const most = most_bytes(std::max<std::int64_t>(all, 1));
    for (std::int64_t budget = all; high < 0; budget = (std::min)(most, 2 * std::max<std::int64_t>(budget, 1))) {
      if (does(budget)) high = budget;
      else if (budget >= most) return true;
    }
    std::int64_t low = least_peak_bound(model_) - 1;
    while (high - low > std::max<std::int64_t>(1, high / 1000) && !has_stopped()) {
      std::int64_t const middle = low + (high - low) / 2;
      (does(middle) ? high : low) = middle;
    }
    return !has_stopped();
  }

  /// The number of choices per state for which the best single level takes `effort` sums.
  [[nodiscard]] std::size_t choices_for(double effort) const noexcept {
    return std::size_t(std::clamp(effort / double(model_.stages) / double(model_.stages), 16.0, 1024.0));
  }
  /// The most sums of a table of persistent plans with this many slots.
  [[nodiscard, gnu::cold]] double sums(double slots) {
    if (rows_ == 0) {
      std::int64_t const quantum = model_.sum_u.back() / (std::int64_t{1} << 26) + 1;
      value_list<std::int32_t> times;
      for (auto const time : model_.u) times.push_back(std::int32_t(time / quantum));
      rows_ = double(interval_classes{stage_types(model_, times, true)}.count());
    }
    return rows_ * double(model_.stages + 1) / 3 * slots;
  }
  [[gnu::cold]] void try_all(double effort) {
    methods_.try_store_all();
    if (best_.exists()) return;
    bool const done = methods_.try_uniform();
    if (model_.stages > persistent_optimum::most_stages) {
      if (!done) try_long(effort);
      return;
    }
    if (!done && !methods_.try_exact((std::min)(1e6, effort * visits_for_effort))) refine(effort);
    // Eight sums per split, for the plan and for its bound.
    if (methods_.is_small() || 16 * sums((std::max)(500.0, 8 * double(model_.stages))) <= effort)
      methods_.try_non_persistent(0, true);
  }
  /// Makes tables of more and more slots until the gap is as wanted, then runs the exact search with one of the tables.
  [[gnu::cold]] void refine(double effort) {
    if (best_.budget() < methods_.optimum().least_budget()) return;
    double const stages = double(model_.stages) + 1, most_slots = most_table_slots / stages / stages;
    methods_.try_single_level(choices_for(effort / 8));
    if (best_.is_good()) return;
    double spent = 0;
    for (double slots = (std::min)(500.0, most_slots);
         !best_.exists() || (spent + 2 * sums(slots) <= effort && slots <= most_slots); slots *= 4) {
      spent += 2 * sums(slots);
      methods_.try_slots(std::int64_t(slots), true);
      if (best_.is_good()) return;
      if (!best_.exists()) break;
    }
    if (spent + sums(2'000) <= effort && methods_.try_exact_pruned((std::max)(1e6, effort * visits_for_effort)))
      return;
    // There is too little memory for slots; near the least bytes few choices have to be visited.
    if (!best_.exists()) methods_.try_exact(0);
  }
  /// For chains with more stages than tables are made for.
  [[gnu::cold]] void try_long(double effort) {
    methods_.try_greedy();
    if (auto const choices = choices_for(effort); choices > 16) methods_.try_single_level(choices);
  }

  /// Divided by the square of the stages, this gives the most slots of a table of two gigabytes.
  static constexpr double most_table_slots = double(std::int64_t{1} << 30);

  chain work_;
  chain_options options_;
  chain_model model_;
  work_meter meter_;
  best_chain_plan best_{model_, options_, meter_};
  chain_methods methods_{model_, options_, meter_, best_};
  std::optional<std::int64_t> least_;
  bool knows_least_ = false;
  double rows_ = 0;  ///< of tables; 0 until counted
};

}  // namespace cairn::detail
