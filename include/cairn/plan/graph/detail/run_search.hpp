// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file run_search.hpp  Searches for faster plans of a graph by small changes of given ones.
#include <cstddef>
#include <cstdint>
#include <utility>
#include <cairn/plan/graph/detail/graph_model.hpp>
#include <cairn/plan/graph/detail/run_judge.hpp>
#include <cairn/plan/graph/detail/run_mender.hpp>
#include <cairn/plan/graph/detail/run_order.hpp>
#include <cairn/plan/graph/detail/run_shortener.hpp>
#include <cairn/schedule/work_limit.hpp>

namespace cairn::detail {

/// A search by small changes of given orders; every order that it returns keeps within the budget. Deterministic. An
/// order that exceeds the budget is mended, then shortened; then the best one is disturbed and mended repeatedly.
class run_search {
 public:
  /// \param effort  actions to visit   \param model  must outlive the search
  /// \param meter  counts the work; null for no limit. If it throws, the search keeps what it has found
  run_search(graph_model const& model, std::int64_t budget, std::uint64_t effort, work_meter* meter = nullptr)
      : judge_{model, budget, effort, meter} {}
  run_search(run_search const&) = delete;

  /// Adds an order as a start; it may exceed the budget. Returns whether an order within the budget was made from it.
  bool offer(run_order runs) {
    if (!mender_.mend(runs)) return false;
    shortener_.shorten(runs);
    take(std::move(runs));
    return true;
  }
  /// The same, but the order is mended by cuts.
  bool offer_to_cuts(run_order runs) {
    if (!mender_.mend_by_cuts(runs)) return false;
    shortener_.shorten_soon(runs);
    take(std::move(runs));
    return true;
  }
  /// Continues like `search`, with cuts and quicker steps, for this much further effort, or until no order can be
  /// faster.
  /// \param bound  no order is faster than this
  void refine(std::uint64_t effort, std::int64_t bound) {
    judge_.effort = effort;
    change_best(100 + 20 * judge_.model.count, bound, [this](run_order& runs) {
      if (judge_.draw(8) < 3) mender_.keep_a_range(runs);
      else mender_.disturb(runs);
      if (!(judge_.draw(2) == 0 ? mender_.mend_by_cuts(runs) : mender_.mend(runs))) return false;
      shortener_.shorten_soon(runs);
      return true;
    });
  }
  /// Changes the best order until the effort is spent, or until many changes in a row, more in longer graphs, have
  /// given no faster one.
  void search() {
    change_best(300 + 50 * judge_.model.count, judge_.model.least_time(), [this](run_order& runs) {
      mender_.disturb(runs);
      if (!mender_.mend(runs)) return false;
      shortener_.shorten(runs);
      return true;
    });
  }
  [[nodiscard]] bool has_found() const noexcept { return !best_.empty(); }
  /// The fastest order so far. \pre has_found()
  [[nodiscard]] run_order const& best() const noexcept { return best_; }
  /// The cost of the best order.
  [[nodiscard]] run_cost cost() const noexcept { return cost_; }

 private:
  /// Changes copies of the best order until the effort is spent, `patience` of them in a row were no faster, or none
  /// can be faster than `bound`.   \param change  returns whether the order fits the budget
  template <class Change>
  void change_best(std::size_t patience, std::int64_t bound, Change const& change) {
    std::int64_t fastest = cost_.time;
    for (std::size_t vain = 0; has_found() && judge_.effort > 0 && vain < patience && cost_.time > bound; ++vain) {
      if (cost_.time < fastest) fastest = cost_.time, vain = 0;
      run_order runs = best_;
      if (change(runs)) take(std::move(runs));
    }
  }
  void take(run_order runs) {
    run_cost const cost = judge_.cost_of(runs);
    if (cost.peak > judge_.budget || cost.time > cost_.time) return;
    cost_ = cost;
    best_ = std::move(runs);
  }

  run_judge judge_;
  run_mender mender_{judge_};
  run_shortener shortener_{judge_};
  run_order best_;
  run_cost cost_;
};

}  // namespace cairn::detail
