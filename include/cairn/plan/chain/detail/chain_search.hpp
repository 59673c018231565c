#pragma once
/// \file chain_search.hpp  Tries the methods for one chain, and keeps the fastest plan with what is proven of it.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>
#include <cairn/core/chain.hpp>
#include <cairn/core/error.hpp>
#include <cairn/plan/chain/chain_options.hpp>
#include <cairn/plan/chain/chain_plan.hpp>
#include <cairn/plan/chain/detail/chain_model.hpp>
#include <cairn/plan/chain/detail/chen.hpp>
#include <cairn/plan/chain/detail/lower_bounds.hpp>
#include <cairn/plan/chain/detail/non_persistent.hpp>
#include <cairn/plan/chain/detail/non_persistent_optimum.hpp>
#include <cairn/plan/chain/detail/own_tapes.hpp>
#include <cairn/plan/chain/detail/persistent.hpp>
#include <cairn/plan/chain/detail/segments.hpp>
#include <cairn/plan/chain/detail/single_level.hpp>
#include <cairn/plan/chain/detail/stage_classes.hpp>
#include <cairn/plan/chain/detail/tiers.hpp>
#include <cairn/plan/chain/detail/uniform_chain.hpp>
#include <cairn/plan/chain/replay.hpp>
#include <cairn/plan/chain/detail/slot_table.hpp>
#include <cairn/schedule/work_limit.hpp>

namespace cairn::detail {

/// What several budgets of one chain share, and how each method is asked.
class chain_search {
 public:
  chain_search(chain work, chain_options options)
      : work_{std::move(work)},
        options_{std::move(options)},
        model_{std::make_unique<chain_model>(work_, who)},
        meter_{std::make_unique<work_meter>(who, named_value{"stages", model_->stages}, options_.limit, advice)} {
    if (!(options_.gap >= 0))
      throw invalid_plan{
          who, "the wanted gap is negative", {}, "give 0 for the optimum, or a small number such as 0.01"};
    if (!(options_.effort > 0))
      throw invalid_plan{who, "the effort is not above 0", {}, "leave it out, or give a number such as 1e10"};
    if (options_.slots < 0)
      throw invalid_plan{who,
                         "the number of slots is negative",
                         {{"slots", options_.slots}},
                         "give 1 or more, or 0 to leave the choice to the planner"};
    if (!options_.tiers.empty() && options_.by != chain_method::tiers)
      throw invalid_plan{who,
                         "tiers are given for a method that does not use them",
                         {{"tiers", options_.tiers.size()}},
                         "plan by chain_method::tiers, or leave them out"};
    if (options_.by == chain_method::revolve && !is_uniform(*model_))
      throw invalid_plan{who,
                         "the stages of this chain differ, so that no closed form fits",
                         {{"stages", model_->stages}},
                         "plan by chain_method::automatic"};
  }

  [[nodiscard]] chain const& work() const noexcept { return work_; }
  [[nodiscard]] chain_options const& options() const noexcept { return options_; }
  [[nodiscard]] chain_model const& model() const noexcept { return *model_; }
  /// Whether the last plan is the best of its class, so that less memory is never faster.
  [[nodiscard]] bool is_exact() const noexcept { return is_exact_; }

  /// What follows is one call of the planner, whose work is counted from 0 on.
  void start() { *meter_ = {who, {"stages", model_->stages}, options_.limit, advice}; }
  /// Whether the work since `start` passed the limit: what is asked then is answered from what is found at once.
  [[nodiscard]] bool has_stopped() const noexcept { return meter_->has_stopped(); }

  /// The best plan of the method; nothing where it finds none.   \param effort  as of `chain_options`
  /// \throws too_much_work   where none was found before the limit was passed
  [[nodiscard]] std::optional<chain_plan> plan(std::int64_t budget, double effort) {
    auto found = attempt(budget, effort, true);
    if (found) return found;
    // Slots of one budget may fit the sizes worse than those of a smaller one.
    if (auto const least = least_bytes(); least && budget > *least && (found = attempt(*least, effort, true)))
      found->budget = budget;
    return found;
  }

