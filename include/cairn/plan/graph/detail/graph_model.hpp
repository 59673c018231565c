// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file graph_model.hpp  A checked graph with the sums that planners read repeatedly, and a plan played on
/// its numbers.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <numeric>
#include <span>
#include <vector>
#include <cairn/core/action.hpp>
#include <cairn/plan/graph/graph_cost.hpp>
#include <cairn/rules/detail/graph_walk.hpp>
#include <cairn/rules/operation_graph.hpp>

namespace cairn::detail {

/// Larger than any sum of a graph; four times this value does not overflow.
inline constexpr std::int64_t unreachable = (std::numeric_limits<std::int64_t>::max)() / 4;

/// The graph with the loss as operation `count`: its value has no bytes, it takes no time forward, and its adjoint is
/// the loss.
struct graph_model : graph_reads {
  std::vector<std::int64_t> bytes, time, work, tape, adjoint, adjoint_time, adjoint_work;  ///< of 0..n
  std::vector<std::int64_t> copy;  ///< of 0..n: bytes of a copy of the states that it uses
  bool has_copies = false;         ///< whether any of these is not 0
  std::vector<std::int64_t>
      open;  ///< open[p], 0..n+1: bytes of the adjoints that exist after those of p..n have run
  std::vector<std::int64_t> back_work;  ///< of 0..n: bytes besides values and tapes while the adjoint of v runs

  /// \throws invalid_plan, overflow_error   as `check_graph` does
  graph_model(operation_graph const& graph, char const* who) : graph_reads{graph, who} {
    std::size_t const all = count + 1;
    for (auto* list : {&bytes, &time, &work, &tape, &adjoint, &adjoint_time, &adjoint_work, &copy, &back_work})
      list->assign(all, 0);
    for (std::size_t v = 0; v < count; ++v) {
      graph_operation const& of = graph.operations[v];
      bytes[v] = of.bytes, time[v] = of.time, work[v] = of.work, tape[v] = of.tape_bytes;
      adjoint[v] = of.adjoint_bytes < 0 ? of.bytes : of.adjoint_bytes;
      adjoint_time[v] = of.adjoint_time, adjoint_work[v] = of.adjoint_work;
      copy[v] = of.copy_bytes;
      has_copies = has_copies || of.copy_bytes > 0;
    }
    adjoint_time[count] = graph.loss_time, adjoint_work[count] = graph.loss_work;
    open.assign(all + 1, 0);
    for (std::size_t p = 0; p <= count; ++p)
      for (std::size_t v = 0; v < p; ++v)
        if (last_reader[v] >= p) open[p] += adjoint[v];
    for (std::size_t v = 0; v <= count; ++v) back_work[v] = open[v] + adjoint[v] + adjoint_work[v];
  }

  /// Time of a sweep that runs each operation and each adjoint once; no sweep is faster.
  [[nodiscard]] std::int64_t least_time() const noexcept {
    std::int64_t sum = 0;
    for (std::size_t v = 0; v <= count; ++v) sum += time[v] + adjoint_time[v];
    return sum;
  }
  /// Bytes of all tapes.
  [[nodiscard]] std::int64_t tape_bytes() const noexcept {
    return std::accumulate(tape.begin(), tape.end(), std::int64_t{0});
  }
  /// Whether at most one value is read across the gap before operation p.
  [[nodiscard]] bool is_cut(std::size_t p) const noexcept {
    std::size_t crossing = 0;
    for (std::size_t v = 0; v < p; ++v) crossing += last_reader[v] >= p;
    return crossing <= 1;
  }
};

/// Plays a plan on numbers of values and tapes, and counts bytes and times. One object plays one sweep.
class graph_interpreter {
 public:
  /// \param model  must outlive the interpreter   \param actions  all that it will obey: only what runs more than once
  ///   keeps a copy of the states that it uses
  graph_interpreter(graph_model const& model, std::span<action const> actions, char const* who)
      : model_{model}, walk_{model, who} {
    if (!model.has_copies) return;
    runs_left_.assign(model.count, 0), has_copy_.assign(model.count, 0);
    for (action const& a : actions)
      if (is_run(a) && a.from >= 0 && std::size_t(a.from) < model.count) ++runs_left_[std::size_t(a.from)];
  }

