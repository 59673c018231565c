// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file best_chain_plan.hpp  The fastest plan found so far for a chain at one budget, and what is proven about it.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>
#include <cairn/plan/chain/chain_options.hpp>
#include <cairn/plan/chain/chain_plan.hpp>
#include <cairn/plan/chain/detail/chain_interpreter.hpp>
#include <cairn/plan/chain/detail/chain_model.hpp>
#include <cairn/plan/chain/detail/lower_bounds.hpp>
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

}  // namespace cairn::detail