  /// The least budget for which `plan` finds one; nothing where it finds none at any. Where the limit is passed, one
  /// that is known to do.
  /// \throws too_much_work   where none was found before the limit was passed
  [[nodiscard]] std::optional<std::int64_t> least_bytes() {
    if (knows_least_) return least_;
    std::int64_t high = -1;  // known to do; below 0 where none is
    try {
      knows_least_ = find_least(high);
    } catch (too_much_work const&) {
      if (high < 0) throw;
    }
    return least_ = high < 0 ? std::nullopt : std::optional{high};
  }
  /// Whether the last answer of `least_bytes` is the least.
  [[nodiscard]] bool knows_least() const noexcept { return knows_least_; }
  /// No larger budget gives the method a plan that this one does not. With k slots nothing changes from the budget on
  /// at which each item takes one, so that k times all bytes are enough; where a method takes more slots for more
  /// bytes, rounding is a few percent.
  [[nodiscard]] std::int64_t most_bytes(std::int64_t first) const noexcept {
    bool const few_slots = options_.by == chain_method::own_tapes ||
                           options_.by == chain_method::tiers;  // 501 at most, however many bytes there are
    return std::int64_t(
        (std::min)(wide(first) * wide(std::max<std::int64_t>(options_.slots, few_slots ? 512 : 4)), wide(endless)));
  }

 private:
  static constexpr char const* who = "cairn::chain_planner";
  static constexpr char const* advice = "allow more, give fewer slots, join stages into blocks, or name another method";
  /// A visit of a state takes as long as so many sums of a table.
  static constexpr double visits_for_effort = 1.0 / 256;

  /// \param with_proof  of how far it is from the best
  [[nodiscard]] std::optional<chain_plan> attempt(std::int64_t budget, double effort, bool with_proof) {
    best_ = {};
    persistent_bound_ = non_persistent_bound_ = any_bound_ = -1;
    is_exact_ = false;
    try {
      search(budget, effort, with_proof);
    } catch (too_much_work const&) {
      if (!best_ && (options_.by == chain_method::automatic || options_.by == chain_method::persistent))
        take_the_nearest(budget);
      if (!best_) throw;
    }
    if (best_ && with_proof) certify(budget);
    return std::move(best_);
  }
  /// Asks the method.   \throws too_much_work   where the limit is passed; what is found by then stands in `best_`
  void search(std::int64_t budget, double effort, bool with_proof) {
    switch (options_.by) {
      case chain_method::automatic: try_all(budget, effort); break;
      case chain_method::store_all: try_store_all(budget); break;
      case chain_method::revolve: (void)try_uniform(budget); break;
      case chain_method::persistent:
        if (!try_exact(budget, 1e6)) try_exact_pruned(budget, 0);
        break;
      case chain_method::slots: try_slots(budget, options_.slots, with_proof); break;
      case chain_method::non_persistent: try_non_persistent(budget, options_.slots, with_proof); break;
      case chain_method::own_tapes: {
        own_tape_table const table{*model_, at_least_0(budget), {.slots = options_.slots}, rounding::up, meter_.get()};
        if (budget >= 0 && table.feasible()) consider(table.actions(), chain_method::own_tapes, budget);
        break;
      }
      case chain_method::tiers: {
        tier_chain_table const table{*model_, at_least_0(budget), options_.tiers, {.slots = options_.slots},
                                     0,       meter_.get()};
        if (budget >= 0 && table.feasible()) consider(table.actions(), chain_method::tiers, budget);
        break;
      }
      case chain_method::sqrt: consider(chen_sqrt(*model_), chain_method::sqrt, budget); break;
      case chain_method::greedy: try_greedy(budget); break;
      case chain_method::single_level: try_single_level(budget); break;
    }
  }
  /// Some persistent plan, once the limit is passed: little work, which nobody counts.
  void take_the_nearest(std::int64_t budget) {
    if (auto plan = chen_greedy(*model_, budget,
                                std::size_t(std::clamp<std::int64_t>(few_plays / (model_->stages + 1), 2, 64))))
      consider(std::move(*plan), chain_method::greedy, budget);
    if (model_->stages > most_stages_at_once) return;
    single_level const found{*model_, budget, 16};
    if (found.feasible()) consider(found.actions(), chain_method::single_level, budget);
  }
  /// Lowers `high` to the least budget that does; leaves it below 0 where none does. Answers whether it came to an end.
  bool find_least(std::int64_t& high) {
    std::int64_t const all = model_->store_all_peak();
    bool const stores_all = options_.by == chain_method::store_all || options_.by == chain_method::persistent ||
                            options_.by == chain_method::automatic;
    if (stores_all) high = all;
    if (options_.by == chain_method::store_all) return true;
    if (options_.by == chain_method::persistent ||
        (options_.by == chain_method::automatic && model_->stages <= persistent_optimum::most_stages)) {
      high = optimum().least_budget();
      if (options_.by == chain_method::automatic && is_small()) high = (std::min)(high, free_optimum().least_budget());
      return true;
    }
    auto const does = [&](std::int64_t budget) { return attempt(budget, options_.effort / 32, false).has_value(); };
    // Of methods whose plans may not fit into what storing everything takes.
    std::int64_t const most = most_bytes(std::max<std::int64_t>(all, 1));
    for (std::int64_t budget = all; high < 0; budget = (std::min)(most, 2 * std::max<std::int64_t>(budget, 1))) {
      if (does(budget)) high = budget;
      else if (budget >= most) return true;
    }
    std::int64_t low = least_peak_bound(*model_) - 1;
    while (high - low > std::max<std::int64_t>(1, high / 1000) && !has_stopped()) {
      std::int64_t const middle = low + (high - low) / 2;
      (does(middle) ? high : low) = middle;
    }
    return !has_stopped();
  }

