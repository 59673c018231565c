// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file graph_profiler.hpp  Profiles graphs of operations, chains of stages, and loops: time, memory and use of each
/// part.
#include <algorithm>
#include <chrono>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>
#include <cairn/core/error.hpp>
#include <cairn/core/event.hpp>
#include <cairn/plan/graph/detail/graph_model.hpp>
#include <cairn/plan/graph/detail/run_order.hpp>
#include <cairn/profile/memory_source.hpp>
#include <cairn/profile/profile_stats.hpp>
#include <cairn/profile/profiled_sweep.hpp>
#include <cairn/rules/chain.hpp>
#include <cairn/rules/operation_graph.hpp>
#include <cairn/rules/workload.hpp>
#include <cairn/run/chain/gradient.hpp>
#include <cairn/run/chain/probe.hpp>
#include <cairn/run/gradient.hpp>
#include <cairn/run/graph/builder.hpp>
#include <cairn/run/graph/detail/memory.hpp>
#include <cairn/run/graph/gradient.hpp>
#include <cairn/run/graph/probe.hpp>
#include <cairn/run/probe.hpp>
#include <cairn/run/probe/detail/timings.hpp>

namespace cairn {
namespace detail {

/// One action of a sweep, seen in several runs.
struct action_row {
  action what;
  phase where = phase::forward;
  timings seconds, active, after, rise;  ///< seconds, then bytes; a double holds bytes below 2^53 exactly
};

/// An observer that measures each action of a sweep, run after run of the same plan.
template <class Clock>
class action_rows {
 public:
  explicit action_rows(memory_source const& memory) : memory_{memory} {}

  /// \param counts  whether the measurements of this run are kept
  void begin_run(bool counts) noexcept { at_ = 0, counts_ = counts; }
  void operator()(event const& e) {
    if (e.what().kind == action_kind::done || !counts_) return;
    if (e.moment() == moment::before) {
      if (at_ == rows_.size()) rows_.push_back({e.what(), e.phase(), {}, {}, {}, {}});
      rows_[at_].active.add(double(e.bytes_held()));
      if (memory_) {
        memory_.reset_peak();
        held_ = memory_.held();
      }
      begin_ = Clock::now();
    } else {
      auto const end = Clock::now();
      action_row& row = rows_[at_++];
      row.seconds.add(seconds_between(begin_, end));
      if (memory_) row.rise.add(double(memory_.peak() - held_));
      row.after.add(double(e.bytes_held()));
    }
  }
  [[nodiscard]] std::vector<action_row> const& rows() const noexcept { return rows_; }

 private:
  memory_source const& memory_;
  std::vector<action_row> rows_;
  std::size_t at_ = 0;
  bool counts_ = false;
  std::int64_t held_ = 0;
  decltype(Clock::now()) begin_ = {};
};

/// "step_3", "steps_3_to_9", "save_3": what an action does, and to which steps or states.
[[nodiscard]] inline std::string row_name(action_row const& row, step_index state) {
  action const& a = row.what;
  auto const steps = [&] {
    return a.to - a.from == 1 ? "step_" + std::to_string(a.from)
                              : "steps_" + std::to_string(a.from) + "_to_" + std::to_string(a.to - 1);
  };
  std::string const again = row.where == phase::recompute ? "_again" : "", number = std::to_string(state);
  switch (a.kind) {
    case action_kind::advance: return steps() + again;
    case action_kind::record: return steps() + "_recorded" + again;
    case action_kind::turn: return a.to > a.from ? steps() + "_and_turn" : "turn";
    case action_kind::reverse: return steps() + ".backward";
    case action_kind::save: return "save_" + number;
    case action_kind::load: return "load_" + number;
    default: return "drop_" + number;
  }
}

/// The lifetimes of the checkpoints and tapes of a loop: from the node that makes one to the last node that reads it.
class activation_lives {
 public:
  using place = std::tuple<tier, content, slot_index>;
  explicit activation_lives(workload const& work) : work_{work} {}

