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
#include <cairn/core/detail/in_use.hpp>
#include <cairn/core/error.hpp>
#include <cairn/core/event.hpp>
#include <cairn/door/stage_value.hpp>
#include <cairn/door/wrt.hpp>
#include <cairn/door/wrt.hpp>
#include <cairn/rules/detail/graph_walk.hpp>
#include <cairn/rules/operation_graph.hpp>
#include <cairn/rules/replay_check.hpp>
#include <cairn/run/graph/builder.hpp>
#include <cairn/run/graph/detail/given.hpp>
#include <cairn/run/graph/detail/memory.hpp>
#include <cairn/run/graph/detail/sweep.hpp>
#include <cairn/run/graph/probe.hpp>
#include <cairn/run/graph/value.hpp>
#include <cairn/run/graph/workspace.hpp>
#include <cairn/run/sweep/detail/action_range.hpp>
#include <cairn/run/sweep/detail/one_of.hpp>
#include <cairn/run/sweep/sweep_failure.hpp>
#include <cairn/run/sweep/sweep_report.hpp>
#include <cairn/run/sweep/sweep_report.hpp>

namespace cairn {
namespace detail {

/// A budget that keeps the plan that is made within it, as `graph_budget` does.
template <class PlanGiven>
concept budgets_graphs = requires(PlanGiven& budget, operation_graph graph) {
  typename PlanGiven::clock;
  { budget.has_plan_for(graph) } -> std::convertible_to<bool>;
  budget.plan_for(graph, graph);
  budget.plan().actions;
  budget.ran(std::int64_t{});
};

/// The arguments that may follow the seeds of a graph, besides a sweep_failure and options.
template <class T> inline constexpr bool is_graph_workspace = std::is_same_v<T, graph_workspace&>;

}  // namespace detail

/// The adjoints of the inputs of a graph, made by one run of a plan. The adjoints of a run in a workspace lie in the
/// workspace: they are valid as long as it is, and until another sweep begins in it.
class graph_adjoints {
 public:
  /// Whether anything contributed to the adjoint of an input.
  template <class T, class Bar>
  [[nodiscard]] bool has(graph_value<T, Bar> input) const noexcept {
    std::int32_t const k = detail::graph_given::input_of(*net_, input.number());
    return k >= 0 && is_here() && bars()[std::size_t(k)].has_value();
  }
  /// The adjoint of an input.
  /// \throws invalid_call   if the value is not an input, nothing contributed to its adjoint, or another sweep has
  ///   begun in the workspace
  template <class T, class Bar>
  [[nodiscard]] Bar& of(graph_value<T, Bar> input) {
    if (!is_here())
      throw invalid_call{"cairn::graph_adjoints",
                         "another sweep has begun in the workspace of these adjoints",
                         {},
                         "take what you need before, or give each run whose adjoints you keep a workspace of its own"};
    if (!has(input))
      throw invalid_call{"cairn::graph_adjoints",
                         "a value is not an input of the graph, or nothing contributed to its adjoint",
                         {{"value", input.number()}},
                         "ask `has` before"};
    return bars()[std::size_t(detail::graph_given::input_of(*net_, input.number()))].template get<Bar>();
  }
  /// Most bytes that the run held at one time, counted while it ran: values, tapes, adjoints, and the work that
  /// operations declare. Equals the peak that `replay` gives for the plan if the graph was measured by `graph_probe`.
  [[nodiscard]] std::int64_t peak_bytes() const noexcept { return peak_; }

  /// Made by `graph_gradient`.
  graph_adjoints(graph_builder const& net, std::vector<stage_value> bars, std::int64_t peak) noexcept
      : net_{&net}, bars_{std::move(bars)}, peak_{peak} {}
  /// The same, in a workspace.
  graph_adjoints(graph_builder const& net, graph_workspace& work, std::int64_t peak) noexcept
      : net_{&net}, work_{&work}, user_{work.users_}, peak_{peak} {}

 private:
  [[nodiscard]] bool is_here() const noexcept { return work_ == nullptr || work_->users_ == user_; }
  [[nodiscard]] std::vector<stage_value>& bars() noexcept {
    return work_ == nullptr ? bars_ : work_->memory_->storage.input_bars;
  }
  [[nodiscard]] std::vector<stage_value> const& bars() const noexcept {
    return work_ == nullptr ? bars_ : work_->memory_->storage.input_bars;
  }

