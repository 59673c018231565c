// SPDX-License-Identifier: Apache-2.0
#include "trace_command.hpp"

#include <cstddef>
#include <cstdint>

#include "keys.hpp"
#include "numbers.hpp"
#include "trace_file/repair.hpp"
#include "trace_file/summary.hpp"
#include "wrong_request.hpp"

namespace tool {
namespace {

constexpr std::int64_t usual_rows = 20;

void need_file(std::string const& file, char const* command) {
  if (file.empty())
    throw wrong_request{std::string{"no trace is given; give one as in cairn trace "} + command + " FILE.pfw"};
}

}  // namespace

std::string trace_summary_of(std::string const& file, std::string const& rows) {
  need_file(file, "summarize");
  auto const most = rows.empty() ? usual_rows : count_of("rows", rows, 1);
  return text_of(trace_file::summarize_trace(file), std::size_t(most));
}

std::string trace_repair_of(std::string const& file) {
  need_file(file, "repair");
  auto const done = trace_file::repair_trace(file);
  auto const events = counted(done.events, "event");
  if (!done.changed) return "whole, " + events + ": nothing is changed\n";
  return "repaired, " + events + "; " + counted(done.lost_bytes, "byte") + " of torn lines are gone\n";
}

}  // namespace tool