  void open(place const& at, step_index state, step_index rank) {
    close(at);
    bool const is_tape = std::get<content>(at) == content::tape;
    life begun{state, {}, is_tape, false};
    begun.row.activation_name = (is_tape ? "tape_" : "state_") + std::to_string(state);
    begun.row.creation_rank = begun.row.last_fw_use_rank = rank;
    begun.row.median_mem_size_bytes = std::int64_t(is_tape ? work_.tape_bytes : work_.state_bytes);
    lives_[at] = std::move(begun);
  }
  void close(place const& at) {
    auto const found = lives_.find(at);
    if (found == lives_.end()) return;
    if (found->second.is_read) read_.push_back(std::move(found->second.row));
    lives_.erase(found);
  }
  /// \param before  before[r]: seconds of all nodes before rank r, for r = 0..rank
  void use(place const& at, step_index rank, std::vector<double> const& before) {
    if (auto const found = lives_.find(at); found != lives_.end()) use(found->second, rank, before);
  }
  /// A reversal reads the tapes of its steps.
  void use_tapes(action const& reversal, step_index rank, std::vector<double> const& before) {
    for (auto& [at, one] : lives_)
      if (one.is_tape && one.state >= reversal.from && one.state < reversal.to) use(one, rank, before);
  }
  void turn() noexcept { turned_ = true; }
  /// The state that is at a place, or else `otherwise`.
  [[nodiscard]] step_index state_at(place const& at, step_index otherwise) const {
    auto const found = lives_.find(at);
    return found == lives_.end() ? otherwise : found->second.state;
  }
  /// The activations that were read in the reverse sweep, in the order in which they were made.
  [[nodiscard]] std::vector<activation_stats> finish() && {
    while (!lives_.empty()) close(lives_.begin()->first);
    std::stable_sort(read_.begin(), read_.end(),
                     [](auto const& one, auto const& other) { return one.creation_rank < other.creation_rank; });
    return std::move(read_);
  }

 private:
  struct life {
    step_index state = 0;
    activation_stats row;
    bool is_tape = false, is_read = false;
  };
  void use(life& one, step_index rank, std::vector<double> const& before) {
    activation_stats& row = one.row;
    if (!turned_) {
      row.last_fw_use_rank = rank;
      return;
    }
    if (!std::exchange(one.is_read, true)) {
      row.first_bw_use_rank = rank;
      row.inactive_time_s = before[std::size_t(rank)] - before[std::size_t(row.last_fw_use_rank) + 1];
      row.recomp_time_s = double(one.state - source_of(one)) * work_.step_seconds +
                          (one.is_tape ? work_.record_seconds.value_or(work_.step_seconds) : 0);
      row.recomp_memory_bytes = std::int64_t(work_.state_bytes + (one.is_tape ? work_.tape_bytes : 0));
    }
    row.last_bw_use_rank = rank;
  }
  /// The state of the nearest checkpoint from which `one` could be made again; the state of `one` if there is no such
  /// checkpoint.
  [[nodiscard]] step_index source_of(life const& one) const {
    step_index source = one.state;
    for (auto const& [at, other] : lives_)
      if (!other.is_tape && &other != &one && other.state <= one.state)
        source = source == one.state ? other.state : (std::max)(source, other.state);
    return source;
  }

