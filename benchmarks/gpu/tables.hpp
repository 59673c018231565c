// SPDX-License-Identifier: Apache-2.0
#pragma once
// E1 to E7: loops over large states against pure forward and backward.
#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <cairn/adapt/cuda/device_capacity.hpp>
#include <cairn/adapt/cuda/device_plan.hpp>
#include <cairn/adapt/cuda/virtual_device.hpp>
#include <cairn/schedule/any.hpp>
#include <cairn/schedule/revolve.hpp>
#include <cairn/schedule/two_level.hpp>
#include "deadline.hpp"
#include "row.hpp"
#include "settings.hpp"
#include "sweeps.hpp"
#include "times.hpp"

namespace gpu {

/// Memory of the host for slots, and who says so.
struct host_memory {
  std::size_t for_slots;
  std::string by;

  void tell(row& r) const { r.found.add("host_bytes", for_slots).add("host_bytes_by", by); }
};

/// The rows of one size of state.
template <class Machine>
class table {
 public:
  /// \param until  the time of the headline, which may take what rows after it would have
  table(Machine& machine, results& out, deadline const& time, deadline const& until, host_memory const& host,
        table_settings const& size, settings const& all)
      : machine_{&machine}, out_{&out}, time_{&time}, until_{&until}, host_{host}, size_{size}, all_{&all} {}

  /// Rows without which the others are worth little, most wanted first; and those that follow the first ones of all
  /// sizes of state.
  void measure_first() {
    if (4 * size_.bytes + all_->reserve > machine_->device().free_bytes())
      return skipped("skipped: not even four states fit the device");
    host_slots_ = std::min(size_.host_slots, cairn::slot_index(host_.for_slots / size_.bytes));
    if (until_->left() <= 0) return skipped(until_->skipped(0));
    time_samples const samples = measure_times(*machine_, size_.bytes, size_.steps_for_times);
    bench_.emplace(*machine_, *out_, *time_, medians_of(samples, size_.bytes));
    pure(samples);
    tell_time("first rows", [&] { first_rows(); });
    first_rows();
  }
  void measure_rest() {
    if (!bench_) return;
    tell_time("other rows", [&] { other_rows(); });
    other_rows();
    bench_.reset();
    machine_->device().drop_unused();
  }

 private:
  void first_rows() {
    headline(*bench_);
    offloaded(*bench_);
    in_place(*bench_);
    waited_for(*bench_);
  }
  void other_rows() {
    store_all(*bench_);
    on_device(*bench_);
    spare_frames(*bench_);
  }
  template <class Rows>
  void tell_time(char const* what, Rows const& rows) {
    double const seconds = bench_->predicted(rows);
    std::printf("tables, states of %zu bytes, %s: about %s s of the %s s that are left\n", size_.bytes, what,
                deadline::rounded(seconds).c_str(), deadline::rounded(time_->left()).c_str());
    std::fflush(stdout);
  }
  [[nodiscard]] support::json_object params(cairn::step_index steps) const {
    return support::json_object{}.add("bytes", size_.bytes).add("steps", steps);
  }
  void skipped(std::string why) {
    if (bench_ && bench_->is_predicting()) return;
    out_->add({.bench = "E1-E7", .params = params(size_.steps), .note = std::move(why)});
  }

  /// E1: what a step, an adjoint and copies take by themselves, against what was assumed.
  void pure(time_samples const& samples) {
    auto const assumed = assumed_times(Machine::name(), size_.bytes, Machine::slower);
    auto const add = [&](char const* what, std::vector<double> const& seconds, double predicted) {
      out_->add({.bench = "E1",
                 .params = params(size_.steps_for_times).add("what", what),
                 .samples = seconds,
                 .predicted = predicted});
    };
    add("step", samples.step, assumed.step);
    add("adjoint", samples.adjoint, assumed.adjoint);
    add("copy down", samples.down, assumed.down);
    add("copy up", samples.up, assumed.up);
    add("copy within", samples.within, assumed.within);
    out_->add({.bench = "E1", .params = params(size_.steps_for_times).add("what", "pin"), .samples = samples.pin});
  }
  /// The loop whose states are all kept, in the same executor: nothing is done again.
  void store_all(sweep_bench<Machine>& bench) {
    cairn::any_schedule const plan = cairn::revolve{size_.short_steps, cairn::slot_index(size_.short_steps)};
    bench.measure(
        {{.bench = "E1 store-all", .params = params(size_.short_steps)}, plan, cairn::device_capacity_for(plan)});
  }
  /// E2: kept frames, and nothing on the host.
  void on_device(sweep_bench<Machine>& bench) {
    for (cairn::slot_index const k : size_.slots) {
      cairn::any_schedule const plan = cairn::revolve{size_.steps, k};
      bench.measure(
          {{.bench = "E2", .params = params(size_.steps).add("slots", k)}, plan, cairn::device_capacity_for(plan)});
    }
  }
  /// Two levels with the best period for so many frames, by the forecast.
  [[nodiscard]] std::optional<sweep_case> two_levels(state_times const& times, cairn::slot_index frames,
                                                     cairn::step_form form = cairn::step_form::out_of_place) {
    if (host_slots_ < 1) return {};
    std::optional<sweep_case>& best = known_[{frames, form}];
    if (best) return best;
    double least = 0;
    cairn::step_index const shortest = (size_.steps - 1) / host_slots_ + 1;
    for (cairn::step_index period = shortest; period <= 4 * shortest; period += 1 + period / 16)
      for (cairn::slot_index const spare : {1, 2, 3, 4, 5}) {
        if (spare > frames) continue;
        cairn::slot_index const extra = std::min(frames - spare, period);
        cairn::any_schedule plan =
            cairn::two_level{size_.steps, period, extra, {cairn::tier::host, cairn::tier::device}};
        auto const capacity = cairn::device_capacity_for(plan, form);
        if (capacity.frames > frames || capacity.host_slots > host_slots_) continue;
        sweep_case one{{}, std::move(plan), {frames, capacity.host_slots}, form};
        one.about.params = params(size_.steps).add("frames", frames).add("period", period).add("extra_slots", extra);
        host_.tell(one.about);
        double const seconds = sweep_bench<Machine>::forecast(one, times);
        if (best && seconds >= least) continue;
        least = seconds;
        best.emplace(std::move(one));
      }
    return best;
  }
  [[nodiscard]] cairn::slot_index some_slots() const { return size_.slots[size_.slots.size() > 1 ? 1 : 0]; }

