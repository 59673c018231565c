// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file run_order.hpp  A plan for a graph as the order of its runs; the drops follow from it.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>
#include <cairn/plan/graph/detail/graph_model.hpp>
#include <cairn/rules/operation_graph.hpp>

namespace cairn::detail {

/// The actions of a whole sweep without drops. For any such order it is best to drop a value after its last reader
/// before it is made again, and to make a tape at the operation's last run before its adjoint.
using run_order = std::vector<action>;

/// Bytes and time of an order.
struct run_cost {
  std::int64_t peak = unreachable, time = unreachable;
};

/// Measures one order after another, in memory that it keeps.
class run_measure {
 public:
  explicit run_measure(graph_model const& model) : model_{model}, at_(model.count + 1) {}

  /// Removes runs whose value and tape nothing reads, except the first runs of operations that states outside the graph
  /// put in order.
  void strip(run_order& runs) {
    find_ordered(runs);
    std::fill(at_.begin(), at_.end(), 0);  // whether a later action reads the value, or the tape
    is_read_.assign(runs.size(), 1);
    for (std::size_t i = runs.size(); i-- > 0;) {
      std::size_t const v = std::size_t(runs[i].from);
      if (runs[i].kind == action_kind::advance) {
        is_read_[i] = char(at_[v] != 0 || is_ordered_[i]);
        at_[v] = 0;
      } else if (model_.tape[v] > 0) {
        at_[v] = 1;
      }
      if (is_read_[i])
        for (std::size_t const read : reads(runs[i])) at_[read] = 1;
    }
    std::size_t size = 0;
    for (std::size_t i = 0; i < runs.size(); ++i)
      if (is_read_[i]) runs[size++] = runs[i];
    runs.resize(size);
  }
  /// Peak and time; unreachable if a value is read that has not been made. \pre every adjoint runs, in order
  [[nodiscard]] run_cost cost(run_order const& runs) {
    if (!find_last_reads(runs)) return {};
    run_cost sum{0, 0};
    std::int64_t live = 0;
    std::size_t remaining = model_.count + 1;
    release_.assign(runs.size(), 0), bytes_at_.resize(runs.size());
    find_copies(runs);
    for (std::size_t i = 0; i < runs.size(); ++i) {
      std::size_t const v = std::size_t(runs[i].from);
      if (runs[i].kind == action_kind::advance) {
        live += model_.bytes[v];
        release_[last_[i]] += model_.bytes[v];
        if (adjoint_[i] != 0) {
          live += model_.tape[v];
          release_[adjoint_[i]] += model_.tape[v];
        }
        bytes_at_[i] = live + model_.work[v] + model_.open[remaining];
        if (model_.copy[v] > 0 && last_run_[v] != first_run_[v]) {
          if (i == first_run_[v]) live += model_.copy[v], release_[last_run_[v]] += model_.copy[v];
          bytes_at_[i] += model_.copy[v];  // of the states at the first run, or as they are now
        }
        sum.time += model_.time[v];
      } else {
        bytes_at_[i] = live + model_.back_work[v];
        sum.time += model_.adjoint_time[v];
        remaining = v;
      }
      sum.peak = (std::max)(sum.peak, bytes_at_[i]);
      live -= release_[i];
    }
    return sum;
  }
  /// The plan: each value is dropped after its last reader before it is made again. \pre everything is made before it
  /// is read
  [[nodiscard]] std::vector<action> with_drops(run_order runs) {
    strip(runs);
    (void)find_last_reads(runs);
    std::vector<std::vector<step_index>> drops(runs.size());
    for (std::size_t i = 0; i < runs.size(); ++i) {
      if (runs[i].kind != action_kind::advance) continue;
      action const& reader = runs[last_[i]];
      bool const is_forgotten_there = reader.kind == action_kind::reverse && reader.from == runs[i].from;
      if (!is_forgotten_there) drops[last_[i]].push_back(runs[i].from);
    }
    std::vector<action> actions;
    for (std::size_t i = 0; i < runs.size(); ++i) {
      actions.push_back(adjoint_[i] != 0 ? graph_actions::record(runs[i].from) : runs[i]);
      for (step_index const v : drops[i]) actions.push_back(graph_actions::drop(v));
    }
    return actions;
  }
  /// The values that an action reads.
  [[nodiscard]] std::vector<std::size_t> const& reads(action const& a) const noexcept {
    return (a.kind == action_kind::advance ? model_.inputs : model_.needs)[std::size_t(a.from)];
  }
  /// Bytes during each action, by the last `cost`.
  [[nodiscard]] std::vector<std::int64_t> const& bytes_at() const noexcept { return bytes_at_; }
  /// The last action that reads the result of run i, i if there is none, by the last `cost`.
  [[nodiscard]] std::size_t last_read(std::size_t i) const noexcept { return last_[i]; }
  /// Whether run i makes the tape that the adjoint reads, by the last `cost`.
  [[nodiscard]] bool makes_tape(std::size_t i) const noexcept { return adjoint_[i] != 0; }