  [[nodiscard]] static std::int64_t at_least_0(std::int64_t budget) noexcept {
    return std::max<std::int64_t>(0, budget);
  }
  [[nodiscard]] persistent_optimum& optimum() {
    if (!optimum_) optimum_ = std::make_unique<persistent_optimum>(*model_, meter_.get());
    return *optimum_;
  }
  [[nodiscard]] non_persistent_optimum& free_optimum() {
    if (!free_optimum_) free_optimum_ = std::make_unique<non_persistent_optimum>(*model_, meter_.get());
    return *free_optimum_;
  }
  /// Takes a plan that keeps within the budget, if it is faster than what there is, or as fast with a lower peak.
  void consider(std::vector<action> actions, chain_method by, std::int64_t budget) {
    chain_cost const cost = replay(*model_, actions, options_.tiers, who);
    if (cost.peak > budget || (best_ && (best_->cost.makespan < cost.makespan ||
                                         (best_->cost.makespan == cost.makespan && best_->cost.peak <= cost.peak))))
      return;
    best_ = chain_plan{std::move(actions), cost, budget, by, {}};
  }
  void try_store_all(std::int64_t budget) {
    if (budget >= model_->store_all_peak()) consider(segments_plan(*model_, {}), chain_method::store_all, budget);
  }
  /// Whether the plan is the best of persistent ones.
  [[nodiscard]] bool try_uniform(std::int64_t budget) {
    if (!is_uniform(*model_)) return false;
    auto const found = uniform_plan(*model_, budget);
    if (!found) return true;
    if (found->runs_again() > most_runs_listed)
      throw too_much_work{
          who,
          "the plan of this chain has too many actions to be listed",
          {{"stages", model_->stages}, {"stages run again", found->runs_again()}, {"most", most_runs_listed}},
          "give more bytes"};
    consider(found->actions(), chain_method::revolve, budget);
    if (found->is_exact()) prove_persistent(found->extra_forward());
    return found->is_exact();
  }
  /// Whether the search came to an end.   \param visits  after which it gives up; 0 for never
  bool try_exact(std::int64_t budget, double visits) {
    auto& exact = optimum();
    exact.limit_effort(visits > 0 ? std::size_t((std::min)(visits, 1e18)) : ~std::size_t{0});
    auto const extra = exact.extra_forward(budget);
    if (exact.gave_up()) return false;
    if (!extra) return true;
    prove_persistent(*extra);
    consider(exact.actions(budget), chain_method::persistent, budget);
    return true;
  }
  /// The same behind a table of slots, which shows what need not be looked at.
  bool try_exact_pruned(std::int64_t budget, double visits) {
    if (budget < optimum().least_budget()) return true;
    slot_table const table{*model_, at_least_0(budget), {}, rounding::down, options_.launch, {.meter = meter_.get()}};
    prove_persistent(table.extra_forward());
    optimum().prune_by(&table);
    bool const ended = try_exact(budget, visits);
    optimum().prune_by(nullptr);
    return ended;
  }
  /// \param slots  chosen by the table where 0   \param with_bound  and a bound on all persistent plans
  void try_slots(std::int64_t budget, std::int64_t slots, bool with_bound) {
    if (budget < 0) return;
    slot_table const table{*model_, budget, {.slots = slots}, rounding::up, options_.launch, {.meter = meter_.get()}};
    if (table.feasible()) consider(table.actions(), chain_method::slots, budget);
    if (!with_bound || !best_) return;
    slot_table const bound{*model_, budget, {.slots = slots}, rounding::down, options_.launch, {.meter = meter_.get()}};
    prove_persistent(bound.extra_forward());
  }
  /// \param slots, with_bound  as of `try_slots`
  void try_non_persistent(std::int64_t budget, std::int64_t slots, bool with_bound) {
    if (budget < 0) return;
    if (slots == 0 && is_small()) {
      auto& exact = free_optimum();
      exact.limit_effort(most_free_steps);
      auto const extra = exact.extra_forward(budget);
      if (extra) {
        prove_non_persistent(*extra);
        consider(exact.actions(budget), chain_method::non_persistent, budget);
      }
      if (extra || !exact.gave_up()) return;
    }
    non_persistent_table const table{*model_, budget, {.slots = slots}, rounding::up, usual_table_bytes, meter_.get()};
    if (!table.feasible()) return;
    consider(table.actions(), chain_method::non_persistent, budget);
    if (!with_bound || !best_ || best_->by != chain_method::non_persistent) return;
    non_persistent_table const bound{*model_,           budget,      {.slots = slots}, rounding::down,
                                     usual_table_bytes, meter_.get()};
    prove_non_persistent(bound.extra_forward());
  }
  void try_greedy(std::int64_t budget) {
    if (auto plan = chen_greedy(*model_, budget, 64, meter_.get()))
      consider(std::move(*plan), chain_method::greedy, budget);
  }
  /// Choices at a state for which the best single level takes so many sums.
  [[nodiscard]] std::size_t choices_for(double effort) const noexcept {
    return std::size_t(std::clamp(effort / double(model_->stages) / double(model_->stages), 16.0, 1024.0));
  }
  void try_single_level(std::int64_t budget, std::size_t choices = 4096) {
    single_level const found{*model_, budget, choices, meter_.get()};
    if (found.feasible()) consider(found.actions(), chain_method::single_level, budget);
  }

