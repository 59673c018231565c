// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file plan_pictures.hpp  A program's plan as two pictures: who is run and kept when, and the memory that takes. The
/// command `cairn` draws them, where there is one.

#include <cstdio>
#include <cstdlib>
#include <string>

#include <cairn/cairn.hpp>
#include <cairn/plan/text/actions_csv.hpp>

#include "planning.hpp"
#include "table_file.hpp"

namespace support {

/// More actions than these make files that are slow to open and show no more.
inline constexpr int most_pictured_actions = 25'000;

[[nodiscard]] inline bool is_pictured(cairn::any_schedule const& plan) {
  auto cursor = plan.walk();
  for (int k = 0; k <= most_pictured_actions; ++k)
    if (cursor.next().kind == cairn::action_kind::done) return true;
  return false;
}

/// Writes BESIDE.actions.csv and draws BESIDE.space_time.svg and BESIDE.memory.svg from it by `cairn plan`; without that
/// command it prints the line that draws them. Of a plan with too many actions to be looked at they show that of a
/// shorter loop with the same leaves and slots, and their titles say so. \param loop  as in planning.hpp, with `steps`
/// that can be changed
template <class Loop>
void write_plan_pictures(std::string const& beside, Loop loop, schedule_kind kind, cairn::any_schedule plan) {
  auto const steps = loop.steps;
  auto const leaf = plan.leaf();
  auto const slots = plan.slots();
  while (!is_pictured(plan)) {
    loop.steps /= 2;
    plan = kind == schedule_kind::store_all ? cairn::any_schedule{cairn::store_all(loop.steps)}
                                            : make_plan(loop.steps, kind, leaf, slots);
  }
  std::string title = name_of(kind);
  if (leaf > 1) title += " over leaves of " + std::to_string(leaf) + " steps";
  if (loop.steps < steps)
    title += ", " + std::to_string(loop.steps) + " steps in the place of " + std::to_string(steps);
  write_table(beside + ".actions.csv", cairn::actions_csv(plan));

  auto const work = loop.workload(leaf);
  auto const bytes = [](cairn::wide count) { return std::to_string(std::uint64_t(count)) + "B"; };
  auto const file = [&](char const* ending) { return "'" + beside + ending + "'"; };
  std::string const line = "cairn plan --actions " + file(".actions.csv") + " --state " + bytes(work.state_bytes) +
                           " --adjoint " + bytes(work.adjoint_bytes) + " --tape " + bytes(work.tape_bytes) +
                           (work.form.step == cairn::step_form::out_of_place ? " --out-of-place" : "") + " --title '" +
                           title + "' --svg " + file(".space_time.svg") + " --memory-svg " + file(".memory.svg");
  std::fflush(stdout);
  if (std::system("command -v cairn >/dev/null 2>&1") == 0 && std::system((line + " >/dev/null").c_str()) == 0)
    std::printf("pictures  %s.space_time.svg, %s.memory.svg\n", beside.c_str(), beside.c_str());
  else std::printf("pictures  by %s\n", line.c_str());
}

}  // namespace support