 private:
  /// Marks the first runs that have a place among others.
  void find_ordered(run_order const& runs) {
    is_ordered_.assign(runs.size(), 0);
    if (!model_.has_order) return;
    std::fill(at_.begin(), at_.end(), 0);
    for (std::size_t i = 0; i < runs.size(); ++i)
      if (std::size_t const v = std::size_t(runs[i].from); runs[i].kind == action_kind::advance && at_[v]++ == 0)
        is_ordered_[i] = model_.is_ordered[v];
  }
  /// Finds the first and the last run of each operation, if any has a copy of states.
  void find_copies(run_order const& runs) {
    if (!model_.has_copies) return;
    first_run_.assign(model_.count, runs.size()), last_run_ = first_run_;
    for (std::size_t i = 0; i < runs.size(); ++i) {
      if (runs[i].kind != action_kind::advance) continue;
      std::size_t const v = std::size_t(runs[i].from);
      last_run_[v] = i;
      if (first_run_[v] == runs.size()) first_run_[v] = i;
    }
  }
  /// For each run of an order, finds the last action that reads its value (the run itself if there is none) and the
  /// adjoint that reads its tape (0 if there is none); false if something is read that has not been made.
  [[nodiscard]] bool find_last_reads(run_order const& runs) {
    constexpr std::size_t npos = std::size_t(-1);
    std::fill(at_.begin(), at_.end(), npos);  // the last run that made each value
    last_.resize(runs.size()), adjoint_.assign(runs.size(), 0);
    for (std::size_t i = 0; i < runs.size(); ++i) {
      for (std::size_t const read : reads(runs[i])) {
        if (at_[read] == npos) return false;
        last_[at_[read]] = i;
      }
      last_[i] = i;
      std::size_t const v = std::size_t(runs[i].from);
      if (runs[i].kind == action_kind::advance) {
        at_[v] = i;
      } else if (model_.tape[v] > 0) {
        if (at_[v] == npos) return false;
        adjoint_[at_[v]] = i;
      }
    }
    return true;
  }

  graph_model const& model_;
  std::vector<std::size_t> at_, last_, adjoint_, first_run_, last_run_;
  std::vector<char> is_read_, is_ordered_;
  std::vector<std::int64_t> release_, bytes_at_;
};

/// Every operation once, in order, then the adjoints.
[[nodiscard]] inline run_order store_all_runs(graph_model const& model) {
  run_order runs;
  step_index const count = step_index(model.count);
  for (step_index v = 0; v < count; ++v) runs.push_back(graph_actions::advance(v));
  runs.push_back(graph_actions::turn(count));
  for (step_index v = count; v-- > 0;) runs.push_back(graph_actions::reverse(v));
  return runs;
}

}  // namespace cairn::detail
