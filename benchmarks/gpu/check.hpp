// SPDX-License-Identifier: Apache-2.0
#pragma once
// Small sweeps of every kind against storing all states, for machines that have no test framework, and for
// compute-sanitizer.
#include <cstddef>
#include <exception>
#include <string>
#include <vector>
#include <cairn/adapt/cuda/device_capacity.hpp>
#include <cairn/adapt/cuda/device_plan.hpp>
#include <cairn/adapt/cuda/sweep.hpp>
#include <cairn/adapt/cuda/virtual_device.hpp>
#include <cairn/schedule/any.hpp>
#include <cairn/schedule/hrevolve.hpp>
#include <cairn/schedule/revolve.hpp>
#include <cairn/schedule/two_level.hpp>
#include "counted_runtime.hpp"
#include "field.hpp"
#include "reference.hpp"
#include "row.hpp"
#include "times.hpp"

namespace gpu {

[[nodiscard]] inline std::vector<cairn::any_schedule> plans_of(cairn::step_index n) {
  using cairn::tier;
  std::vector<cairn::any_schedule> plans;
  plans.emplace_back(cairn::revolve{n, 1});
  plans.emplace_back(cairn::revolve{n, 4});
  plans.emplace_back(cairn::two_level{n, 7, 2, {tier::host, tier::device}});
  plans.emplace_back(cairn::two_level{n, 3, 0, {tier::host, tier::device}});
  plans.emplace_back(cairn::hrevolve{n, {{2, 0, 0, tier::device}, {3, 1, 1, tier::host}}});
  auto const work = state_times{1, 1, 1.5, 4, 4, 1}.workload_of(n, 5);
  plans.push_back(cairn::plan_for_device(8, work, cairn::device_forecast{}).plan);
  return plans;
}

/// One row for each length of the loop and form of the step.
template <class Machine>
void check_sweeps(Machine& machine, results& out, deadline const& time, std::size_t count,
                  cairn::step_index longest) {
  using runtime = counted_runtime<typename Machine::runtime>;
  using state = field<runtime>;
  auto const c = machine.compute();
  loop<Machine, state> const heat{machine};
  for (cairn::step_index const n : {0, 1, 2, 3, 17, 60}) {
    if (n > longest) continue;
    reference<Machine> right{machine, count, n};
    for (cairn::step_form const form : {cairn::step_form::out_of_place, cairn::step_form::in_place}) {
      bool const in_place = form == cairn::step_form::in_place;
      row r{.bench = "check",
            .params = support::json_object{}
                          .add("bytes", count * sizeof(float))
                          .add("steps", n)
                          .add("form", in_place ? "in place" : "out of place")};
      if (time.left() < 1) {
        r.note = time.skipped(1);
        out.add(r);
        continue;
      }
      int sweeps = 0, wrong = 0;
      call_counts calls;
      try {
        for (auto const& plan : plans_of(n))
          for (cairn::slot_index const spare : {0, 1, 2}) {
            auto capacity = cairn::device_capacity_for(plan, form);
            capacity.frames += spare;
            runtime counted{machine.device(), c};
            state bar = poisoned(machine, counted, count);
            cairn::device_sweep<runtime, state> sweep{counted, c, capacity,
                                                      [&] { return poisoned(machine, counted, count); }};
            for (int again = 0; again < 2; ++again) {
              machine.poison(bar.numbers(), count, c);
              auto const before = counted.counts();
              if (in_place) sweep.gradient(heat.step_in_place(), heat.start(), plan, heat.seed(), heat.adjoint(), bar);
              else sweep.gradient(heat.step(), heat.start(), plan, heat.seed(), heat.adjoint(), bar);
              auto const now = counted.counts().since(before);
              calls.allocations += now.allocations;
              calls.syncs += now.syncs;
              calls.bytes_within += now.bytes_within;
              machine.device().sync(c);
              ++sweeps;
              if (!right.equals(bar)) ++wrong;
            }
          }
        r.right = wrong == 0 && right.stored_all() && calls.allocations == 0 && calls.syncs == 0 &&
                  (in_place || calls.bytes_within == 0);
      } catch (std::exception const& failure) {
        r.right = false;
        r.failed = true;
        r.note = std::string{"failed: "} + failure.what();
      }
      r.found.add("sweeps", sweeps)
          .add("wrong", wrong)
          .add("allocations", calls.allocations)
          .add("host_waits", calls.syncs)
          .add("bytes_within", calls.bytes_within);
      out.add(r);
    }
  }
}

/// The whole sweep with its copies to the host, captured once and launched three times.
template <class Machine>
void check_graph(Machine& machine, results& out, std::size_t count) {
  using state = field<typename Machine::runtime>;
  cairn::two_level const plan{30, 7, 2, {cairn::tier::host, cairn::tier::device}};
  auto const c = machine.compute();
  row r{.bench = "check graph",
        .params = support::json_object{}.add("bytes", count * sizeof(float)).add("steps", plan.steps())};
  try {
    reference<Machine> right{machine, count, plan.steps()};
    state bar = poisoned(machine, machine.device(), count);
    auto capacity = cairn::device_capacity_for(plan);
    capacity.frames += 2;
    cairn::device_sweep<typename Machine::runtime, state> sweep{
        machine.device(), c, capacity, [&] { return poisoned(machine, machine.device(), count); }};
    loop<Machine, state> const heat{machine};
    auto put = [&] { sweep.gradient(heat.step(), heat.start(), plan, heat.seed(), heat.adjoint(), bar); };
    put();
    machine.device().sync(c);
    auto graph = machine.captured(put);
    r.right = true;
    for (int launch = 0; launch < 3; ++launch) {
      machine.poison(bar.numbers(), count, c);
      graph();
      machine.device().sync(c);
      r.right = *r.right && right.equals(bar);
    }
  } catch (std::exception const& failure) {
    r.right = false;
    r.failed = true;
    r.note = std::string{"failed: "} + failure.what();
  }
  out.add(r);
}

}  // namespace gpu