  /// E3: states on the host, the same with copies left out, and what of the copies is not hidden.
  void offloaded(sweep_bench<Machine>& bench) {
    for (cairn::slot_index const k : size_.slots) {
      if (k < some_slots()) continue;
      auto one = two_levels(bench.times(), k + 3);
      if (!one) return skipped("E3 skipped: the host has no memory for a state");
      one->about.bench = "E3";
      auto without = *one;
      without.about.params.add("copies", "left out");
      without.copies = host_copies::left_out;
      auto const ideal = bench.measure(std::move(without));
      one->about.params.add("copies", "on the side");
      double const predicted = sweep_bench<Machine>::forecast(*one, bench.times());
      auto const real = bench.measure(*one);
      if (!ideal || !real) continue;
      row stall{.bench = "E3 stall",
                .params = params(size_.steps).add("frames", k + 3),
                .unit = "times what it takes without copies",
                .samples = {*real / *ideal}};
      one->copies = host_copies::left_out;
      stall.tolerance = 0.05;  // of a ratio of two times, each with its own
      stall.predicted = predicted / sweep_bench<Machine>::forecast(*one, bench.times());
      out_->add(stall);
    }
  }
  /// E4: a step that changes its argument, so that what is kept has to be copied.
  void in_place(sweep_bench<Machine>& bench) {
    auto one = two_levels(bench.times(), some_slots() + 3, cairn::step_form::in_place);
    if (!one) return;
    one->about.bench = "E4";
    one->about.params.add("form", "in place");
    bench.measure(std::move(*one));
  }
  /// E5: one plan with no frame to spare, one and two.
  void spare_frames(sweep_bench<Machine>& bench) {
    auto one = two_levels(bench.times(), some_slots() + 3);
    if (!one) return;
    auto const needed = cairn::device_capacity_for(one->plan);
    for (cairn::slot_index const spare : {0, 1, 2}) {
      auto with = *one;
      with.about.bench = "E5";
      with.about.params.add("spare_frames", spare);
      with.capacity.frames = needed.frames + spare;
      bench.measure(std::move(with));
    }
  }
  /// E6: every copy waited for.
  void waited_for(sweep_bench<Machine>& bench) {
    auto one = two_levels(bench.times(), some_slots() + 3);
    if (!one) return;
    one->about.bench = "E6";
    one->about.params.add("copies", "waited for");
    one->copies = host_copies::waited_for;
    bench.measure(std::move(*one));
  }
  /// E7: the best plan of all for a long loop in most of the device's memory, once. First, because it must not be what
  /// the time does not suffice for; an eighth of that may go into pinning. With fewer slots where the host refuses
  /// them.
  void headline(sweep_bench<Machine>& bench) {
    auto const fits = (machine_->device().free_bytes() - all_->reserve) / size_.bytes;
    auto const frames = std::min(cairn::slot_index(fits) - 1, size_.headline_slots + 3);
    if (frames < 3) return skipped("E7 skipped: three frames and an adjoint do not fit the device");
    auto const in_time = until_->left() / 8 / std::max(bench.times().pin, 1e-9);
    auto slots = std::min(size_.headline_host_slots, cairn::slot_index(host_.for_slots / size_.bytes));
    bool const is_short = in_time < double(slots);
    if (is_short) slots = cairn::slot_index(in_time);
    for (int tries = 0; tries < 3; ++tries, slots /= 2) {
      if (!headline_ || headline_slots_ != slots)  // seconds of planning
        headline_ = cairn::plan_for_device((cairn::wide(frames) + 1) * size_.bytes,
                                           bench.times().workload_of(size_.headline_steps, cairn::wide(slots)),
                                           cairn::device_forecast{});
      headline_slots_ = slots;
      auto best = *headline_;
      sweep_case one{{.bench = "E7",
                      .params = params(size_.headline_steps)
                                    .add("frames", best.capacity.frames)
                                    .add("host_slots", slots)},
                     std::move(best.plan),
                     best.capacity};
      one.about.found.add("planner", cairn::name_of(best.by)).add("fewer_slots_for_time", is_short);
      host_.tell(one.about);
      one.until = until_;
      one.only = repeats{0, 1};
      bench.measure(std::move(one));
      if (!bench.out_of_memory()) break;
      host_slots_ = std::min(host_slots_, slots / 2);  // what is there, and not what is said to be
      known_.clear();
    }
  }

  Machine* machine_;
  results* out_;
  deadline const *time_, *until_;
  host_memory host_;
  table_settings size_;
  settings const* all_;
  cairn::slot_index host_slots_ = 0;
  std::optional<sweep_bench<Machine>> bench_;
  std::optional<cairn::device_plan> headline_;  // for so many slots
  cairn::slot_index headline_slots_ = 0;
  std::map<std::pair<cairn::slot_index, cairn::step_form>, std::optional<sweep_case>> known_;
};

}  // namespace gpu
