// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file graph_profiler.hpp  Profiles graphs of operations, chains of stages, and loops: time, memory and use of each
/// part.
#include <chrono>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>
#include <cairn/core/error.hpp>
#include <cairn/plan/graph/detail/graph_model.hpp>
#include <cairn/plan/graph/detail/run_order.hpp>
#include <cairn/profile/detail/action_rows.hpp>
#include <cairn/profile/memory_source.hpp>
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

namespace cairn {

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