  /// \throws invalid_schedule   if the action needs a value, tape or adjoint that is not there
  void obey(action const& a) {
    walk_.check(a);
    std::size_t const v = std::size_t(a.from);
    switch (a.kind) {
      case action_kind::advance: run(v); break;
      case action_kind::record:
        forget(v);
        live_ += model_.tape[v], tapes_ += model_.tape[v];
        run(v);
        break;
      case action_kind::drop:
        if (a.what == content::tape) forget_tape(v);
        else forget(v);
        break;
      case action_kind::turn: go_back(v); break;
      case action_kind::reverse:
        go_back(v);
        forget(v);
        forget_tape(v);
        break;
      default: break;
    }
    walk_.apply(a);
  }
  /// Bytes during the last action that ran something.
  [[nodiscard]] std::int64_t bytes_at_last_run() const noexcept { return bytes_at_last_run_; }
  /// Bytes of the values, tapes and copies that are kept.
  [[nodiscard]] std::int64_t kept() const noexcept { return live_; }
  /// \throws invalid_schedule   if an adjoint is missing
  [[nodiscard]] graph_cost finish() {
    walk_.finish();
    cost_.extra_forward = cost_.makespan - model_.least_time();
    return cost_;
  }

 private:
  [[nodiscard]] static bool is_run(action const& a) noexcept {
    return a.kind == action_kind::advance || a.kind == action_kind::record;
  }
  void run(std::size_t v) noexcept {
    live_ += model_.bytes[v];
    std::int64_t work = model_.work[v];
    bool const copies = model_.copy[v] > 0 && !runs_left_.empty();
    if (copies) {
      if (has_copy_[v]) work += model_.copy[v];  // the states as they are now
      else if (runs_left_[v] > 1) live_ += model_.copy[v], has_copy_[v] = 1;
    }
    reach(work, model_.open[std::size_t(walk_.remaining())]);
    if (copies && --runs_left_[v] == 0 && has_copy_[v]) live_ -= model_.copy[v];
    cost_.makespan += model_.time[v];
    ++cost_.runs;
  }
  void go_back(std::size_t v) noexcept {
    reach(model_.adjoint_work[v], model_.back_work[v] - model_.adjoint_work[v]);
    cost_.makespan += model_.adjoint_time[v];
  }
  void forget(std::size_t v) noexcept {
    if (walk_.holds_value(step_index(v))) live_ -= model_.bytes[v];
  }
  void forget_tape(std::size_t v) noexcept {
    if (walk_.holds_tape(step_index(v))) live_ -= model_.tape[v], tapes_ -= model_.tape[v];
  }
  void reach(std::int64_t work, std::int64_t adjoints) noexcept {
    bytes_at_last_run_ = live_ + work + adjoints;
    if (bytes_at_last_run_ > cost_.peak)
      cost_.peak = bytes_at_last_run_, cost_.peak_tapes = tapes_, cost_.peak_adjoints = adjoints;
  }

  graph_model const& model_;
  graph_walk walk_;
  std::vector<std::size_t> runs_left_;  ///< of each operation, if any has a copy
  std::vector<char> has_copy_;
  std::int64_t live_ = 0, tapes_ = 0;  ///< bytes of kept values, tapes and copies, and of tapes alone
  std::int64_t bytes_at_last_run_ = 0;
  graph_cost cost_;
};

/// Plays a whole plan.   \throws invalid_schedule   at the first invalid action, or if the plan ends early
[[nodiscard]] inline graph_cost replay(graph_model const& model, std::span<action const> actions, char const* who) {
  graph_interpreter interpreter{model, actions, who};
  for (auto const& a : actions) interpreter.obey(a);
  return interpreter.finish();
}

}  // namespace cairn::detail