  graph_builder const* net_;
  graph_workspace* work_ = nullptr;  ///< where the adjoints lie; null if they are here
  std::uint64_t user_ = 0;           ///< the sweep of the workspace that made them
  std::vector<stage_value> bars_;
  std::int64_t peak_;
};

namespace detail {

/// The use of a workspace by one sweep.
class graph_use {
 public:
  /// \throws reentrancy_error   if a sweep runs there
  graph_use(graph_workspace& work, char const* who) : busy_{work.busy_, who}, work_{work}, who_{who} {
    ++work.users_;
    if (!work.memory_) work.memory_.emplace();
    work.memory_->storage.empty();
  }

  [[nodiscard]] operation_graph const& declared(graph_builder const& net) { return work_.memory_->known.declared(net); }
  /// Runs a plan, and returns what is held at its peak.   \tparam Checks  whether values may be compared   \param
  ///   outlives  whether the workspace outlives the sweep
  template <bool Checks, class Actions, class Observer>
  sweep_parts run(graph_builder const& net, Actions const& actions, std::vector<graph_binding> const& inputs,
                   std::vector<graph_seed> const& seeds, Observer& observer, sweep_failure& failure,
                   [[maybe_unused]] replay_check verify, bool outlives) {
    auto& [storage, known, replay] = *work_.memory_;
    graph_memory memory{net, inputs, seeds, who_, storage, outlives ? &storage.boxes : nullptr};
    known.declared(net);
    [[maybe_unused]] graph_reads const& reads = known.reads(who_);
    known.check(actions);
    memory.expect(actions);
    no_graph_replay unchecked;
    if constexpr (Checks) replay.begin(verify, actions, reads, who_);
    auto& checked = one_of<Checks>(unchecked, replay);
    obey_graph_plan(memory, actions, observer, failure, checked);
    memory.finish();
    return memory.parts_at_peak();
  }
  /// The adjoints of the inputs.   \pre a plan has run
  [[nodiscard]] std::vector<stage_value> take_adjoints() noexcept {
    return std::move(work_.memory_->storage.input_bars);
  }

