// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file on_disk.hpp  Sweeps with half of their states on disk, which go on after their process was killed.

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <string>
#include <string_view>

#include <cairn/cairn.hpp>
#include <cairn/schedule/multistage.hpp>
#ifdef CAIRN_EXAMPLE_DISK
#include <cairn/adapt/disk.hpp>
#endif

#include "command_line.hpp"
#include "planning.hpp"

namespace support {

/// \throws wrong_usage   where a folder is given that this program, or this kind of plan, can do nothing with
inline void check_disk(std::string const& folder, char const* flag, schedule_kind kind) {
  if (folder.empty()) return;
#ifndef CAIRN_EXAMPLE_DISK
  throw wrong_usage{"--disk got \"" + folder +
                    "\", but this program was built without xxHash; install that (Debian: libxxhash-dev), and build it "
                    "again"};
#endif
  if (kind != schedule_kind::revolve)
    throw wrong_usage{std::string{flag} + " is " + name_of(kind) +
                      ", but with --disk the states are those of revolve; leave one of the two out"};
}

/// A hash of numbers, to compare what two processes have found.
template <class Numbers>
[[nodiscard]] std::string bits_of(Numbers const& of) {
  std::string_view const bytes{reinterpret_cast<char const*>(of.data()), std::size_t(of.size()) * sizeof(*of.data())};
  char text[24];
  std::snprintf(text, sizeof text, "%016llx", static_cast<unsigned long long>(std::hash<std::string_view>{}(bytes)));
  return text;
}

#ifdef CAIRN_EXAMPLE_DISK
/// The same leaves and slots, half of them on disk: as few steps as those of `revolve` in memory.
template <class Loop>
[[nodiscard]] chosen_plan half_on_disk(Loop const& loop, chosen_plan const& in_memory) {
  auto const leaf = in_memory.schedule.leaf();
  auto const slots = in_memory.schedule.slots();
  auto const count = (loop.steps + leaf - 1) / leaf;
  auto made = predict(loop, cairn::leaves{loop.steps, leaf, cairn::multistage{count, slots - slots / 2, slots / 2}});
  made.cost.peak_bytes = made.cost.memory_bytes;  // of which the budget is
  return made;
}

[[nodiscard]] inline std::string what_was_used(cairn::disk_report const& seen) {
  if (seen.used == cairn::disk_use::nothing) return "nothing of an earlier process";
  if (seen.used == cairn::disk_use::states) return "states of an earlier process";
  if (seen.resumed_at == 0) return "finished by an earlier process";
  return "gone on with, steps [0, " + std::to_string(seen.resumed_at) + ") were left";
}
#endif

}  // namespace support
