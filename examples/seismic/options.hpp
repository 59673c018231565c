// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file options.hpp  The command line of the seismic example.

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include <cairn/cairn.hpp>
#include <cairn/core/bytes.hpp>

#include "../support/command_line.hpp"
#include "../support/environment.hpp"
#include "../support/on_disk.hpp"

namespace seismic {

using namespace support;

struct options {
  std::size_t nx = 256, nz = 128;
  std::int64_t steps = 2'500;
  int shots = 4;
  int iterations = 10;
  cairn::byte_size budget = "8MiB";
  schedule_kind plan = schedule_kind::revolve;
  std::int64_t leaf = 0;  ///< steps that one call of the adjoint reverses; 0: the best
  std::string out;        ///< a folder for pictures; none where it is empty
  std::string disk;       ///< a folder for half of the states; empty: all are in memory
  int compare = 0;        ///< pairs of timings; 0: do not compare
  wanted_progress progress;
  bool help = false;
};

inline constexpr auto usage =
    "cairn_seismic: finds the velocity of a 2-D acoustic medium from recorded traces, in a small memory.\n"
    "The traces are synthetic: this program makes them from a model of its own.\n"
    "  --grid NXxNZ      cells across and down, of 10 m (256x128)\n"
    "  --steps N         time steps of 1 ms (2500)\n"
    "  --shots N         sources, fired one after the other (4)\n"
    "  --iterations N    steps of L-BFGS (10)\n"
    "  --budget SIZE     bytes for checkpoints, frames, adjoint and tape (8MiB)\n"
    "  --plan NAME       revolve, uniform or store_all (revolve)\n"
    "  --leaf N          steps that one call of the adjoint reverses (the best)\n"
    "  --out FOLDER      write pictures there\n"
    "  --disk DIR        keep half of the states in files there; killed and started again, the inversion goes on\n"
    "  --compare [PAIRS] time one shot against storing every field, with 5 % of the states; pairs of timings (9)\n"
    "  --progress        say on standard error how far the sweeps are\n"
    "  --help            this text\n"
    "CAIRN_BUDGET, CAIRN_SCHEDULE, CAIRN_PROGRESS and CAIRN_LOG=FILE say the same in the environment.\n";

/// \throws wrong_usage
[[nodiscard]] inline options parse_options(int count, char const* const* words) {
  options chosen;
  std::string_view constexpr obeyed[] = {"CAIRN_BUDGET", "CAIRN_SCHEDULE", "CAIRN_PROGRESS", "CAIRN_LOG"};
  auto const around = environment_of("cairn_seismic", obeyed);
  chosen.budget = around.budget.value_or(chosen.budget);
  if (around.schedule) chosen.plan = parse_schedule("CAIRN_SCHEDULE", *around.schedule);
  chosen.progress.ask(around);
  for (int k = 1; k < count; ++k) {
    std::string_view const flag = words[k];
    if (flag == "--help") {
      chosen.help = true;
      continue;
    }
    if (flag == "--progress") {
      chosen.progress.shown = true;
      continue;
    }
    if (flag == "--compare") {
      bool const told = k + 1 < count && words[k + 1][0] != '-';
      chosen.compare = told ? parse_number(flag, words[++k], 1, 1'000) : 9;
      continue;
    }
    bool found = false;
    for (std::string_view const name :
         {"--grid", "--steps", "--shots", "--iterations", "--budget", "--plan", "--leaf", "--out", "--disk"})
      found = found || flag == name;
    if (!found) throw wrong_usage{"\"" + std::string{flag} + "\" is not a flag; --help lists them"};
    if (k + 1 == count) throw wrong_usage{std::string{flag} + " got no value; give one after it"};
    std::string_view const word = words[++k];
    if (flag == "--grid") {
      auto const cross = word.find('x');
      if (cross == word.npos)
        throw wrong_usage{"--grid got \"" + std::string{word} + "\"; give cells across and down, as in 256x128"};
      chosen.nx = parse_number<std::size_t>(flag, word.substr(0, cross), 48, 4'096);
      chosen.nz = parse_number<std::size_t>(flag, word.substr(cross + 1), 48, 4'096);
    } else if (flag == "--steps") chosen.steps = parse_number<std::int64_t>(flag, word, 1, 10'000'000);
    else if (flag == "--shots") chosen.shots = parse_number(flag, word, 1, 64);
    else if (flag == "--iterations") chosen.iterations = parse_number(flag, word, 1, 10'000);
    else if (flag == "--budget") chosen.budget = parse_size(flag, word);
    else if (flag == "--plan") chosen.plan = parse_schedule(flag, word);
    else if (flag == "--leaf") chosen.leaf = parse_number<std::int64_t>(flag, word, 1, INT64_MAX);
    else if (flag == "--disk") chosen.disk = word;
    else chosen.out = word;
  }
  refuse_leaves_of_all(chosen.leaf, chosen.plan);
  check_disk(chosen.disk, "--plan", chosen.plan);
  return chosen;
}

}  // namespace seismic