 private:
  in_use busy_;
  graph_workspace& work_;
  char const* who_;
};

}  // namespace detail

/// The adjoints of the inputs of a graph, by a plan.
///
/// Obeys the plan action by action, as `replay` counts it: the same operations run. The bytes at the peak are the same,
/// too, if the plan's graph has the sizes of these values, tapes and adjoints (see `graph_probe`). The run takes some
/// 100 bytes per operation in addition. Values are made in place and never copied. The adjoints have the same bits for
/// every plan if operations that run again give the same bits. A run leaves nothing in the builder: the graph may be
/// run again, also after an exception, and by several threads at the same time if its callables allow that.
/// \param net  must outlive the result
/// \param inputs  a value for each input: `{x.is(x0), w.is(w0)}`
/// \param plan  a list of `graph_actions`, or an object with a member `actions`: a `graph_plan`; or a `graph_budget`
///   variable: the graph is measured by `graph_probe` and planned when the budget is first used with it
/// \param seeds  for each output an adjoint, or a callable that makes it from the output: `{y.seed(1.0)}`
/// \param rest  in any order, one of each kind: an observer, called with an `event` around every action, in which
///   operations are steps and the number of a value or tape is its slot; a `sweep_failure` variable, which says where
///   an exception came from; `sweep_options`: with a `replay_check`, values that are made again are compared with their
///   first value, with `checkpoints` those that no further repeated run reads, with `every_step` all of them; 18 bytes
///   per operation; a `graph_workspace` variable to be reused, which then holds the adjoints; by default the run
///   allocates its own memory; a `sweep_report`; a `collective` of the adapter for MPI: then all ranks run the graph
///   together, by a plan and not by a budget
/// \throws invalid_schedule, invalid_call, invalid_plan  before any operation runs, for a plan that the graph cannot
///   obey, and for inputs and seeds of another graph; exceptions of operations, adjoints, seeds and the observer pass
///   through unchanged after everything held is released
/// \throws reentrancy_error   if a sweep runs in the workspace
/// \throws infeasible_budget   after the graph was measured, if no plan is found for a budget
/// \throws nondeterminism_error   from a replay check, in which operations are steps, and operation v makes state v + 1
template <class Plan, class... Rest>
[[nodiscard]] graph_adjoints graph_gradient(graph_builder const& net, std::vector<graph_binding> const& inputs,
                                            Plan&& plan, std::vector<graph_seed> const& seeds, Rest&&... rest) {
  constexpr bool budgets = detail::budgets_graphs<std::remove_reference_t<Plan>>;
  constexpr bool lists = budgets || detail::has_actions<std::remove_cvref_t<Plan>>;
  static_assert(lists,
                "cairn: the plan of a graph must be a list of actions, or have a member actions that is one, or be a "
                "cairn::graph_budget variable");
  constexpr bool on_inputs = !(detail::is_wrt<Rest> || ... || false);
  static_assert(on_inputs,
                "cairn: the parameters of a graph are inputs, whose adjoints it gives; cairn::wrt is for loops and "
                "chains");
  constexpr bool known =
      !on_inputs || ((detail::is_failure<Rest> || detail::is_options<Rest> || detail::is_graph_workspace<Rest> ||
                      detail::is_report<Rest> || detail::joins_ranks<Rest> || detail::observes<Rest>)&&...);
  static_assert(known,
                "cairn: what follows the seeds of a graph may be, in any order, an observer, cairn::sweep_options, and "
                "variables of type cairn::sweep_failure, cairn::graph_workspace and cairn::sweep_report; one argument "
                "is none of these");
  constexpr bool once = !known || (detail::at_most_one<detail::is_failure<Rest>...> &&
                                   detail::at_most_one<detail::is_options<Rest>...> &&
                                   detail::at_most_one<detail::is_graph_workspace<Rest>...> &&
                                   detail::at_most_one<detail::is_report<Rest>...> &&
                                   detail::at_most_one<detail::observes<Rest>...>);
  static_assert(once, "cairn: two arguments of the same kind follow the seeds of a graph; give each kind once");
  if constexpr (!lists || !on_inputs || !known || !once) return {net, {}, 0};
  else if constexpr (detail::together<Rest...>) {
    if constexpr (!detail::check_together<!budgets, false, Rest...>()) return {net, {}, 0};
    else {
      auto const run = [&](auto const&, auto&&... given) {
        return graph_gradient(net, inputs, plan, seeds, std::forward<decltype(given)>(given)...);
      };
      return detail::by_ranks("cairn::graph_gradient", plan, run, std::forward<Rest>(rest)...);
    }
  } else {
    constexpr char const* who = "cairn::graph_gradient";
    constexpr bool checks = (detail::is_options<Rest> || ... || false);
    constexpr bool in_workspace = (detail::is_graph_workspace<Rest> || ... || false);
    no_observer nobody;
    sweep_failure unasked;
    sweep_options unchecked;
    std::conditional_t<in_workspace, char, graph_workspace> own{};
    auto& observer = detail::one_of<detail::observes<Rest>...>(nobody, rest...);
    sweep_failure& failure = detail::one_of<detail::is_failure<Rest>...>(unasked, rest...);
    sweep_options const& asked = detail::one_of<detail::is_options<Rest>...>(unchecked, rest...);
    graph_workspace& work = detail::one_of<detail::is_graph_workspace<Rest>...>(own, rest...);
    failure = {};
    detail::graph_use use{work, who};
    auto const run = [&](auto const& actions, [[maybe_unused]] auto const& of) {
      auto const watched = [&](auto& watching) {
        return use.run<checks>(net, actions, inputs, seeds, watching, failure, asked.verify, in_workspace);
      };
      if constexpr (!(detail::is_report<Rest> || ... || false)) return std::int64_t(watched(observer).total());
      else {
        sweep_report none;
        sweep_report& report = detail::one_of<detail::is_report<Rest>...>(none, rest...);
        detail::reporting<decltype(observer)> counts{observer, report};
        sweep_parts const most = watched(counts);
        report = {.steps = net.size(), .step_calls = counts.runs(), .state_bytes = most.total()};
        detail::note_peak(report, of);
        report.counted = most;
        return std::int64_t(most.total());
      }
    };
    std::int64_t peak = 0;
    if constexpr (!budgets) peak = run(detail::actions_in(plan), plan);
    else {
      using clock = typename std::remove_reference_t<Plan>::clock;
      if (operation_graph const& declared = use.declared(net); !plan.has_plan_for(declared))
        plan.plan_for(declared, graph_probe<clock>(net, inputs, seeds));
      peak = run(plan.plan().actions, plan.plan());
      plan.ran(peak);
    }
    if constexpr (in_workspace) return {net, work, peak};
    else return {net, use.take_adjoints(), peak};
  }
}

}  // namespace cairn
