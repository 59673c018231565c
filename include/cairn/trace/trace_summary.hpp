// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file trace_summary.hpp  Where the time of a trace went: by phase, by layer, by operation.
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>
#include <cairn/detail/linkage.hpp>

namespace cairn {

/// The events of one name, or category, or layer.
struct trace_row {
  std::string name;           ///< of the events
  std::uint64_t calls = 0;    ///< how many
  double total_us = 0;        ///< from begin to end, in microseconds; nested events of the same row count once
  double self_us = 0;         ///< the same without the events inside
  double longest_us = 0;      ///< of one event
};
/// The highest value of a counter.
struct trace_peak {
  std::string name;         ///< "checkpoints memory": the counter, and its line
  double most = 0;          ///< in the counter's unit
};

/// What a trace holds.
struct trace_summary {
  std::string version;  ///< of the cairn that wrote it
  std::string date;     ///< when it began, in UTC
  std::string host;     ///< where; "" if the trace has no metadata
  std::string plan;     ///< the fingerprint that was noted as "plan"; else ""
  std::uint64_t events = 0;  ///< all lines
  double span_us = 0;        ///< from the first event to the end of the last
  bool ended = false;        ///< the program ended the trace
  bool repaired = false;     ///< `repair_trace` ended it
  std::vector<trace_row> by_phase;      ///< categories: "forward", "recompute", "reverse" and those of regions
  std::vector<trace_row> by_layer;      ///< modules, regions, and operators by the module whose parameters they read
  std::vector<trace_row> by_operation;  ///< names of events
  std::vector<trace_peak> peaks;        ///< of counters
};

/// Reads a trace. The rows of each table are sorted by total, the largest first. Memory: one row for each name, and one
/// sum for each event that is open. The trace need not have its end.
/// \throws file_error   if the file cannot be read   \throws parse_error   for a compressed file, and for a line that
///   is not an event, with the number of the line
[[nodiscard]] CAIRN_DECL trace_summary summarize_trace(std::string const& file);

/// The tables as text, after lines about the trace as a whole.   \param most_rows  of each table, >= 1; the others are
/// summed in one row
[[nodiscard]] CAIRN_DECL std::string text_of(trace_summary const& summary, std::size_t most_rows = 20);

}  // namespace cairn

#ifndef CAIRN_SEPARATE_COMPILATION
#include <cairn/trace/impl/trace_summary.ipp>
#endif
