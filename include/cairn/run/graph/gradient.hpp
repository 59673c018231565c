#pragma once
/// \file gradient.hpp  The adjoints of the inputs of a graph, by a plan within a memory budget. Not included by
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

/// The adjoints of the inputs of a graph, made by one run of a plan.
class graph_adjoints {
 public:
  /// Whether anything contributed to the adjoint of an input.
  template <class T, class Bar>
  [[nodiscard]] bool has(graph_value<T, Bar> input) const noexcept {
    std::int32_t const k = detail::graph_memory::input_of(*net_, input.number());
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
    return bars_[std::size_t(detail::graph_memory::input_of(*net_, input.number()))].template get<Bar>();
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
/// \param plan  a list of `graph_actions`, or an object with a member `actions`: a `graph_plan`
/// \param inputs  a value for each input: `{x.is(x0), w.is(w0)}`
/// \param seeds  for each output an adjoint, or a callable that makes it from the output: `{y.seed(1.0)}`
/// \param rest  in any order: an observer, called with an `event` around every action, in which operations are steps
///   and the number of a value or tape is its slot; a variable `sweep_failure`, which says where an exception came from
/// \throws invalid_schedule, invalid_call, invalid_plan  before any operation runs, for a plan that the graph cannot
///   obey, and for inputs and seeds of another graph; exceptions of operations, adjoints, seeds and the observer pass
///   through unchanged after everything held is released
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