  /// Sums of a table of persistent plans with so many slots, at worst.
  [[nodiscard]] double sums(double slots) {
    if (rows_ == 0) {
      std::int64_t const quantum = model_->sum_u.back() / (std::int64_t{1} << 26) + 1;
      std::vector<std::int32_t> times;
      for (auto const time : model_->u) times.push_back(std::int32_t(time / quantum));
      rows_ = double(interval_classes{stage_types(*model_, times, true)}.count());
    }
    return rows_ * double(model_->stages + 1) / 3 * slots;
  }
  /// Bound on the extra forward time of every schedule.
  [[nodiscard]] std::int64_t any_bound(std::int64_t budget) {
    if (options_.by == chain_method::tiers) return 0;
    if (any_bound_ >= 0) return any_bound_;
    try {
      if (!has_stopped())
        return any_bound_ =
                   extra_forward_bound(*model_, budget, usual_visits, window_bound::usual_windows, meter_.get());
    } catch (too_much_work const&) {}
    return any_bound_ = model_->stages > most_stages_bounded ? 0 : extra_forward_bound(*model_, budget, 0, few_windows);
  }
  /// Whether the best plan is as near to what is proven as is wanted.
  [[nodiscard]] bool is_good(std::int64_t budget) {
    if (!best_) return false;
    double const bound = double(model_->store_all_time() + (std::max)(persistent_bound_, any_bound(budget)));
    return double(best_->cost.makespan) <= bound * (1 + options_.gap);
  }
  void try_all(std::int64_t budget, double effort) {
    try_store_all(budget);
    if (best_) return;
    bool const done = try_uniform(budget);
    if (model_->stages > persistent_optimum::most_stages) {
      if (!done) try_long(budget, effort);
      return;
    }
    if (!done && !try_exact(budget, (std::min)(1e6, effort * visits_for_effort))) refine(budget, effort);
    // Eight sums a split, for the plan and for its bound.
    if (is_small() || 16 * sums((std::max)(500.0, 8 * double(model_->stages))) <= effort)
      try_non_persistent(budget, 0, true);
  }
  [[nodiscard]] bool is_small() const noexcept { return model_->stages <= most_exact_non_persistent; }
  /// Tables of more and more slots until the gap is as wanted, then the exact search behind one of them.
  void refine(std::int64_t budget, double effort) {
    if (budget < optimum().least_budget()) return;
    double const stages = double(model_->stages) + 1, most_slots = most_table_slots / stages / stages;
    try_single_level(budget, choices_for(effort / 8));
    if (is_good(budget)) return;
    double spent = 0;
    for (double slots = (std::min)(500.0, most_slots);
         !best_ || (spent + 2 * sums(slots) <= effort && slots <= most_slots); slots *= 4) {
      spent += 2 * sums(slots);
      try_slots(budget, std::int64_t(slots), true);
      if (is_good(budget)) return;
      if (!best_) break;
    }
    if (spent + sums(2'000) <= effort && try_exact_pruned(budget, (std::max)(1e6, effort * visits_for_effort))) return;
    // Too little memory for slots: near the least bytes there are few choices to look at.
    if (!best_) try_exact(budget, 0);
  }
  /// More stages than tables are made for.
  void try_long(std::int64_t budget, double effort) {
    try_greedy(budget);
    if (auto const choices = choices_for(effort); choices > 16) try_single_level(budget, choices);
  }

  void prove_persistent(std::int64_t extra) noexcept { persistent_bound_ = (std::max)(persistent_bound_, extra); }
  void prove_non_persistent(std::int64_t extra) noexcept {
    non_persistent_bound_ = (std::max)(non_persistent_bound_, extra);
  }
  void certify(std::int64_t budget) {
    std::int64_t const all = model_->store_all_time();
    auto& proof = best_->proof;
    proof.lower_bound_time = all + any_bound(budget);
    proof.lower_bound_peak = least_peak_bound(*model_);
    std::int64_t const extra = best_->cost.extra_forward;
    if (persistent_bound_ >= 0 && extra >= persistent_bound_)
      proof.class_bound_time = all + persistent_bound_, proof.of = chain_class::persistent;
    else if (non_persistent_bound_ >= 0 && extra >= non_persistent_bound_)
      proof.class_bound_time = all + non_persistent_bound_, proof.of = chain_class::non_persistent;
    is_exact_ = best_->exact();
  }

  static constexpr std::int64_t usual_visits = 4'000'000;
  static constexpr std::size_t few_windows = 20'000;  // some hundredths of a second
  static constexpr std::int64_t most_stages_bounded = 20'000;  // the same
  static constexpr std::int64_t few_plays = std::int64_t{1} << 22;  // of stages, the same
  static constexpr std::int64_t most_stages_at_once = 500;
  static constexpr std::int64_t most_runs_listed = usual_table_bytes / std::int64_t(2 * sizeof(action));
  static constexpr std::int64_t most_exact_non_persistent = 64;
  static constexpr double most_table_slots =
      double(std::int64_t{1} << 30);                      // of two gigabytes, divided by the square of the stages
  static constexpr std::size_t most_free_steps = 50'000;  // some tenths of a second

  chain work_;
  chain_options options_;
  std::unique_ptr<chain_model> model_;  ///< where tables refer to it, whoever moves the search
  std::unique_ptr<work_meter> meter_;   ///< the same
  std::unique_ptr<persistent_optimum> optimum_;
  std::unique_ptr<non_persistent_optimum> free_optimum_;
  std::optional<chain_plan> best_;
  std::int64_t persistent_bound_ = -1, non_persistent_bound_ = -1,
               any_bound_ = -1;  ///< on the extra forward time at the budget at hand; -1 where nothing is proven
  std::optional<std::int64_t> least_;
  bool knows_least_ = false;
  double rows_ = 0;  ///< of tables; 0 until they are counted
  bool is_exact_ = false;
};

}  // namespace cairn::detail
