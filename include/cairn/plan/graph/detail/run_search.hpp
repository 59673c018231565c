// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file run_search.hpp  Searches for faster plans of a graph by small changes of given ones.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>
#include <cairn/plan/graph/detail/graph_model.hpp>
#include <cairn/plan/graph/detail/run_mender.hpp>
#include <cairn/plan/graph/detail/run_order.hpp>
#include <cairn/schedule/work_limit.hpp>

namespace cairn::detail {

/// Shortens orders until no further run can be removed.
class run_shortener {
 public:
  /// \param judge  must outlive this object
  explicit run_shortener(run_judge& judge) : judge_{judge} {}

  /// Removes repeated runs whose value can stay.
  void shorten(run_order& runs) {
    for (bool again = true; again && judge_.effort > 0;) {
      std::int64_t const time = judge_.measure.cost(runs).time;
      auto const repeated = judge_.runs_again(runs);
      again = std::any_of(repeated.begin(), repeated.end(), [&](std::size_t i) { return remove(runs, i, time); });
    }
  }
  /// The same, but first checks whether the value fits the budget while it waits.
  void shorten_soon(run_order& runs) {
    for (bool again = true; again && judge_.effort > 0;) {
      std::int64_t const time = judge_.cost_of(runs).time;
      bytes_at_ = judge_.measure.bytes_at();
      find_gaps(runs);
      again = std::any_of(gaps_.begin(), gaps_.end(),
                          [&](gap const& one) { return fits(one) && remove(runs, one.run, time); });
    }
  }

 private:
  /// A repeated run, and the range of actions in which its value would have to wait without it.
  struct gap {
    std::size_t run, made, read, until;
    std::int64_t bytes, tape;
  };
  /// Removes run i unless the order then exceeds the budget, or does not take less than `time`.
  bool remove(run_order& runs, std::size_t i, std::int64_t time) {
    run_order fewer = runs;
    fewer.erase(fewer.begin() + std::ptrdiff_t(i));
    judge_.measure.strip(fewer);
    run_cost const cost = judge_.cost_of(fewer);
    if (cost.peak > judge_.budget || cost.time >= time) return false;
    runs = std::move(fewer);
    return true;
  }
  /// Fills gaps_, in random order.
  void find_gaps(run_order const& runs) {
    constexpr std::size_t npos = std::size_t(-1);
    made_at_.assign(judge_.model.count + 1, npos);
    gaps_.clear();
    std::size_t first = 0;  // of the current sequence of runs
    for (std::size_t i = 0; i < runs.size(); ++i) {
      if (runs[i].kind != action_kind::advance) {
        first = i + 1;
        continue;
      }
      std::size_t const v = std::size_t(runs[i].from), before = std::exchange(made_at_[v], i);
      if (before == npos) continue;
      gaps_.push_back({i, before, judge_.measure.last_read(before), first, judge_.model.bytes[v],
                       judge_.measure.makes_tape(i) ? judge_.model.tape[v] : 0});
    }
    for (std::size_t k = gaps_.size(); k > 1; --k) std::swap(gaps_[k - 1], gaps_[judge_.draw(k)]);
  }
  [[nodiscard]] bool fits(gap const& of) {
    judge_.spend(1 + (of.until - (std::min)(of.until, of.made)) / 16);
    auto const most = [this](std::size_t from, std::size_t to) {
      std::int64_t bytes = 0;
      for (std::size_t i = from; i < to; ++i) bytes = (std::max)(bytes, bytes_at_[i]);
      return bytes;
    };
    return most(of.read + 1, of.until) + of.bytes + of.tape <= judge_.budget &&
           (of.tape == 0 || most(of.made, (std::min)(of.read + 1, of.until)) + of.tape <= judge_.budget);
  }

  run_judge& judge_;
  std::vector<std::size_t> made_at_;
  std::vector<std::int64_t> bytes_at_;
  std::vector<gap> gaps_;
};

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
