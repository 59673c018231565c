#pragma once
/// \file run_search.hpp  Searches for faster plans of a graph by small changes from given ones.
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

/// A search by small changes from given orders; every order it answers keeps within the budget. The same answers for
/// the same arguments. An order is mended where it passes the budget, and shortened; the best one is disturbed and
/// mended again and again.
class run_search {
 public:
  /// \param effort  actions looked at   \param model  must outlive the search
  /// \param meter  counts the work; null where nobody does. What is found when it throws stays
  run_search(graph_model const& model, std::int64_t budget, std::uint64_t effort, work_meter* meter = nullptr)
      : judge_{model, budget, effort, meter} {}
  run_search(run_search const&) = delete;

  /// Starts from an order, too, which need not keep within the budget. Answers whether one was found that does.
  bool offer(run_order runs) {
    if (!mender_.mend(runs)) return false;
    shortener_.shorten(runs);
    take(std::move(runs));
    return true;
  }
  /// The same with the budget kept by cuts.
  bool offer_to_cuts(run_order runs) {
    if (!mender_.mend_by_cuts(runs)) return false;
    shortener_.shorten_soon(runs);
    take(std::move(runs));
    return true;
  }
  /// Goes on in the same way, with cuts and quicker steps, for so much effort more, until nothing can be faster.
  /// \param bound  no order is faster
  void refine(std::uint64_t effort, std::int64_t bound) {
    judge_.effort = effort;
    std::size_t const patience = 100 + 20 * judge_.model.count;
    std::int64_t fastest = cost_.time;
    for (std::size_t vain = 0; has_found() && judge_.effort > 0 && vain < patience && cost_.time > bound; ++vain) {
      if (cost_.time < fastest) fastest = cost_.time, vain = 0;
      run_order runs = best_;
      if (judge_.draw(8) < 3) mender_.keep_a_range(runs);
      else mender_.disturb(runs);
      if (!(judge_.draw(2) == 0 ? mender_.mend_by_cuts(runs) : mender_.mend(runs))) continue;
      shortener_.shorten_soon(runs);
      take(std::move(runs));
    }
  }
  /// Changes the best order until the effort is spent, or many changes in a row, more in longer graphs, led to nothing
  /// faster.
  void search() {
    std::size_t const patience = 300 + 50 * judge_.model.count;
    std::int64_t fastest = cost_.time;
    std::int64_t const bound = judge_.model.least_time();
    for (std::size_t vain = 0; has_found() && judge_.effort > 0 && vain < patience && cost_.time > bound; ++vain) {
      if (cost_.time < fastest) fastest = cost_.time, vain = 0;
      run_order runs = best_;
      mender_.disturb(runs);
      if (!mender_.mend(runs)) continue;
      shortener_.shorten(runs);
      take(std::move(runs));
    }
  }
  [[nodiscard]] bool has_found() const noexcept { return !best_.empty(); }
  /// The fastest so far. \pre has_found()
  [[nodiscard]] run_order const& best() const noexcept { return best_; }
  /// What it costs.
  [[nodiscard]] run_cost cost() const noexcept { return cost_; }

 private:
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
