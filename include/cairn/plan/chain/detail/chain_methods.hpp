// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file chain_methods.hpp  Runs each planning method for a chain and collects its plan and its bound.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>
#include <cairn/core/error.hpp>
#include <cairn/plan/chain/chain_options.hpp>
#include <cairn/plan/chain/chain_plan.hpp>
#include <cairn/plan/chain/detail/chain_interpreter.hpp>
#include <cairn/plan/chain/detail/chain_model.hpp>
#include <cairn/plan/chain/detail/chen.hpp>
#include <cairn/plan/chain/detail/lower_bounds.hpp>
#include <cairn/plan/chain/detail/non_persistent.hpp>
#include <cairn/plan/chain/detail/non_persistent_optimum.hpp>
#include <cairn/plan/chain/detail/persistent.hpp>
#include <cairn/plan/chain/detail/single_level.hpp>
#include <cairn/plan/chain/detail/slot_table.hpp>
#include <cairn/plan/chain/detail/tiers.hpp>
#include <cairn/plan/chain/detail/uniform_chain.hpp>
#include <cairn/rules/chain.hpp>
#include <cairn/schedule/work_limit.hpp>

namespace cairn::detail {

/// Keeps the best of the plans that methods find, and the best of the bounds that they prove.
class best_chain_plan {
 public:
  /// The arguments must outlive this object.
  best_chain_plan(chain_model const& model, chain_options const& options, work_meter& meter)
      : model_{model}, options_{options}, meter_{meter} {}

  /// Forgets the results of another budget.
  void begin(std::int64_t budget) {
    budget_ = budget;
    best_.reset();
    persistent_bound_ = non_persistent_bound_ = any_bound_ = -1;
    is_exact_ = false;
  }
  [[nodiscard]] std::int64_t budget() const noexcept { return budget_; }
  [[nodiscard]] bool exists() const noexcept { return best_.has_value(); }
  [[nodiscard]] bool is_by(chain_method method) const noexcept { return best_ && best_->by == method; }
  /// Whether the plan that was certified last is the best of its class; if it is, less memory is never faster.
  [[nodiscard]] bool is_exact() const noexcept { return is_exact_; }

  /// Keeps a plan that fits the budget if it is faster than the current one, or equally fast with a lower peak.
  [[gnu::cold]] void consider(std::vector<action> actions, chain_method by) {
    chain_cost const cost = replay(model_, actions, options_.tiers, "cairn::chain_planner");
    if (cost.peak > budget_ || (best_ && (best_->cost.makespan < cost.makespan ||
                                          (best_->cost.makespan == cost.makespan && best_->cost.peak <= cost.peak))))
      return;
    best_ = chain_plan{std::move(actions), cost, budget_, by, {}};
  }
  /// Records a bound: every persistent plan spends at least `extra` on stages run again.
  void prove_persistent(std::int64_t extra) noexcept { persistent_bound_ = (std::max)(persistent_bound_, extra); }
  /// Records a bound: every non-persistent plan spends at least `extra` on stages run again.
  void prove_non_persistent(std::int64_t extra) noexcept {
    non_persistent_bound_ = (std::max)(non_persistent_bound_, extra);
  }
  /// Whether the gap between the best plan and the bound is as small as wanted.
  [[nodiscard, gnu::cold]] bool is_good() {
    if (!best_) return false;
    double const bound = double(model_.store_all_time() + (std::max)(persistent_bound_, any_bound()));
    return double(best_->cost.makespan) <= bound * (1 + options_.gap);
  }
  /// Writes the bounds into the plan.   \pre exists()
  [[gnu::cold]] void certify() {
    std::int64_t const all = model_.store_all_time();
    auto& proof = best_->proof;
    proof.lower_bound_time = all + any_bound();
    proof.lower_bound_peak = least_peak_bound(model_);
    std::int64_t const extra = best_->cost.extra_forward;
    if (persistent_bound_ >= 0 && extra >= persistent_bound_)
      proof.class_bound_time = all + persistent_bound_, proof.of = chain_class::persistent;
    else if (non_persistent_bound_ >= 0 && extra >= non_persistent_bound_)
      proof.class_bound_time = all + non_persistent_bound_, proof.of = chain_class::non_persistent;
    is_exact_ = best_->exact();
  }
  [[nodiscard]] std::optional<chain_plan> take() { return std::move(best_); }

