#pragma once
/// \file run_search.hpp  Makes plans for a graph fit a budget, and faster, by making a value again in place of keeping
/// it, or the other way round.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <random>
#include <utility>
#include <vector>
#include <cairn/plan/graph/detail/graph_model.hpp>
#include <cairn/plan/graph/detail/remake_cut.hpp>
#include <cairn/plan/graph/detail/run_order.hpp>
#include <cairn/schedule/work_limit.hpp>

namespace cairn::detail {

/// A search by small changes from given orders; every order it answers keeps within the budget. The same answers for
/// the same arguments. Where the budget is passed, a value that nobody reads at that moment is made again before its
/// next reader; which one is drawn, with a liking for many bytes and little time. Then runs are left out whose value
/// can stay instead. The best order is disturbed and mended again and again.
class run_search {
 public:
  /// \param effort  actions looked at   \param model  must outlive the search
  /// \param meter  counts the work; null where nobody does. What is found when it throws stays
  run_search(graph_model const& model, std::int64_t budget, std::uint64_t effort, work_meter* meter = nullptr)
      : model_{model}, budget_{budget}, effort_{effort}, meter_{meter}, measure_{model} {}

  /// Starts from an order, too, which need not keep within the budget. Answers whether one was found that does.
  bool offer(run_order runs) {
    if (!mend(runs)) return false;
    shorten(runs);
    take(std::move(runs));
    return true;
  }
  /// The same with the budget kept by cuts.
  bool offer_to_cuts(run_order runs) {
    if (!mend_by_cuts(runs)) return false;
    shorten_soon(runs);
    take(std::move(runs));
    return true;
  }
  /// Goes on in the same way, with cuts and quicker steps, for so much effort more, until nothing can be faster.
  /// \param bound  no order is faster
  void refine(std::uint64_t effort, std::int64_t bound) {
    effort_ = effort;
    std::size_t const patience = 100 + 20 * model_.count;
    std::int64_t fastest = cost_.time;
    for (std::size_t vain = 0; has_found() && effort_ > 0 && vain < patience && cost_.time > bound; ++vain) {
      if (cost_.time < fastest) fastest = cost_.time, vain = 0;
      run_order runs = best_;
      if (draw(8) < 3) keep_a_range(runs);
      else disturb(runs);
      if (!(draw(2) == 0 ? mend_by_cuts(runs) : mend(runs))) continue;
      shorten_soon(runs);
      take(std::move(runs));
    }
  }
  /// Changes the best order until the effort is spent, or many changes in a row, more in longer graphs, led to nothing
  /// faster.
  void search() {
    std::size_t const patience = 300 + 50 * model_.count;
    std::int64_t fastest = cost_.time;
    for (std::size_t vain = 0; has_found() && effort_ > 0 && vain < patience && cost_.time > model_.least_time();
         ++vain) {
      if (cost_.time < fastest) fastest = cost_.time, vain = 0;
      run_order runs = best_;
      disturb(runs);
      if (!mend(runs)) continue;
      shorten(runs);
      take(std::move(runs));
    }
  }
  [[nodiscard]] bool has_found() const noexcept { return !best_.empty(); }
  /// The fastest so far. \pre has_found()
  [[nodiscard]] run_order const& best() const noexcept { return best_; }
  /// What it costs.
  [[nodiscard]] run_cost cost() const noexcept { return cost_; }

