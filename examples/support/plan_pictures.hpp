// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file plan_pictures.hpp  A program's plan as two pictures: who is run and kept when, and the memory that takes.

#include <cstdio>
#include <fstream>
#include <stdexcept>
#include <string>

#include <cairn/cairn.hpp>
#include <cairn/plan/text/memory_curve.hpp>
#include <cairn/plan/text/space_time.hpp>

#include "planning.hpp"

namespace support {

/// More actions than these make files that are slow to open and show no more.
inline constexpr int most_pictured_actions = 25'000;

[[nodiscard]] inline bool is_pictured(cairn::any_schedule const& plan) {
  auto cursor = plan.walk();
  for (int k = 0; k <= most_pictured_actions; ++k)
    if (cursor.next().kind == cairn::action_kind::done) return true;
  return false;
}

/// Writes BESIDE.space_time.svg and BESIDE.memory.svg and prints their names. Of a plan with too many actions to be
/// looked at they show that of a shorter loop with the same leaves and slots, and their titles say so. \param loop  as
/// in planning.hpp, with `steps` that can be changed
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
  auto const write = [&](char const* which, std::string const& picture) {
    auto const path = beside + which;
    std::ofstream file{path, std::ios::binary};
    if (!(file << picture << std::flush)) throw std::runtime_error{"no picture could be written to " + path};
    std::printf("picture   %s\n", path.c_str());
  };
  write(".space_time.svg", cairn::space_time_svg(plan, title));
  write(".memory.svg", cairn::memory_svg(plan, loop.workload(leaf), title));
}

}  // namespace support