 private:
  static constexpr std::int64_t usual_visits = 4'000'000;
  static constexpr std::size_t few_windows = 20'000;           // some hundredths of a second
  static constexpr std::int64_t most_stages_bounded = 20'000;  // some hundredths of a second

  /// A bound on the extra forward time of every schedule.
  [[nodiscard]] std::int64_t any_bound() {
    if (options_.by == chain_method::tiers) return 0;
    if (any_bound_ >= 0) return any_bound_;
    try {
      if (!meter_.has_stopped())
        return any_bound_ = extra_forward_bound(model_, budget_, usual_visits, window_bound::usual_windows, &meter_);
    } catch (too_much_work const&) {}
    return any_bound_ = model_.stages > most_stages_bounded ? 0 : extra_forward_bound(model_, budget_, 0, few_windows);
  }

  chain_model const& model_;
  chain_options const& options_;
  work_meter& meter_;
  std::int64_t budget_ = 0;
  std::optional<chain_plan> best_;
  /// Bounds on the extra forward time; -1 if nothing is proven.
  std::int64_t persistent_bound_ = -1, non_persistent_bound_ = -1, any_bound_ = -1;
  bool is_exact_ = false;
};

/// Each `try_` runs a method at the budget of `best` and puts its result there. Exact searches are kept from one budget
/// to the next, because later searches use earlier results.
class chain_methods {
 public:
  /// The arguments must outlive this object.
  chain_methods(chain_model const& model, chain_options const& options, work_meter& meter, best_chain_plan& best)
      : model_{model}, options_{options}, meter_{meter}, best_{best} {}

  /// Whether the chain is so small that tables of non-persistent plans are not needed.
  [[nodiscard]] bool is_small() const noexcept { return model_.stages <= most_exact_non_persistent; }
  [[nodiscard]] persistent_optimum& optimum() {
    if (!optimum_) optimum_.emplace(model_, &meter_);
    return *optimum_;
  }
  [[nodiscard]] non_persistent_optimum& free_optimum() {
    if (!free_optimum_) free_optimum_.emplace(model_, &meter_);
    return *free_optimum_;
  }

