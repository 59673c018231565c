// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file options.hpp  The demo's command line.

#include <cstdint>
#include <string>
#include <string_view>

#include <cairn/cairn.hpp>
#include <cairn/core/bytes.hpp>

#include "../support/command_line.hpp"
#include "../support/environment.hpp"
#include "../support/on_disk.hpp"

namespace demo {

using namespace support;

struct options {
  std::string text = CAIRN_SOURCE_DIR "/examples/data/pride_and_prejudice.txt";
  std::int64_t length = 0;  ///< characters to use from the start of the text; 0: all
  cairn::byte_size budget = "32MiB";
  schedule_kind schedule = schedule_kind::revolve;
  std::int64_t leaf = 0;  ///< steps that one call of the adjoint reverses; 0: the best
  int passes = 4;
  std::string report;
  std::string disk;  ///< a folder for half of the states; empty: all are in memory
  wanted_progress progress;
  wanted_trace trace;
  bool help = false;
};

inline constexpr auto usage =
    "cairn_demo: trains a character LSTM by back-propagation through the whole of a text, in a small memory.\n"
    "  --text FILE       the text (Pride and Prejudice)\n"
    "  --length N        use its first N characters only\n"
    "  --budget SIZE     bytes for checkpoints, frames, adjoint and tape (32MiB)\n"
    "  --schedule NAME   revolve, uniform or store_all (revolve)\n"
    "  --leaf N          steps that one call of the adjoint reverses (the best)\n"
    "  --passes N        passes over the text, one update after each (4)\n"
    "  --report FILE     where the JSON report goes, and pictures of the plan beside it (beside the program)\n"
    "  --disk DIR        keep half of the states in files there; killed and started again, the training goes on\n"
    "  --progress        say on standard error how far the sweeps are\n"
    "  --trace FILE      write a trace of pass 1, which is run once more, for Perfetto or Chrome\n"
    "  --help            this text\n"
    "CAIRN_BUDGET, CAIRN_SCHEDULE, CAIRN_PROGRESS, CAIRN_LOG=FILE and CAIRN_TRACE=FILE say the same in the "
    "environment.\n";

/// \throws wrong_usage
[[nodiscard]] inline options parse_options(int count, char const* const* words) {
  options chosen;
  chosen.report = std::string{count > 0 ? words[0] : "cairn_demo"} + ".json";
  std::string_view constexpr obeyed[] = {"CAIRN_BUDGET", "CAIRN_SCHEDULE",     "CAIRN_PROGRESS",      "CAIRN_LOG",
                                         "CAIRN_TRACE",  "CAIRN_TRACE_FILTER", "CAIRN_TRACE_METADATA",
#ifdef CAIRN_DEMO_ZLIB
                                         "CAIRN_TRACE_COMPRESSION"
#endif
  };
  auto const around = environment_of("cairn_demo", obeyed);
  chosen.budget = around.budget.value_or(chosen.budget);
  if (around.schedule) chosen.schedule = parse_schedule("CAIRN_SCHEDULE", *around.schedule);
  chosen.progress.ask(around);
  chosen.trace.ask(around);
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
    auto const known = {"--text",   "--length", "--budget", "--schedule", "--leaf",
                        "--passes", "--trace",  "--report", "--disk"};
    bool found = false;
    for (std::string_view const name : known) found = found || flag == name;
    if (!found) throw wrong_usage{"\"" + std::string{flag} + "\" is not a flag; --help lists them"};
    if (k + 1 == count) throw wrong_usage{std::string{flag} + " got no value; give one after it"};
    std::string_view const word = words[++k];
    if (flag == "--text") chosen.text = word;
    else if (flag == "--length") chosen.length = parse_number<std::int64_t>(flag, word, 1, INT64_MAX);
    else if (flag == "--budget") chosen.budget = parse_size(flag, word);
    else if (flag == "--schedule") chosen.schedule = parse_schedule(flag, word);
    else if (flag == "--leaf") chosen.leaf = parse_number<std::int64_t>(flag, word, 1, INT64_MAX);
    else if (flag == "--passes") chosen.passes = parse_number(flag, word, 1, 1'000);
    else if (flag == "--trace") chosen.trace.file = word;
    else if (flag == "--disk") chosen.disk = word;
    else chosen.report = word;
  }
  refuse_leaves_of_all(chosen.leaf, chosen.schedule);
  check_disk(chosen.disk, "--schedule", chosen.schedule);
  return chosen;
}

}  // namespace demo
