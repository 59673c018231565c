#pragma once
/// \file gradient.hpp  The adjoints of the inputs of a graph, by a plan within a memory budget. Not in
/// <cairn/cairn.hpp>.
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>
#include <vector>
#include <cairn/core/error.hpp>
#include <cairn/core/event.hpp>
#include <cairn/core/stage_value.hpp>
#include <cairn/run/detail/listed_actions.hpp>
#include <cairn/run/detail/one_of.hpp>
#include <cairn/run/graph/builder.hpp>
#include <cairn/run/graph/detail/memory.hpp>
#include <cairn/run/graph/detail/sweep.hpp>
#include <cairn/run/graph/value.hpp>

namespace cairn {

/// The adjoints of the inputs of a graph, as a run of a plan gives them.
class graph_adjoints {
 public:
  /// Whether anything contributed to the adjoint of an input.
  template <class T, class Bar>
  [[nodiscard]] bool has(graph_value<T, Bar> input) const noexcept {
    std::int32_t const k = detail::graph_memory::input_of(*net_, input.number());
    return k >= 0 && bars_[std::size_t(k)].has_value();
  }
  /// The adjoint of an input.   \throws invalid_call   for a value that is no input, and where there is none
  template <class T, class Bar>
  [[nodiscard]] Bar& of(graph_value<T, Bar> input) {
    if (!has(input))
      throw invalid_call{"cairn::graph_adjoints",
                         "a value is no input of the graph, or nothing contributed to its adjoint",
                         {{"value", input.number()}},
                         "ask `has` before"};
    return bars_[std::size_t(detail::graph_memory::input_of(*net_, input.number()))].template get<Bar>();
  }
  /// Most bytes that the run held at once, as they were counted while it ran: values, tapes, adjoints and what
  /// operations said that they work with. What the plan costs by `replay` where the graph was measured by
  /// `graph_probe`.
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
/// Obeys the plan action by action, as `replay` counts it: the same operations run, and the same bytes at the peak,
/// where the plan's graph has the sizes of these values, tapes and adjoints (see `graph_probe`). Beside them it takes
/// some 100 bytes an operation. Values are made in place and never copied. The adjoints have the same bits for every
/// plan if operations that run again give the same bits. Nothing of a run is left in the builder: it may be run again,
/// also after an exception, and at the same time in another thread if its callables allow it.
/// \param net  must outlive what is returned
/// \param plan  a list of `graph_actions`, or what has one called actions: a `graph_plan`
/// \param inputs  a value for each input: `{x.is(x0), w.is(w0)}`
/// \param seeds  an adjoint for each output, or what makes it of the output: `{y.seed(1.0)}`
/// \param rest  in any order: an observer, called with an `event` around every action, in which operations are steps,
///        and each value and tape has its number for a slot; a variable `sweep_failure`, which says where an exception
///        came from
/// \throws invalid_schedule, invalid_call, invalid_plan  before any operation runs, for a plan that the graph cannot
///        obey, and for inputs and seeds that are not its own; what operations, adjoints, seeds and the observer throw,
///        unchanged, when all that was held is released
template <class Plan, class... Rest>
[[nodiscard]] graph_adjoints graph_gradient(graph_builder const& net, Plan const& plan,
                                            std::vector<graph_binding> const& inputs,
                                            std::vector<graph_seed> const& seeds, Rest&&... rest) {
  constexpr bool lists = detail::lists_actions<Plan>;
  static_assert(lists, "cairn: the plan of a graph must be a list of actions, or have one called actions");
  constexpr bool known = ((detail::is_failure<Rest> || std::is_invocable_v<Rest&, event const&>) && ...);
  static_assert(known, "cairn: behind the seeds of a graph may stand an observer and a sweep_failure");
  if constexpr (lists && known) {
    constexpr char const* who = "cairn::graph_gradient";
    no_observer nobody;
    sweep_failure unasked;
    auto& observer = detail::one_of<std::is_invocable_v<Rest&, event const&>...>(nobody, rest...);
    sweep_failure& failure = detail::one_of<detail::is_failure<Rest>...>(unasked, rest...);
    auto const& actions = detail::actions_in(plan);
    failure = {};
    detail::graph_memory run{net, inputs, seeds, who};
    detail::check_graph_plan(net.graph(), actions, who);
    detail::obey_graph_plan(run, actions, observer, failure);
    std::int64_t const peak = run.peak();
    return {net, run.take_adjoints(), peak};
  } else return {net, {}, 0};
}

}  // namespace cairn
