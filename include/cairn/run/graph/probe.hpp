// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file probe.hpp  Measures a graph of operations on real runs: the sizes and times that planners take.
#include <cstddef>
#include <cstdint>
#include <vector>
#include <cairn/core/error.hpp>
#include <cairn/core/event.hpp>
#include <cairn/rules/detail/graph_segments.hpp>
#include <cairn/rules/operation_graph.hpp>
#include <cairn/run/graph/builder.hpp>
#include <cairn/run/graph/detail/memory.hpp>
#include <cairn/run/graph/detail/replay.hpp>
#include <cairn/run/graph/detail/sweep.hpp>
#include <cairn/run/graph/value.hpp>
#include <cairn/run/probe/detail/timings.hpp>

namespace cairn {
namespace detail {

/// Segments of about sqrt(n) operations, so that a probe holds one of them and what passes between them.
[[nodiscard]] inline std::vector<step_index> probing_segments(step_index operations) {
  step_index width = 1;
  while (width * width < operations) ++width;
  std::vector<step_index> ends;
  for (step_index end = width; end < operations; end += width) ends.push_back(end);
  if (operations > 0) ends.push_back(operations);
  return ends;
}

/// The memory of a sweep, with a clock for each operation, which is timed the first time that it runs, and when it is
/// recorded, which is once.
template <class Clock>
class graph_measurement {
 public:
  graph_measurement(graph_memory& memory, operation_graph& into, int tried)
      : memory_{memory}, into_{into}, tried_{tried}, ran_(into.operations.size(), -1.0), recorded_(ran_) {}

  void advance(step_index v) {
    memory_.advance(v);
    measure(v);
  }
  void record(step_index v) {
    memory_.record(v);
    measure(v);
    if (of(v).tape_bytes > 0) of(v).tape_bytes = memory_.tape_bytes(v);
    recorded_[std::size_t(v)] = seconds_of([&] { memory_.try_run(v, true); });
  }
  void turn() {
    auto const begin = Clock::now();
    memory_.turn();
    into_.loss_time = nanoseconds(seconds_between(begin, Clock::now()));
    into_.loss_work = memory_.transient();
  }
  void reverse(step_index v) {
    memory_.try_pull(v);
    double const back = seconds_of([&] { memory_.try_pull(v); });
    double const more = recorded_[std::size_t(v)] - ran_[std::size_t(v)];
    of(v).adjoint_time = nanoseconds(of(v).tape_bytes > 0 && more > 0 ? back + more : back);
    if (std::int64_t const bytes = memory_.bar_bytes(v); bytes > 0) of(v).adjoint_bytes = bytes;
    memory_.reverse(v);
    if (memory_.transient() > of(v).adjoint_work) of(v).adjoint_work = memory_.transient();
  }
  void drop(step_index v) noexcept { memory_.drop(v); }
  void drop_tape(step_index v) noexcept { memory_.drop_tape(v); }
  [[nodiscard]] std::size_t bytes() const noexcept { return memory_.bytes(); }
  bool visit(step_index v, event::sink sink, void* context) const { return memory_.visit(v, sink, context); }

 private:
  [[nodiscard]] graph_operation& of(step_index v) noexcept { return into_.operations[std::size_t(v)]; }
  void measure(step_index v) {
    double& seconds = ran_[std::size_t(v)];
    if (seconds >= 0) return;
    of(v).bytes = memory_.value_bytes(v);
    seconds = seconds_of([&] { memory_.try_run(v, false); });
    of(v).time = nanoseconds(seconds);
  }
  /// Median seconds of a call, repeated in each measurement until it is long enough for the clock.
  template <class Call>
  [[nodiscard]] double seconds_of(Call call) {
    constexpr std::size_t most = std::size_t{1} << 16;
    for (std::size_t count = 1;; count *= 2) {
      timings times;
      for (int k = 0; k < tried_; ++k) {
        auto const begin = Clock::now();
        for (std::size_t n = 0; n < count; ++n) call();
        double const seconds = seconds_between(begin, Clock::now());
        clock_.saw(seconds);
        times.add(seconds);
      }
      if (count >= most || clock_.tells(times.median())) return clock_.net(times.median()) / double(count);
    }
  }

  graph_memory& memory_;
  operation_graph& into_;
  int tried_;
  std::vector<double> ran_, recorded_;  ///< seconds of a run without and with a tape; negative if there was none
  clock_precision<Clock> clock_;
};

}  // namespace detail

/// The sizes and times of a graph on this machine, for `graph_planner` and `replay`: bytes of values, tapes and
/// adjoints as `bytes_of` counts them, and median times of single calls in nanoseconds. Bytes given by
/// `graph_builder::describe` are kept, times are not. For a plan made from it, `graph_gradient` holds exactly the
/// plan's peak. The extra time of recording is part of the time of the adjoint, because most operations are recorded
/// once.
///
/// The sweep runs the graph by segments of about sqrt(n) operations, and holds what passes between segments and what
/// the adjoints of one segment read, never all values at once. Each operation and each adjoint is called once before it
/// is timed, and most operations once more. Each measurement repeats the call until it is long enough for the clock, up
/// to 65,536 times. Seeds are called once. States that operations use are left as they were.
/// \tparam Clock  has now() as the clocks of the standard library do: `graph_probe<std::chrono::steady_clock>(net,
///   inputs, seeds)`
/// \param net, inputs, seeds  as for `graph_gradient`   \param tried  measurements of each call, >= 1
/// Cost: a sweep, and `tried` calls of each operation and adjoint, twice as many of one with a tape, more for short
///   calls
/// \throws invalid_plan, invalid_call; exceptions of operations, adjoints and seeds
template <class Clock = detail::no_clock>
[[nodiscard]] operation_graph graph_probe(graph_builder const& net, std::vector<graph_binding> const& inputs,
                                          std::vector<graph_seed> const& seeds, int tried = 3) {
  if constexpr (!detail::check_clock<Clock>()) return {};
  else {
    constexpr char const* who = "cairn::graph_probe";
    if (tried < 1)
      throw invalid_plan{who, "the graph has to be tried once at least", {{"tried", tried}}, "give 1 or more"};
    operation_graph measured = net.graph();
    auto const plan = detail::segmented_actions({measured, who}, detail::probing_segments(net.size()));
    detail::graph_storage storage;
    detail::graph_memory run{net, inputs, seeds, who, storage, nullptr};
    detail::graph_measurement<Clock> memory{run, measured, tried};
    no_observer nobody;
    sweep_failure unasked;
    detail::no_graph_replay unchecked;
    run.expect(plan, 1);
    detail::graph_memory::keep_states(
        net, [&] { detail::obey_graph_plan(memory, plan, nobody, unasked, unchecked); });
    return measured;
  }
}

}  // namespace cairn
