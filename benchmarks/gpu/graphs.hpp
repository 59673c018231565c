// SPDX-License-Identifier: Apache-2.0
#pragma once
// E8: small states, whose steps are shorter than a launch: put into a stream, in graphs of segments, and in one graph.
#include <cstddef>
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
  [[nodiscard]] double predicted(state_times const& times, double copy) const {
    cairn::step_index const again = whole_ * (length - 1);
    return times.floor(whole_ * length + rest_) + double(again) * times.step + 3 * double(whole_) * copy;
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

template <class Machine>
void measure_graphs(Machine& machine, results& out, deadline const& time, settings const& size) {
  using runtime = typename Machine::runtime;
  using state = field<runtime>;
  auto const c = machine.compute();
  for (std::size_t const bytes : size.small_states) {
    std::size_t const count = bytes / sizeof(float);
    auto const params = [&](char const* by) {
      return support::json_object{}.add("bytes", bytes).add("steps", size.small_steps).add("by", by);
    };
    if (time.left() < 10) {
      out.add({.bench = "E8", .params = params("all"), .note = time.skipped(1)});
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
        return detail::middle(sampled(2, 5, [&] { return machine.timed([&] { graph(); }) / size.calls; }));
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
        r.samples = sampled(2, 5, [&] {
          machine.poison(bar.numbers(), count, c);
          double const seconds = machine.timed(run);
          r.right = right.equals(bar) && *r.right;
          return seconds;
        });
        out.add(r);
      };
      auto const forecast = [&](state_times const& times) {
        return cairn::device_forecast{}(plan, capacity, times.workload_of(size.small_steps, 0)) + times.ends();
      };
      add("stream", forecast(alone), put);
      {
        auto whole = machine.captured(put);
        add("one graph", forecast(captured), [&] { whole(); });
      }
      segments<Machine> by_segments{machine, count, size.small_steps, bar};
      add("graphs of segments", by_segments.predicted(captured, alone.within), [&] { by_segments.gradient(); });
    } catch (std::exception const& failure) {
      out.add(
          {.bench = "E8", .params = params("all"), .right = false, .note = std::string{"failed: "} + failure.what()});
    }
  }
}

}  // namespace gpu
