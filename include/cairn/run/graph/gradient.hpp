// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file gradient.hpp  The adjoints of the inputs of a graph, by a plan within a memory budget. Not included by
/// <cairn/cairn.hpp>.
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>
#include <vector>
#include <cairn/core/detail/graph_walk.hpp>
#include <cairn/core/error.hpp>
#include <cairn/core/event.hpp>
#include <cairn/core/operation_graph.hpp>
#include <cairn/core/replay_check.hpp>
#include <cairn/core/stage_value.hpp>
#include <cairn/run/detail/listed_actions.hpp>
#include <cairn/run/detail/one_of.hpp>
#include <cairn/run/graph/builder.hpp>
#include <cairn/run/graph/detail/given.hpp>
#include <cairn/run/graph/detail/memory.hpp>
#include <cairn/run/graph/detail/replay.hpp>
#include <cairn/run/graph/detail/sweep.hpp>
#include <cairn/run/graph/probe.hpp>
#include <cairn/run/graph/value.hpp>

namespace cairn {
namespace detail {

/// A budget that keeps the plan that is made within it, as `graph_budget` does.
template <class P>
concept budgets_graphs = requires(P& budget, operation_graph graph) {
  typename P::clock;
  { budget.has_plan_for(graph) } -> std::convertible_to<bool>;
  budget.plan_for(graph, graph);
  budget.plan().actions;
  budget.ran(std::int64_t{});
};

}  // namespace detail

/// The adjoints of the inputs of a graph, made by one run of a plan.
class graph_adjoints {
 public:
  /// Whether anything contributed to the adjoint of an input.
  template <class T, class Bar>
  [[nodiscard]] bool has(graph_value<T, Bar> input) const noexcept {
    std::int32_t const k = detail::graph_given::input_of(*net_, input.number());
    return k >= 0 && bars_[std::size_t(k)].has_value();
  }
  /// The adjoint of an input.   \throws invalid_call   if the value is no input, or nothing contributed to its adjoint
  template <class T, class Bar>
  [[nodiscard]] Bar& of(graph_value<T, Bar> input) {
    if (!has(input))
      throw invalid_call{"cairn::graph_adjoints",
                         "a value is no input of the graph, or nothing contributed to its adjoint",
                         {{"value", input.number()}},
                         "ask `has` before"};
    return bars_[std::size_t(detail::graph_given::input_of(*net_, input.number()))].template get<Bar>();
  }
  /// Most bytes that the run held at one time, counted while it ran: values, tapes, adjoints, and the work that
  /// operations declare. Equals the peak that `replay` gives for the plan if the graph was measured by `graph_probe`.
  [[nodiscard]] std::int64_t peak_bytes() const noexcept { return peak_; }

  /// Made by `graph_gradient`.
  graph_adjoints(graph_builder const& net, std::vector<stage_value> bars, std::int64_t peak) noexcept
      : net_{&net}, bars_{std::move(bars)}, peak_{peak} {}

 private:
  graph_builder const* net_;
  std::vector<stage_value> bars_;
  std::int64_t peak_;
};

/// The adjoints of the inputs of a graph, by a plan.
///
/// Obeys the plan action by action, as `replay` counts it: the same operations run. The bytes at the peak are the same,
/// too, if the plan's graph has the sizes of these values, tapes and adjoints (see `graph_probe`). The run takes some
/// 100 bytes per operation in addition. Values are made in place and never copied. The adjoints have the same bits for
/// every plan if operations that run again give the same bits. A run leaves nothing in the builder: the graph may be
/// run again, also after an exception, and by several threads at the same time if its callables allow that.
/// \param net  must outlive the result
/// \param plan  a list of `graph_actions`, or an object with a member `actions`: a `graph_plan`; or a `graph_budget`, a
///   variable, which is measured by `graph_probe` and planned when it comes with this graph for the first time
/// \param inputs  a value for each input: `{x.is(x0), w.is(w0)}`
/// \param seeds  for each output an adjoint, or a callable that makes it from the output: `{y.seed(1.0)}`
/// \param rest  in any order: an observer, called with an `event` around every action, in which operations are steps
///   and the number of a value or tape is its slot; a variable `sweep_failure`, which says where an exception came
///   from; `sweep_options`: with a `replay_check`, values that are made again are compared with their first value, with
///   `checkpoints` those that no further repeated run reads, with `every_step` all of them; 18 bytes per operation
/// \throws invalid_schedule, invalid_call, invalid_plan  before any operation runs, for a plan that the graph cannot
///   obey, and for inputs and seeds of another graph; exceptions of operations, adjoints, seeds and the observer pass
///   through unchanged after everything held is released
/// \throws infeasible_budget   after the graph was measured, if no plan is found for a budget
/// \throws nondeterminism_error   from a replay check, in which operations are steps, and v makes state v + 1
template <class Plan, class... Rest>
[[nodiscard]] graph_adjoints graph_gradient(graph_builder const& net, Plan&& plan,
                                            std::vector<graph_binding> const& inputs,
                                            std::vector<graph_seed> const& seeds, Rest&&... rest) {
  constexpr bool budgets = detail::budgets_graphs<std::remove_reference_t<Plan>>;
  constexpr bool lists = budgets || detail::lists_actions<std::remove_cvref_t<Plan>>;
  static_assert(lists,
                "cairn: the plan of a graph must be a list of actions, or have one called actions, or be a "
                "cairn::graph_budget variable");
  constexpr bool known =
      ((detail::is_failure<Rest> || detail::is_options<Rest> || std::is_invocable_v<Rest&, event const&>) && ...);
  static_assert(known,
                "cairn: behind the seeds of a graph may stand an observer, a sweep_failure and cairn::sweep_options");
  if constexpr (budgets && known) {
    using clock = typename std::remove_reference_t<Plan>::clock;
    if (operation_graph told = net.graph(); !plan.has_plan_for(told))
      plan.plan_for(std::move(told), graph_probe<clock>(net, inputs, seeds));
    graph_adjoints made = graph_gradient(net, plan.plan(), inputs, seeds, rest...);
    plan.ran(made.peak_bytes());
    return made;
  } else if constexpr (lists && known) {
    constexpr char const* who = "cairn::graph_gradient";
    no_observer nobody;
    sweep_failure unasked;
    auto& observer = detail::one_of<std::is_invocable_v<Rest&, event const&>...>(nobody, rest...);
    sweep_failure& failure = detail::one_of<detail::is_failure<Rest>...>(unasked, rest...);
    auto const& actions = detail::actions_in(plan);
    failure = {};
    detail::graph_memory run{net, inputs, seeds, who};
    detail::graph_reads const reads{net.graph(), who};
    detail::check_graph_plan(reads, actions, who);
    auto const sweep = [&](auto&& replay) { detail::obey_graph_plan(run, actions, observer, failure, replay); };
    constexpr bool checks = (detail::is_options<Rest> || ... || false);
    if constexpr (!checks) sweep(detail::no_graph_replay{});
    else {
      sweep_options none;
      auto const& asked = detail::one_of<detail::is_options<Rest>...>(none, rest...);
      sweep(detail::graph_replay{asked.verify, actions, reads, who});
    }
    std::int64_t const peak = run.peak();
    return {net, run.take_adjoints(), peak};
  } else return {net, {}, 0};
}

}  // namespace cairn
