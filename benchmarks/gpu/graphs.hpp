// SPDX-License-Identifier: Apache-2.0
#pragma once
// E8: small states, whose steps are shorter than a launch: put into a stream, in graphs of segments, and in one graph.
#include <cmath>
#include <cstddef>
#include <cstdio>
#include <exception>
#include <functional>
#include <string>
#include <utility>
#include <vector>
#include <cairn/adapt/cuda/device_capacity.hpp>
#include <cairn/adapt/cuda/sweep.hpp>
#include <cairn/adapt/cuda/virtual_device.hpp>
#include <cairn/schedule/revolve.hpp>
#include "deadline.hpp"
#include "field.hpp"
#include "reference.hpp"
#include "row.hpp"
#include "settings.hpp"
#include "times.hpp"

namespace gpu {

/// Segments of equal length, each kept by its first state; one captured for the forward run, one for the reversal.
/// Numbers of steps are frozen in a graph, so a segment is a multiple of the 7 steps after which those of this loop
/// come again. The rest at the end is put into the stream.
template <class Machine>
class segments {
 public:
  using runtime = typename Machine::runtime;
  using state = field<runtime>;

  static constexpr cairn::step_index length = 35;

  segments(Machine& machine, std::size_t count, cairn::step_index steps, state& bar)
      : machine_{&machine}, count_{count}, whole_{steps / length}, rest_{steps % length}, bar_{&bar} {
    auto const make = [&](cairn::step_index many, std::vector<state>& into) {
      into.reserve(std::size_t(many));
      for (cairn::step_index k = 0; k < many; ++k) into.push_back(poisoned(machine, machine.device(), count));
    };
    make(length + 1, states_);
    make(whole_ + 1, kept_);
    forward_ = machine.captured(forward_work_);
    backward_ = machine.captured(backward_work_);
  }
  segments(segments const&) = delete;
  segments& operator=(segments const&) = delete;

  void gradient() {
    auto const c = machine_->compute();
    machine_->fill(states_[0].numbers(), count_, c);
    for (cairn::step_index k = 0; k < whole_; ++k) {
      copy(states_[0], kept_[std::size_t(k)]);
      forward_();
      copy(states_[length], states_[0]);
    }
    steps(rest_);
    machine_->seed(states_[std::size_t(rest_)].numbers(), bar_->numbers(), count_, c);
    adjoints(rest_);
    for (cairn::step_index k = whole_; k-- > 0;) {
      copy(kept_[std::size_t(k)], states_[0]);
      backward_();
    }
  }
  /// Steps and adjoints that are run, those of the forward run included.
  [[nodiscard]] double predicted(state_times const& in_graph, state_times const& in_stream) const {
    cairn::step_index const again = whole_ * (length - 1);
    return in_stream.floor(rest_) + double(whole_ * length) * (in_graph.step + in_graph.adjoint) +
           double(again) * in_graph.step + 3 * double(whole_) * in_stream.within;
  }

 private:
  void copy(state const& from, state& to) {
    machine_->device().copy(to.numbers(), from.numbers(), count_ * sizeof(float), cairn::copy_kind::device_to_device,
                            machine_->compute());
  }
  void steps(cairn::step_index many) {
    for (cairn::step_index i = 0; i < many; ++i)
      machine_->step(states_[std::size_t(i)].numbers(), states_[std::size_t(i) + 1].numbers(), count_, i,
                     machine_->compute());
  }
  void adjoints(cairn::step_index many) {
    for (cairn::step_index i = many; i-- > 0;)
      machine_->adjoint(states_[std::size_t(i)].numbers(), bar_->numbers(), count_, i, machine_->compute());
  }

