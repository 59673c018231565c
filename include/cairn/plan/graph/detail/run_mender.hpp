// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file run_mender.hpp  Makes plans for a graph fit a budget: values are made again instead of kept.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <random>
#include <utility>
#include <vector>
#include <cairn/plan/graph/detail/graph_model.hpp>
#include <cairn/plan/graph/detail/remake_cut.hpp>
#include <cairn/plan/graph/detail/run_order.hpp>
#include <cairn/schedule/work_limit.hpp>

namespace cairn::detail {

/// Judges orders for the parts of a search. Deterministic: the same calls in the same order give the same results.
struct run_judge {
  static constexpr unsigned sums_for_action = 10;  ///< a visit of an action takes as long as this many sums

  graph_model const& model;  ///< must outlive this object
  std::int64_t budget;
  std::uint64_t effort;      ///< actions that may still be visited
  work_meter* meter;         ///< counts the work; null for no limit
  run_measure measure{model};
  std::mt19937_64 numbers{20240607};

  [[nodiscard]] std::size_t draw(std::size_t below) { return std::size_t(numbers() % below); }
  void spend(std::uint64_t actions) {
    effort -= (std::min)(effort, actions);
    count_work(meter, wide(actions) * sums_for_action);
  }
  [[nodiscard]] run_cost cost_of(run_order const& runs) {
    spend(runs.size());
    return measure.cost(runs);
  }
  /// Runs whose value was made before, in random order.
  [[nodiscard]] std::vector<std::size_t> runs_again(run_order const& runs) {
    std::vector<std::size_t> again;
    std::vector<char> made(model.count + 1, 0);
    for (std::size_t i = 0; i < runs.size(); ++i) {
      if (runs[i].kind != action_kind::advance) continue;
      if (char& is_made = made[std::size_t(runs[i].from)]; is_made) again.push_back(i);
      else is_made = 1;
    }
    for (std::size_t k = again.size(); k > 1; --k) std::swap(again[k - 1], again[draw(k)]);
    return again;
  }
};

/// At a moment whose bytes exceed the budget, something that is not read then is dropped and made again before its next
/// reader: one value or tape drawn at random, where many bytes and little time make a draw more likely, or those that
/// the cheapest cut names.
class run_mender {
 public:
  /// \param judge  must outlive this object
  explicit run_mender(run_judge& judge) : judge_{judge} {}

  /// Drops and makes again until the order keeps within the budget; false if that does not succeed.
  [[nodiscard]] bool mend(run_order& runs) {
    std::size_t const most = 16 * (judge_.model.count + 1) + runs.size();
    for (std::size_t steps = 0; steps < most; ++steps) {
      judge_.measure.strip(runs);
      run_cost const cost = judge_.cost_of(runs);
      if (cost.peak <= judge_.budget) return true;
      if (cost.peak >= unreachable || runs.size() > 4 * most || judge_.effort == 0) return false;
      auto const& bytes_at = judge_.measure.bytes_at();
      auto const is_over = [this](std::int64_t bytes) { return bytes > judge_.budget; };
      auto const moment = std::size_t(std::find_if(bytes_at.begin(), bytes_at.end(), is_over) - bytes_at.begin());
      find_waiting(runs, moment);
      if (at_moment_.empty()) {  // nothing can be dropped: remove a run whose value an earlier run made
        if (runs[moment].kind != action_kind::advance || made_[std::size_t(runs[moment].from)] < 2) return false;
        runs.erase(runs.begin() + std::ptrdiff_t(moment));
        continue;
      }
      auto const weight = [this](waiting const& one) {
        std::int64_t const bytes = (one.is_tape ? judge_.model.tape : judge_.model.bytes)[one.value];
        return double(bytes) / (double(judge_.model.time[one.value]) + 1e-3) *
               (0.25 + double(judge_.draw(1024)) / 1024);
      };
      for (auto& one : at_moment_) one.score = weight(one);
      waiting const chosen = *std::max_element(at_moment_.begin(), at_moment_.end(),
                                               [](auto const& a, auto const& b) { return a.score < b.score; });
      split(runs, moment, chosen);
    }
    return false;
  }
  /// The same, but drops what the cheapest choice does not keep, and begins at the moment with the most bytes over the
  /// budget.
  [[nodiscard]] bool mend_by_cuts(run_order& runs) {
    for (std::size_t steps = 0; steps < most_cuts; ++steps) {
      judge_.measure.strip(runs);
      run_cost const cost = judge_.cost_of(runs);
      if (cost.peak <= judge_.budget) return true;
      if (cost.peak >= unreachable || judge_.effort == 0) return false;
      auto const& bytes_at = judge_.measure.bytes_at();
      auto const moment = std::size_t(std::max_element(bytes_at.begin(), bytes_at.end()) - bytes_at.begin());
      find_waiting(runs, moment);
      remake_moment at{judge_.model.count};
      std::int64_t free_bytes = judge_.budget - cost.peak;
      for (auto const& one : at_moment_) {
        free_bytes += (one.is_tape ? judge_.model.tape : judge_.model.bytes)[one.value];
        if (one.is_tape) at.tape_is_read[one.value] = 1;
        else at.is_there[one.value] = at.is_read[one.value] = 1;
      }
      if (at_moment_.empty() || free_bytes < 0) return mend(runs);
      for (std::size_t const read : judge_.measure.reads(runs[moment]))
        if (!at.is_read[read]) at.is_free[read] = 1;
      remake_cut cut{judge_.model, at};
      (void)cut.least_time(double(free_bytes));
      judge_.spend(100 * judge_.model.count);
      std::vector<waiting> dropped;
      for (auto const& one : at_moment_)
        if (one.is_tape ? cut.is_run(one.value) : !cut.is_kept(one.value)) dropped.push_back(one);
      if (dropped.empty()) return mend(runs);
      std::erase_if(at_moment_, [&](waiting const& one) {
        return !one.is_tape && !cut.is_kept(one.value);
      });
      std::stable_sort(dropped.begin(), dropped.end(),
                [](auto const& a, auto const& b) { return a.reader < b.reader; });
      std::size_t more = 0;
      for (waiting one : dropped) {
        one.reader += more;
        std::size_t const before = runs.size();
        split(runs, moment, one);
        more += runs.size() - before;
      }
    }
    return mend(runs);
  }
  /// Removes repeated runs of some operations in a row.
  void keep_a_range(run_order& runs) {
    std::size_t const length = 2 + judge_.draw(18), from = judge_.draw(judge_.model.count), to = from + length;
    made_.assign(judge_.model.count + 1, 0);
    std::erase_if(runs, [&](action const& a) {
      std::size_t const v = std::size_t(a.from);
      if (a.kind != action_kind::advance) return false;
      return std::exchange(made_[v], char{1}) != 0 && v >= from && v < to;
    });
  }
  /// Changes an order in one to three places: keeps a value, or makes one again.
  void disturb(run_order& runs) {
    std::size_t const changes = 1 + judge_.draw(3);
    for (std::size_t k = 0; k < changes; ++k) {
      if (judge_.draw(2) == 0) {
        std::vector<std::size_t> const again = judge_.runs_again(runs);
        if (!again.empty()) runs.erase(runs.begin() + std::ptrdiff_t(again.front()));
      } else {
        std::size_t const moment = judge_.draw(runs.size());
        find_waiting(runs, moment);
        if (at_moment_.empty()) continue;
        split(runs, moment, at_moment_[judge_.draw(at_moment_.size())]);
      }
    }
  }