  [[gnu::cold]] void try_store_all() {
    if (best_.budget() >= model_.store_all_peak())
      best_.consider(segments_plan(model_, {}), chain_method::store_all);
  }
  /// Whether the closed form settles the search: it gives the best persistent plan, or none fits the budget.
  [[nodiscard, gnu::cold]] bool try_uniform() {
    if (!is_uniform(model_)) return false;
    auto const found = uniform_plan(model_, best_.budget());
    if (!found) return true;
    if (found->runs_again() > most_runs_listed)
      throw too_much_work{
          who,
          "the plan of this chain has too many actions to be listed",
          {{"stages", model_.stages}, {"stages run again", found->runs_again()}, {"most", most_runs_listed}},
          "give more bytes"};
    best_.consider(found->actions(), chain_method::revolve);
    if (found->is_exact()) best_.prove_persistent(found->extra_forward());
    return found->is_exact();
  }
  /// Whether the search finished.   \param visits  the search stops after this many visits; 0 for no limit
  [[gnu::cold]] bool try_exact(double visits) {
    auto& exact = optimum();
    exact.limit_effort(visits > 0 ? std::size_t((std::min)(visits, 1e18)) : ~std::size_t{0});
    auto const extra = exact.extra_forward(best_.budget());
    if (exact.gave_up()) return false;
    if (!extra) return true;
    best_.prove_persistent(*extra);
    best_.consider(exact.actions(best_.budget()), chain_method::persistent);
    return true;
  }
  /// The same search after a table of slots, which shows what need not be visited.
  [[gnu::cold]] bool try_exact_pruned(double visits) {
    if (best_.budget() < optimum().least_budget()) return true;
    slot_table const table{model_, at_least_0(), {}, rounding::down, {.meter = &meter_}};
    best_.prove_persistent(table.extra_forward());
    optimum().prune_by(&table);
    bool const ended = try_exact(visits);
    optimum().prune_by(nullptr);
    return ended;
  }
  /// \param slots  0 lets the table choose   \param with_bound  also proves a bound on all persistent plans
  [[gnu::cold]] void try_slots(std::int64_t slots, bool with_bound) {
    std::int64_t const budget = best_.budget();
    if (budget < 0) return;
    slot_table const table{model_, budget, {.slots = slots}, rounding::up, {.meter = &meter_}};
    if (table.feasible()) best_.consider(table.actions(), chain_method::slots);
    if (!with_bound || !best_.exists()) return;
    slot_table const bound{model_, budget, {.slots = slots}, rounding::down, {.meter = &meter_}};
    best_.prove_persistent(bound.extra_forward());
  }
  /// \param slots, with_bound  as of `try_slots`
  [[gnu::cold]] void try_non_persistent(std::int64_t slots, bool with_bound) {
    std::int64_t const budget = best_.budget();
    if (budget < 0) return;
    if (slots == 0 && is_small()) {
      auto& exact = free_optimum();
      exact.limit_effort(most_free_steps);
      auto const extra = exact.extra_forward(budget);
      if (extra) {
        best_.prove_non_persistent(*extra);
        best_.consider(exact.actions(budget), chain_method::non_persistent);
      }
      if (extra || !exact.gave_up()) return;
    }
    non_persistent_table const table{model_, budget, {.slots = slots}, rounding::up, usual_table_bytes, &meter_};
    if (!table.feasible()) return;
    best_.consider(table.actions(), chain_method::non_persistent);
    if (!with_bound || !best_.is_by(chain_method::non_persistent)) return;
    non_persistent_table const bound{model_, budget, {.slots = slots}, rounding::down, usual_table_bytes, &meter_};
    best_.prove_non_persistent(bound.extra_forward());
  }
  [[gnu::cold]] void try_tiers() {
    tier_chain_table const table{model_, at_least_0(), options_.tiers, {.slots = options_.slots}, 0, &meter_};
    if (best_.budget() >= 0 && table.feasible()) best_.consider(table.actions(), chain_method::tiers);
  }
  [[gnu::cold]] void try_sqrt() { best_.consider(chen_sqrt(model_), chain_method::sqrt); }
  [[gnu::cold]] void try_greedy() {
    if (auto plan = chen_greedy(model_, best_.budget(), 64, &meter_))
      best_.consider(std::move(*plan), chain_method::greedy);
  }
  /// \param choices  most choices kept at a state
  [[gnu::cold]] void try_single_level(std::size_t choices = 4096) {
    single_level const found{model_, best_.budget(), choices, &meter_};
    if (found.feasible()) best_.consider(found.actions(), chain_method::single_level);
  }
  /// Finds some persistent plan after the limit is reached: little work, which is not counted.
  [[gnu::cold]] void take_the_nearest() {
    if (auto plan = chen_greedy(model_, best_.budget(),
                                std::size_t(std::clamp<std::int64_t>(few_plays / (model_.stages + 1), 2, 64))))
      best_.consider(std::move(*plan), chain_method::greedy);
    if (model_.stages > most_stages_at_once) return;
    single_level const found{model_, best_.budget(), 16};
    if (found.feasible()) best_.consider(found.actions(), chain_method::single_level);
  }

 private:
  static constexpr char const* who = "cairn::chain_planner";
  static constexpr std::int64_t few_plays = std::int64_t{1} << 22;  // stages; some hundredths of a second
  static constexpr std::int64_t most_stages_at_once = 500;
  static constexpr std::int64_t most_runs_listed = usual_table_bytes / std::int64_t(2 * sizeof(action));
  static constexpr std::int64_t most_exact_non_persistent = 64;
  static constexpr std::size_t most_free_steps = 50'000;  // some tenths of a second

  [[nodiscard]] std::int64_t at_least_0() const noexcept { return std::max<std::int64_t>(0, best_.budget()); }

  chain_model const& model_;
  chain_options const& options_;
  work_meter& meter_;
  best_chain_plan& best_;
  std::optional<persistent_optimum> optimum_;
  std::optional<non_persistent_optimum> free_optimum_;
};

}  // namespace cairn::detail