  Machine* machine_;
  std::size_t count_;
  cairn::step_index whole_, rest_;
  state* bar_;
  std::vector<state> states_, kept_;
  std::function<void()> forward_work_ = [this] { steps(length); };
  std::function<void()> backward_work_ = [this] {
    steps(length - 1);
    adjoints(length);
  };
  std::function<void()> forward_, backward_;
};

/// Seconds of a step in a stream, and how many times as long the sweep in the stream takes as the one in a graph.
struct graph_gain {
  double step, times;
};
/// The seconds of a step above which a graph gains less than 3 %: beside what `graph_pays` takes where nobody says
/// otherwise. Nothing where all sizes gain, or none.
inline void measure_crossover(results& out, std::vector<graph_gain> const& gains, double predicted) {
  constexpr double least = 1.03;
  row r{.bench = "E8 crossover",
        .params = support::json_object{}.add("least_gain", least),
        .predicted = predicted,
        .tolerance = 1,
        .either_way = true};
  std::vector<double> steps, times;
  for (graph_gain const& g : gains) {
    steps.push_back(g.step);
    times.push_back(g.times);
  }
  r.found.add("step_seconds", steps).add("stream_by_graph", times);
  for (std::size_t k = 1; k < gains.size(); ++k)
    if (gains[k - 1].times > least && gains[k].times <= least) {  // between the two, by the logarithm of the seconds
      double const part = (gains[k - 1].times - least) / (gains[k - 1].times - gains[k].times);
      r.samples = {gains[k - 1].step * std::pow(gains[k].step / gains[k - 1].step, part)};
    }
  if (r.samples.empty()) r.note = "not between the sizes of state that were measured";
  out.add(r);
}

template <class Machine>
void measure_graphs(Machine& machine, results& out, deadline const& time, settings const& size) {
  using runtime = typename Machine::runtime;
  using state = field<runtime>;
  constexpr double seconds_for_times = 2;
  auto const c = machine.compute();
  std::vector<graph_gain> gains;
  std::printf("graphs: about %s s\n", deadline::rounded(seconds_for_times * double(size.small_states.size())).c_str());
  for (std::size_t const bytes : size.small_states) {
    std::size_t const count = bytes / sizeof(float);
    auto const params = [&](char const* by) {
      return support::json_object{}.add("bytes", bytes).add("steps", size.small_steps).add("by", by);
    };
    if (time.left() < seconds_for_times) {
      out.add({.bench = "E8", .params = params("all"), .note = time.skipped(seconds_for_times)});
      continue;
    }
    try {
      auto const alone = medians_of(measure_times(machine, bytes, size.calls), bytes);
      // The same from a graph, where no launch is waited for.
      state x[] = {poisoned(machine, machine.device(), count), poisoned(machine, machine.device(), count)};
      state bar = poisoned(machine, machine.device(), count);
      machine.fill(x[0].numbers(), count, c);
      machine.fill(x[1].numbers(), count, c);
      machine.fill(bar.numbers(), count, c);
      auto const steps = [&] {
        for (int k = 0; k < size.calls; ++k) machine.step(x[k % 2].numbers(), x[(k + 1) % 2].numbers(), count, k, c);
      };
      auto const adjoints = [&] {
        for (int k = 0; k < size.calls; ++k) machine.adjoint(x[0].numbers(), bar.numbers(), count, k, c);
      };
      auto const in_graph = [&](auto const& put) {
        auto graph = machine.captured(put);
        return detail::middle(time.samples({}, [&] { return machine.timed_alone([&] { graph(); }) / size.calls; }));
      };
      auto captured = alone;
      captured.step = in_graph(steps);
      captured.adjoint = in_graph(adjoints);

      cairn::revolve const plan{size.small_steps, 16};
      auto const capacity = cairn::device_capacity_for(plan);
      reference<Machine> right{machine, count, size.small_steps};
      cairn::device_sweep<runtime, state> sweep{machine.device(), c, capacity,
                                                [&] { return poisoned(machine, machine.device(), count); }};
      loop<Machine, state> const heat{machine};
      auto const put = [&] { sweep.gradient(heat.step(), heat.start(), plan, heat.seed(), heat.adjoint(), bar); };
      auto const add = [&](char const* by, double predicted, auto const& run) {
        row r{.bench = "E8",
              .params = params(by),
              .floor = captured.floor(size.small_steps),
              .predicted = predicted,
              .right = true};
        if (repeats const times = time.repeats_of(predicted); times.samples == 0) {
          r.right.reset();
          r.note = time.skipped(predicted);
        } else {
          r.samples = time.samples(times, [&] {
            machine.poison(bar.numbers(), count, c);
            double const seconds = machine.timed(run);
            r.right = right.equals(bar) && *r.right;
            return seconds;
          });
        }
        out.add(r);
        return r.samples.empty() ? 0 : r.median();
      };
      auto const forecast = [&](state_times const& times) {
        return cairn::device_forecast{}(plan, capacity, times.workload_of(size.small_steps, 0)) + times.ends();
      };
      double const by_stream = add("stream", forecast(alone), put);
      {
        auto whole = machine.captured(put);
        double const by_graph = add("one graph", forecast(captured), [&] { whole(); });
        if (by_stream > 0 && by_graph > 0) gains.push_back({alone.step, by_stream / by_graph});
      }
      segments<Machine> by_segments{machine, count, size.small_steps, bar};
      add("graphs of segments", by_segments.predicted(captured, alone), [&] { by_segments.gradient(); });
    } catch (std::exception const& failure) {
      out.add(
          {.bench = "E8",
           .params = params("all"),
           .right = false,
           .note = std::string{"failed: "} + failure.what(),
           .failed = true});
    }
  }
  measure_crossover(out, gains, Machine::graphs_below);
}

}  // namespace gpu