 private:
  static constexpr std::size_t most_cuts = 200;

  /// A value that waits through a moment, and its next reader; or a tape that waits, and the adjoint that reads it.
  struct waiting {
    std::size_t value, reader;
    bool is_tape;
    double score;
  };
  /// Fills at_moment_ with the values and tapes that exist during action `moment`, are not read by it and are read
  /// later.
  void find_waiting(run_order const& runs, std::size_t moment) {
    constexpr std::size_t nobody = std::size_t(-1);
    next_reader_.assign(judge_.model.count + 1, nobody), adjoint_.assign(judge_.model.count + 1, nobody);
    for (std::size_t i = runs.size(); i-- > moment + 1;) {
      std::size_t const v = std::size_t(runs[i].from);
      if (runs[i].kind == action_kind::advance) next_reader_[v] = adjoint_[v] = nobody;
      else adjoint_[v] = i;
      for (std::size_t const read : judge_.measure.reads(runs[i])) next_reader_[read] = i;
    }
    made_.assign(judge_.model.count + 1, 0);
    for (std::size_t i = 0; i <= moment; ++i)
      if (char& times = made_[std::size_t(runs[i].from)]; runs[i].kind == action_kind::advance && times < 2) ++times;
    at_moment_.clear();
    std::vector<std::size_t> const& now = judge_.measure.reads(runs[moment]);
    for (std::size_t v = 0; v < judge_.model.count; ++v) {
      if (!made_[v]) continue;
      if (runs[moment].kind == action_kind::advance && std::size_t(runs[moment].from) == v) continue;
      if (adjoint_[v] != nobody && judge_.model.tape[v] > 0) at_moment_.push_back({v, adjoint_[v], true, 0});
      if (next_reader_[v] == nobody || judge_.model.bytes[v] == 0) continue;
      if (std::find(now.begin(), now.end(), v) == now.end())
        at_moment_.push_back({v, next_reader_[v], false, 0});
    }
  }
  /// Appends the runs that make value v again: first those of its inputs that are not there.
  void remake(std::size_t v, std::vector<char>& there, run_order& made) const {
    for (std::size_t const input : judge_.model.inputs[v])
      if (!there[input]) remake(input, there, made);
    there[v] = 1;
    made.push_back(graph_actions::advance(step_index(v)));
  }
  /// Drops `what` at `moment` and makes it again before its reader.
  void split(run_order& runs, std::size_t moment, waiting const& what) {
    there_.assign(judge_.model.count + 1, 0);
    for (auto const& other : at_moment_)
      if (!other.is_tape) there_[other.value] = 1;
    if (!what.is_tape) there_[what.value] = 0;
    for (std::size_t i = moment; i < what.reader; ++i) {
      if (i == moment)
        for (std::size_t const read : judge_.measure.reads(runs[i])) there_[read] = 1;
      if (runs[i].kind == action_kind::advance) there_[std::size_t(runs[i].from)] = 1;
    }
    run_order made;
    remake(what.value, there_, made);
    runs.insert(runs.begin() + std::ptrdiff_t(what.reader), made.begin(), made.end());
  }

  run_judge& judge_;
  std::vector<waiting> at_moment_;
  std::vector<std::size_t> next_reader_, adjoint_;
  std::vector<char> made_, there_;
};

}  // namespace cairn::detail