  workload const& work_;
  std::map<place, life> lives_;
  std::vector<activation_stats> read_;
  bool turned_ = false;
};

/// \param state  the one that the action keeps, reads or drops
[[nodiscard]] inline node_stats node_of(action_row const& row, step_index state, step_index rank) {
  action const& a = row.what;
  node_stats node;
  node.rank = rank;
  node.node_name = row_name(row, state);
  bool const runs = a.kind == action_kind::advance || a.kind == action_kind::record;
  node.type = runs ? node_type::act : a.kind == action_kind::reverse ? node_type::grad : node_type::other;
  node.gtype = a.kind == action_kind::turn     ? graph_type::other
               : row.where == phase::forward ? graph_type::forward
                                             : graph_type::backward;
  node.median_run_time_s = row.seconds.median();
  double const active = row.active.median(), after = row.after.median();
  node.median_active_mem_bytes = std::int64_t(active);
  node.median_peak_mem_bytes = std::int64_t((std::max)({active, after, active + row.rise.median()}));
  return node;
}

/// The statistics of a loop: a node for each action, an activation for each checkpoint and each tape that is read in
/// the reverse sweep.
[[nodiscard]] inline profile_stats stats_of(std::vector<action_row> const& rows, workload const& work) {
  profile_stats stats;
  activation_lives lives{work};
  std::vector<double> before{0};  // seconds before each node
  for (action_row const& row : rows) {
    action const& a = row.what;
    auto const rank = step_index(stats.nodes.size());
    activation_lives::place const at{a.where, a.what, a.slot};
    step_index const state = a.kind == action_kind::drop ? lives.state_at(at, a.from) : a.from;
    switch (a.kind) {
      case action_kind::save: lives.open({a.where, content::state, a.slot}, a.from, rank); break;
      case action_kind::record:
        if (a.slot != no_slot) lives.open({a.where, content::tape, a.slot}, a.from, rank);
        break;
      case action_kind::load: lives.use(at, rank, before); break;
      case action_kind::reverse: lives.use_tapes(a, rank, before); break;
      case action_kind::drop: lives.close(at); break;
      case action_kind::turn: lives.turn(); break;
      default: break;
    }
    stats.nodes.push_back(node_of(row, state, rank));
    before.push_back(before.back() + stats.nodes.back().median_run_time_s);
  }
  stats.activations = std::move(lives).finish();
  return stats;
}

}  // namespace detail

/// Options of `graph_profiler`.
struct profiler_options {
  int runs = 3;                           ///< runs that count, >= 3; one run before them does not
  std::vector<std::string> names = {};    ///< of the operations of a graph; "op_0", "op_1" ... if empty
  memory_source memory = {};              ///< reports bytes held by the program; if empty, `bytes_of` counts
};

/// Measures sweeps with the probes for graphs, chains and loops: one run that does not count, then the medians of
/// several runs. A sweep over a graph or a chain keeps everything; one over a loop obeys a plan. `run` returns what
/// planners take; `profiled_sweep` gives the statistics of each node and each activation.
/// \tparam Clock  has now() as the clocks of the standard library do
template <class Clock = std::chrono::steady_clock>
class graph_profiler : public profiled_sweep {
 public:
  /// \throws invalid_plan   for fewer than three runs
  explicit graph_profiler(profiler_options options = {}) : options_{std::move(options)} {
    if (options_.runs < 3)
      throw invalid_plan{"cairn::graph_profiler", "a profile is a median of three runs at least",
                         {{"runs", options_.runs}}, "give 3 or more"};
  }

  /// Measures a graph as `graph_probe` does, for `graph_planner` and `graph_gradient`. With a `memory_source`, the work
  /// of operations and adjoints is at least what they were seen to take. States that operations use are left as they
  /// were.
  /// \param net, inputs, seeds  as for `graph_gradient`
  /// \throws invalid_plan, invalid_call; exceptions of operations, adjoints and seeds
  operation_graph run(graph_builder const& net, std::vector<graph_binding> const& inputs,
                      std::vector<graph_seed> const& seeds) {
    (void)graph_probe<Clock>(net, inputs, seeds, 1);
    operation_graph graph = graph_probe<Clock>(net, inputs, seeds, options_.runs);
    if (options_.memory) see_work(graph, net, inputs, seeds);
    found(profiled_graph{graph, options_.names});
    return graph;
  }
  /// Measures a chain as `chain_probe` does, for `chain_planner` and `chain_gradient`. With a `memory_source`, f and b
  /// are at least what stages and adjoints were seen to take.
  /// \param stages, x0, seed  as for `chain_probe`; the seed is called more than once
  /// \throws invalid_plan, invalid_call; what stages and seed throw
  template <class Stages, class X0, class Seed>
    requires(!std::same_as<std::remove_cvref_t<Stages>, graph_builder>)
  chain run(Stages&& stages, X0 const& x0, Seed&& seed) {
    (void)chain_probe<Clock>(stages, x0, seed, 1);
    chain measured = chain_probe<Clock>(stages, x0, seed, options_.runs);
    if (options_.memory) see_work(measured, stages, x0, seed);
    found(measured);
    return measured;
  }
  /// Measures a loop under a plan and returns what `probe` finds, for `plan_within` and `advise`. Each action of the
  /// plan is a node: "steps_0_to_9", "save_3", "step_9.backward". Bytes are those of all states that the sweep holds.
  /// \param step, x0, plan, seed, adjoint  as for `gradient`, with a state that can be copied
  /// \throws invalid_plan; what step, seed and adjoint throw
  template <class Step, class X0, class Plan, class Seed, class Adjoint>
  workload run(Step&& step, X0 const& x0, Plan const& plan, Seed&& seed, Adjoint&& adjoint) {
    constexpr bool copies = !saved_state<X0>;
    static_assert(copies, "cairn: a profile runs its loop several times; give it a state that can be copied");
    if constexpr (!copies) return {};
    else {
      auto const rows = seen_in([&](auto& observer) { (void)gradient(step, x0, plan, seed, adjoint, observer); });
      step_index const steps = detail::as_plan(plan).steps();
      workload const work = probe<Clock>(step, x0, steps, seed, adjoint);
      found(detail::stats_of(rows, work));
      return work;
    }
  }

