// SPDX-License-Identifier: Apache-2.0
#pragma once
// Times of whole sweeps, each with its gradient compared and its calls counted in the same run.
#include <cstddef>
#include <exception>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <cairn/adapt/cuda/device_capacity.hpp>
#include <cairn/adapt/cuda/sweep.hpp>
#include <cairn/adapt/cuda/virtual_device.hpp>
#include <cairn/schedule/any.hpp>
#include "counted_runtime.hpp"
#include "deadline.hpp"
#include "field.hpp"
#include "reference.hpp"
#include "row.hpp"
#include "times.hpp"

namespace gpu {

/// A sweep to be measured.
struct sweep_case {
  row about;  ///< bench and params
  cairn::any_schedule plan;
  cairn::device_capacity capacity;
  cairn::step_form form = cairn::step_form::out_of_place;
  host_copies copies = host_copies::on_the_side;
  std::optional<repeats> only = {};  ///< how often to run; else as the time allows
};

/// Measures sweeps over states of one size.
template <class Machine>
class sweep_bench {
 public:
  using runtime = counted_runtime<typename Machine::runtime>;
  using state = field<runtime>;

  sweep_bench(Machine& machine, results& out, deadline const& time, state_times const& measured)
      : machine_{&machine},
        out_{&out},
        time_{&time},
        times_{measured},
        assumed_{assumed_times(Machine::name(), measured.bytes)} {}

  [[nodiscard]] state_times const& times() const noexcept { return times_; }

  /// What the sweep should take.
  [[nodiscard]] static double forecast(sweep_case const& one, state_times const& times) {
    auto work = times.workload_of(one.plan.steps(), cairn::wide(one.capacity.host_slots), one.form);
    if (one.copies == host_copies::left_out || one.copies == host_copies::waited_for)
      work.tiers.host.write_seconds = work.tiers.host.read_seconds = 0;
    double const seconds = cairn::device_forecast{}(one.plan, one.capacity, work) + times.ends();
    if (one.copies != host_copies::waited_for) return seconds;
    auto const on_host = counts_of_host(one.plan);
    return seconds + double(on_host.saves) * times.down + double(on_host.loads) * times.up;
  }

  /// Adds a row.   \returns the median, or nothing where it was not measured
  std::optional<double> measure(sweep_case one) {
    row& r = one.about;
    auto const& plan = one.plan;
    std::size_t const bytes = times_.bytes;
    r.floor = times_.floor(plan.steps());
    r.predicted = forecast(one, times_);
    r.assumed_ratio = forecast(one, assumed_) / assumed_.floor(plan.steps());
    r.found.add("frames", one.capacity.frames).add("host_slots", one.capacity.host_slots);
    if ((cairn::wide(one.capacity.frames) + 1) * bytes > machine_->device().free_bytes())
      return left_out(r, "skipped: so many frames do not fit the device");
    try {
      auto const kept = machine_->device().kept_bytes(), wanted = std::size_t(one.capacity.host_slots) * bytes;
      double const pinning = wanted > kept ? double(wanted - kept) * pin_seconds_a_byte : 0;
      repeats const times = one.only ? *one.only : time_->repeats_of(*r.predicted, pinning);
      if (times.samples == 0 || *r.predicted * (times.warm_ups + times.samples) + pinning > time_->left())
        return left_out(r, time_->skipped(*r.predicted));
      run(one, times);
      out_->add(r);
      return r.median();
    } catch (std::exception const& failure) {
      r.samples.clear();
      r.right = false;
      return left_out(r, std::string{"failed: "} + failure.what());
    }
  }

 private:
  static constexpr double pin_seconds_a_byte = 0.4 / double(1 << 30);

  std::optional<double> left_out(row& r, std::string why) {
    r.note = std::move(why);
    out_->add(r);
    return {};
  }
  struct host_counts {
    cairn::wide saves = 0, loads = 0;
  };
  /// Saves to the host, and at most so many copies back: none for a load of the state that was loaded before.
  [[nodiscard]] static host_counts counts_of_host(cairn::any_schedule const& plan) {
    host_counts sum;
    cairn::step_index last = -1;
    auto cursor = plan.walk();
    for (auto a = cursor.next(); a.kind != cairn::action_kind::done; a = cursor.next()) {
      if (a.where != cairn::tier::host) continue;
      if (a.kind == cairn::action_kind::save) ++sum.saves;
      if (a.kind == cairn::action_kind::load && std::exchange(last, a.from) != a.from) ++sum.loads;
    }
    return sum;
  }

  void run(sweep_case& one, repeats times) {
    row& r = one.about;
    std::size_t const count = times_.bytes / sizeof(float);
    auto const c = machine_->compute();
    if (!right_ || right_steps_ != one.plan.steps()) {
      right_.reset();
      right_ = std::make_unique<reference<Machine>>(*machine_, count, one.plan.steps());
      right_steps_ = one.plan.steps();
    }
    runtime counted{machine_->device(), c, one.copies};
    state bar = poisoned(*machine_, counted, count);
    cairn::device_sweep<runtime, state> sweep{counted, c, one.capacity,
                                              [&] { return poisoned(*machine_, counted, count); }};
    loop<Machine, state> const heat{*machine_};
    bool const whole = one.copies != host_copies::left_out;
    bool same = true;
    call_counts calls;
    for (int sample = -times.warm_ups; sample < times.samples; ++sample) {
      machine_->poison(bar.numbers(), count, c);
      call_counts const before = counted.counts();
      call_counts now;
      double const seconds = machine_->timed([&] {
        if (one.form == cairn::step_form::in_place)
          sweep.gradient(heat.step_in_place(), heat.start(), one.plan, heat.seed(), heat.adjoint(), bar);
        else sweep.gradient(heat.step(), heat.start(), one.plan, heat.seed(), heat.adjoint(), bar);
        now = counted.counts().since(before);
      });
      if (sample >= 0) r.samples.push_back(seconds);
      calls = now;
      same = (whole ? right_->equals(bar) : right_->some_rods_equal(bar)) && same;
    }
    r.found.add("allocations", calls.allocations).add("host_waits", calls.syncs).add("copies", calls.copies);
    r.found.add("bytes_within", calls.bytes_within).add("bytes_down", calls.bytes_down).add("bytes_up", calls.bytes_up);
    if (one.copies == host_copies::waited_for) {  // how many copies there were is known now
      one.copies = host_copies::left_out;
      r.predicted =
          forecast(one, times_) +
          (double(calls.bytes_down) * times_.down + double(calls.bytes_up) * times_.up) / double(times_.bytes);
      one.copies = host_copies::waited_for;
    }
    bool right = calls.allocations == 0 && (one.copies == host_copies::waited_for || calls.syncs == 0);
    if (one.form == cairn::step_form::out_of_place) right = right && calls.bytes_within == 0;
    r.found.add("bitwise", same)
        .add("compared_with",
             right_->stored_all() ? "all states stored" : "some rods with all states stored, and all other sweeps");
    // Without its copies a gradient must be wrong: or this would not see what is wrong.
    r.right = right && same == (whole || calls.copies == 0);
  }

  Machine* machine_;
  results* out_;
  deadline const* time_;
  state_times times_, assumed_;
  std::unique_ptr<reference<Machine>> right_;
  cairn::step_index right_steps_ = -1;
};

}  // namespace gpu
