// SPDX-License-Identifier: Apache-2.0
#pragma once
// Times of whole sweeps, each with its gradient compared and its calls counted in the same run.
#include <algorithm>
#include <cstddef>
#include <exception>
#include <memory>
#include <new>
#include <optional>
#include <string>
#include <utility>
#include <cairn/adapt/cuda/device_capacity.hpp>
#include <cairn/adapt/cuda/sweep.hpp>
#include <cairn/adapt/cuda/virtual_device.hpp>
#include <cairn/core/error.hpp>
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
  deadline const* until = nullptr;   ///< in place of that of the bench
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
        assumed_{assumed_times(Machine::name(), measured.bytes, Machine::slower)} {}

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

  /// What `rows` would take if nothing were skipped: `measure` only adds that up meanwhile.
  template <class Rows>
  [[nodiscard]] double predicted(Rows const& rows) {
    predicting_ = prediction{0, machine_->device().kept_bytes()};
    rows();
    double const sum = predicting_->seconds;
    predicting_.reset();
    return sum;
  }
  [[nodiscard]] bool is_predicting() const noexcept { return predicting_.has_value(); }
  /// Whether the last row failed because pinned or device memory ran out.
  [[nodiscard]] bool out_of_memory() const noexcept { return out_of_memory_; }

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
    deadline const& time = one.until != nullptr ? *one.until : *time_;
    out_of_memory_ = false;
    // Before the first run: slots that are not pinned yet, and what is compared with.
    auto const kept = predicting_ ? predicting_->pinned : machine_->device().kept_bytes();
    auto const wanted = std::size_t(one.capacity.host_slots) * bytes;
    double beside = wanted > kept ? double(wanted - kept) * times_.pin / double(bytes) : 0;
    if (!right_ || right_steps_ != plan.steps()) beside += reference_seconds_a_step_ * double(plan.steps());
    if (predicting_) {
      repeats const usual = *r.predicted < 2 ? repeats{2, 5} : repeats{0, 3};
      predicting_->seconds += beside + *r.predicted * one.only.value_or(usual).runs();
      predicting_->pinned = std::max(kept, wanted);
      return {};
    }
    repeats const times = one.only ? *one.only : time.repeats_of(*r.predicted, beside);
    if (times.samples == 0 || *r.predicted * times.runs() + beside > time.left())
      return left_out(r, time.skipped(*r.predicted * std::max(1, times.runs()) + beside));
    try {
      run(one, times, time);
      if (int(r.samples.size()) < times.samples) r.note = "only so many samples: no time";
    } catch (time_is_up const&) {
      r.samples.clear();
      r.note = "stopped: its time was up before its first run ended";
    } catch (std::exception const& failure) {
      r.samples.clear();
      r.right = false;
      r.failed = true;
      out_of_memory_ = dynamic_cast<cairn::out_of_memory const*>(&failure) != nullptr ||
                       dynamic_cast<std::bad_alloc const*>(&failure) != nullptr;
      r.note = std::string{"failed: "} + failure.what();
    }
    out_->add(r);
    return r.samples.empty() ? std::optional<double>{} : r.median();
  }

 private:
  struct prediction {
    double seconds;
    std::size_t pinned;
  };

  std::optional<double> left_out(row& r, std::string why) {
    if (predicting_) return {};
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

  void run(sweep_case& one, repeats times, deadline const& time) {
    row& r = one.about;
    std::size_t const count = times_.bytes / sizeof(float);
    auto const c = machine_->compute();
    if (!right_ || right_steps_ != one.plan.steps()) {
      right_.reset();
      double const before = machine_->now();
      right_ = std::make_unique<reference<Machine>>(*machine_, count, one.plan.steps());
      right_steps_ = one.plan.steps();
      reference_seconds_a_step_ = (machine_->now() - before) / double(std::max<cairn::step_index>(1, right_steps_));
    }
    runtime counted{machine_->device(), c, one.copies, &time};
    state bar = poisoned(*machine_, counted, count);
    cairn::device_sweep<runtime, state> sweep{counted, c, one.capacity,
                                              [&] { return poisoned(*machine_, counted, count); }};
    loop<Machine, state> const heat{*machine_, &time};
    bool const whole = one.copies != host_copies::left_out;
    bool same = true;
    call_counts calls;
    auto const once = [&] {
      machine_->poison(bar.numbers(), count, c);
      call_counts const before = counted.counts();
      double const seconds = machine_->timed([&] {
        if (one.form == cairn::step_form::in_place)
          sweep.gradient(heat.step_in_place(), heat.start(), one.plan, heat.seed(), heat.adjoint(), bar);
        else sweep.gradient(heat.step(), heat.start(), one.plan, heat.seed(), heat.adjoint(), bar);
        calls = counted.counts().since(before);
      });
      same = (whole ? right_->equals(bar) : right_->some_rods_equal(bar)) && same;
      return seconds;
    };
    r.samples = time.samples(times, once);
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
  std::optional<prediction> predicting_;
  bool out_of_memory_ = false;
  double reference_seconds_a_step_ = 2e-4;  // assumed, until one was made
  std::unique_ptr<reference<Machine>> right_;
  cairn::step_index right_steps_ = -1;
};

}  // namespace gpu