 private:
  /// Runs a sweep once without counting and then `runs` times; returns the measurements of each action.
  template <class Sweep>
  [[nodiscard]] std::vector<detail::action_row> seen_in(Sweep sweep) const {
    detail::action_rows<Clock> rows{options_.memory};
    for (int k = 0; k <= options_.runs; ++k) {
      rows.begin_run(k > 0);
      sweep(rows);
    }
    return rows.rows();
  }
  [[nodiscard]] static std::int64_t rise_of(detail::action_row const& row) {
    return std::int64_t(row.rise.median());
  }
  static void raise_to(std::int64_t& bytes, std::int64_t seen) noexcept {
    if (seen > bytes) bytes = seen;
  }
  void see_work(operation_graph& graph, graph_builder const& net, std::vector<graph_binding> const& inputs,
                std::vector<graph_seed> const& seeds) const {
    detail::graph_model const model{graph, "cairn::graph_profiler"};
    auto const plan = detail::run_measure{model}.with_drops(detail::store_all_runs(model));
    auto const rows = seen_in([&](auto& observer) {
      detail::graph_memory::keep_states(net, [&] { (void)graph_gradient(net, inputs, plan, seeds, observer); });
    });
    for (auto const& row : rows) {
      std::size_t const v = std::size_t(row.what.from);
      std::int64_t const rise = rise_of(row);
      switch (row.what.kind) {
        case action_kind::advance:
        case action_kind::record:
          raise_to(graph.operations[v].work, rise - model.bytes[v] - model.tape[v]);
          break;
        case action_kind::turn: raise_to(graph.loss_work, rise - model.open[v]); break;
        case action_kind::reverse:
          raise_to(graph.operations[v].adjoint_work, rise - (model.open[v] + model.adjoint[v] - model.open[v + 1]));
          break;
        default: break;
      }
    }
  }
  template <class Stages, class X0, class Seed>
  void see_work(chain& measured, Stages& stages, X0 const& x0, Seed& seed) const {
    step_index const count = measured.stages();
    std::vector<action> plan;
    for (step_index i = 0; i < count; ++i) plan.push_back(chain_actions::record(i));
    plan.push_back(chain_actions::turn(count));
    for (step_index i = count; i-- > 0;) plan.push_back(chain_actions::reverse(i));
    for (auto const& row : seen_in([&](auto& observer) { (void)chain_gradient(stages, x0, plan, seed, observer); })) {
      std::size_t const i = std::size_t(row.what.from);
      if (row.what.kind == action_kind::record) raise_to(measured.f[i], rise_of(row) - measured.s[i]);
      else raise_to(measured.b[i], rise_of(row));
    }
  }

  profiler_options options_;
};

}  // namespace cairn