 private:
  [[nodiscard]] std::size_t draw(std::size_t below) { return std::size_t(numbers_() % below); }
  void spend(std::uint64_t actions) {
    effort_ -= (std::min)(effort_, actions);
    count_work(meter_, wide(actions) * sums_for_action);
  }
  [[nodiscard]] run_cost cost_of(run_order const& runs) {
    spend(runs.size());
    return measure_.cost(runs);
  }
  void take(run_order runs) {
    run_cost const cost = cost_of(runs);
    if (cost.peak > budget_ || cost.time > cost_.time) return;
    cost_ = cost;
    best_ = std::move(runs);
  }
  /// A value that waits through a moment, and who reads it next; or the tape of an operation, and its adjoint.
  struct waiting {
    std::size_t value, reader;
    bool is_tape;
    double score;
  };
  /// Fills at_moment_ with the values and tapes that wait through action `moment`.
  void find_waiting(run_order const& runs, std::size_t moment) {
    constexpr std::size_t nobody = std::size_t(-1);
    next_reader_.assign(model_.count + 1, nobody), adjoint_.assign(model_.count + 1, nobody);
    for (std::size_t i = runs.size(); i-- > moment + 1;) {
      std::size_t const v = std::size_t(runs[i].from);
      if (runs[i].kind == action_kind::advance) next_reader_[v] = adjoint_[v] = nobody;
      else adjoint_[v] = i;
      for (std::size_t const read : measure_.reads(runs[i])) next_reader_[read] = i;
    }
    made_.assign(model_.count + 1, 0);
    for (std::size_t i = 0; i <= moment; ++i)
      if (char& times = made_[std::size_t(runs[i].from)]; runs[i].kind == action_kind::advance && times < 2) ++times;
    at_moment_.clear();
    std::vector<std::size_t> const& now = measure_.reads(runs[moment]);
    for (std::size_t v = 0; v < model_.count; ++v) {
      if (!made_[v]) continue;
      if (runs[moment].kind == action_kind::advance && std::size_t(runs[moment].from) == v) continue;
      if (adjoint_[v] != nobody && model_.tape[v] > 0) at_moment_.push_back({v, adjoint_[v], true, 0});
      if (next_reader_[v] == nobody || model_.bytes[v] == 0) continue;
      if (std::find(now.begin(), now.end(), v) == now.end())
        at_moment_.push_back({v, next_reader_[v], false, 0});
    }
  }
  /// What must run before action `reader` to have value v, which was dropped before `moment`: the inputs that do not
  /// wait through it first.
  void remake(std::size_t v, std::vector<char>& there, run_order& made) const {
    for (std::size_t const input : model_.inputs[v])
      if (!there[input]) remake(input, there, made);
    there[v] = 1;
    made.push_back(graph_actions::advance(step_index(v)));
  }
  /// Makes `what` again before its reader.
  void split(run_order& runs, std::size_t moment, waiting const& what) {
    there_.assign(model_.count + 1, 0);
    for (auto const& other : at_moment_)
      if (!other.is_tape) there_[other.value] = 1;
    if (!what.is_tape) there_[what.value] = 0;
    for (std::size_t i = moment; i < what.reader; ++i) {
      if (i == moment)
        for (std::size_t const read : measure_.reads(runs[i])) there_[read] = 1;
      if (runs[i].kind == action_kind::advance) there_[std::size_t(runs[i].from)] = 1;
    }
    run_order made;
    remake(what.value, there_, made);
    runs.insert(runs.begin() + std::ptrdiff_t(what.reader), made.begin(), made.end());
  }
  /// Splits where the budget is passed until it is kept; false where that leads nowhere.
  [[nodiscard]] bool mend(run_order& runs) {
    std::size_t const most = 16 * (model_.count + 1) + runs.size();
    for (std::size_t steps = 0; steps < most; ++steps) {
      measure_.strip(runs);
      run_cost const cost = cost_of(runs);
      if (cost.peak <= budget_) return true;
      if (cost.peak >= unreachable || runs.size() > 4 * most || effort_ == 0) return false;
      auto const& reached = measure_.reached();
      std::size_t const moment = std::size_t(
          std::find_if(reached.begin(), reached.end(), [this](std::int64_t bytes) { return bytes > budget_; }) -
          reached.begin());
      find_waiting(runs, moment);
      if (at_moment_.empty()) {  // nothing waits: what runs here must have run before, and stayed
        if (runs[moment].kind != action_kind::advance || made_[std::size_t(runs[moment].from)] < 2) return false;
        runs.erase(runs.begin() + std::ptrdiff_t(moment));
        continue;
      }
      auto const weight = [this](waiting const& one) {
        return double((one.is_tape ? model_.tape : model_.bytes)[one.value]) / (double(model_.time[one.value]) + 1e-3) *
               (0.25 + double(numbers_() % 1024) / 1024);
      };
      for (auto& one : at_moment_) one.score = weight(one);
      waiting const chosen = *std::max_element(at_moment_.begin(), at_moment_.end(),
                                               [](auto const& a, auto const& b) { return a.score < b.score; });
      split(runs, moment, chosen);
    }
    return false;
  }
  /// The same by the cheapest choice of what to keep, at the moment with the most bytes over the budget first.
  [[nodiscard]] bool mend_by_cuts(run_order& runs) {
    for (std::size_t steps = 0; steps < most_cuts; ++steps) {
      measure_.strip(runs);
      run_cost const cost = cost_of(runs);
      if (cost.peak <= budget_) return true;
      if (cost.peak >= unreachable || effort_ == 0) return false;
      auto const& reached = measure_.reached();
      std::size_t const moment = std::size_t(std::max_element(reached.begin(), reached.end()) - reached.begin());
      find_waiting(runs, moment);
      remake_moment at{model_.count};
      std::int64_t room = budget_ - cost.peak;
      for (auto const& one : at_moment_) {
        room += (one.is_tape ? model_.tape : model_.bytes)[one.value];
        if (one.is_tape) at.tape_is_read[one.value] = 1;
        else at.is_there[one.value] = at.is_read[one.value] = 1;
      }
      if (at_moment_.empty() || room < 0) return mend(runs);
      for (std::size_t const read : measure_.reads(runs[moment]))
        if (!at.is_read[read]) at.is_free[read] = 1;
      remake_cut cut{model_, at};
      (void)cut.least_time(double(room));
      spend(100 * model_.count);
      std::vector<waiting> dropped;
      for (auto const& one : at_moment_)
        if (one.is_tape ? cut.is_run(one.value) : !cut.is_kept(one.value)) dropped.push_back(one);
      if (dropped.empty()) return mend(runs);
      std::erase_if(at_moment_, [&](waiting const& one) {
        return !one.is_tape && !cut.is_kept(one.value);
      });
      std::sort(dropped.begin(), dropped.end(),
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
  /// Runs whose value was made before, in an order drawn at random.
  [[nodiscard]] std::vector<std::size_t> runs_again(run_order const& runs) {
    std::vector<std::size_t> again;
    made_.assign(model_.count + 1, 0);
    for (std::size_t i = 0; i < runs.size(); ++i) {
      if (runs[i].kind != action_kind::advance) continue;
      if (char& is_made = made_[std::size_t(runs[i].from)]; is_made) again.push_back(i);
      else is_made = 1;
    }
    for (std::size_t k = again.size(); k > 1; --k) std::swap(again[k - 1], again[draw(k)]);
    return again;
  }
  /// Leaves out runs whose value was made before and can stay.
  void shorten(run_order& runs) {
    bool again = true;
    while (again && effort_ > 0) {
      again = false;
      std::int64_t const time = measure_.cost(runs).time;
      for (std::size_t const i : runs_again(runs)) {
        run_order fewer = runs;
        fewer.erase(fewer.begin() + std::ptrdiff_t(i));
        measure_.strip(fewer);
        run_cost const cost = cost_of(fewer);
        if (cost.peak > budget_ || cost.time >= time) continue;
        runs = std::move(fewer);
        again = true;
        break;
      }
    }
  }
  /// As `shorten`, but looks first whether there is room for the value while it would wait.
  void shorten_soon(run_order& runs) {
    for (bool again = true; again && effort_ > 0;) {
      again = false;
      std::int64_t const time = cost_of(runs).time;
      reached_ = measure_.reached();
      find_gaps(runs);
      for (auto const& one : gaps_) {
        if (!has_room(one)) continue;
        run_order fewer = runs;
        fewer.erase(fewer.begin() + std::ptrdiff_t(one.run));
        measure_.strip(fewer);
        run_cost const cost = cost_of(fewer);
        if (cost.peak > budget_ || cost.time >= time) continue;
        runs = std::move(fewer);
        again = true;
        break;
      }
    }
  }
  /// A run whose value was made before, and from where to where more would have to wait without it.
  struct gap {
    std::size_t run, made, read, until;
    std::int64_t bytes, tape;
  };
  /// Fills gaps_ in an order drawn at random.
  void find_gaps(run_order const& runs) {
    constexpr std::size_t nowhere = std::size_t(-1);
    made_at_.assign(model_.count + 1, nowhere);
    gaps_.clear();
    std::size_t first = 0;  // of the runs in a row that are looked at
    for (std::size_t i = 0; i < runs.size(); ++i) {
      if (runs[i].kind != action_kind::advance) {
        first = i + 1;
        continue;
      }
      std::size_t const v = std::size_t(runs[i].from), before = std::exchange(made_at_[v], i);
      if (before == nowhere) continue;
      gaps_.push_back({i, before, measure_.last_read(before), first, model_.bytes[v],
                       measure_.makes_tape(i) ? model_.tape[v] : 0});
    }
    for (std::size_t k = gaps_.size(); k > 1; --k) std::swap(gaps_[k - 1], gaps_[draw(k)]);
  }
  [[nodiscard]] bool has_room(gap const& of) {
    spend(1 + (of.until - std::min(of.until, of.made)) / 16);
    auto const most = [this](std::size_t from, std::size_t to) {
      std::int64_t bytes = 0;
      for (std::size_t i = from; i < to; ++i) bytes = (std::max)(bytes, reached_[i]);
      return bytes;
    };
    return most(of.read + 1, of.until) + of.bytes + of.tape <= budget_ &&
           (of.tape == 0 || most(of.made, std::min(of.read + 1, of.until)) + of.tape <= budget_);
  }
  /// Leaves out the runs of some operations in a row whose value was made before.
  void keep_a_range(run_order& runs) {
    std::size_t const length = 2 + draw(18), from = draw(model_.count), to = from + length;
    made_.assign(model_.count + 1, 0);
    std::erase_if(runs, [&](action const& a) {
      std::size_t const v = std::size_t(a.from);
      if (a.kind != action_kind::advance) return false;
      return std::exchange(made_[v], char{1}) != 0 && v >= from && v < to;
    });
  }
  void disturb(run_order& runs) {
    std::size_t const changes = 1 + draw(3);
    for (std::size_t k = 0; k < changes; ++k) {
      if (draw(2) == 0) {
        std::vector<std::size_t> const again = runs_again(runs);
        if (!again.empty()) runs.erase(runs.begin() + std::ptrdiff_t(again.front()));
      } else {
        std::size_t const moment = draw(runs.size());
        find_waiting(runs, moment);
        if (at_moment_.empty()) continue;
        split(runs, moment, at_moment_[draw(at_moment_.size())]);
      }
    }
  }

  static constexpr std::size_t most_cuts = 200;
  static constexpr unsigned sums_for_action = 10;  ///< as long as it takes to look at one

  graph_model const& model_;
  std::int64_t budget_;
  std::uint64_t effort_;
  work_meter* meter_;
  run_measure measure_;
  std::mt19937_64 numbers_{20240607};
  run_order best_;
  run_cost cost_;
  std::vector<waiting> at_moment_;
  std::vector<std::size_t> next_reader_, adjoint_;
  std::vector<char> made_, there_;
  std::vector<std::size_t> made_at_;
  std::vector<std::int64_t> reached_;
  std::vector<gap> gaps_;
};

}  // namespace cairn::detail
