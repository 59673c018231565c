// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file summary.hpp  Where the time of a trace went: by phase, by layer, by operation.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include <cairn/core/error.hpp>

#include "lines.hpp"

namespace trace_file {

/// The events of one name, or category, or layer.
struct trace_row {
  std::string name;         ///< of the events
  std::uint64_t calls = 0;  ///< how many
  double total_us = 0;      ///< from begin to end, in microseconds; nested events of the same row count once
  double self_us = 0;       ///< the same without the events inside
  double longest_us = 0;    ///< of one event
};
/// The highest value of a counter.
struct trace_peak {
  std::string name;  ///< "checkpoints memory": the counter, and its line
  double most = 0;   ///< in the counter's unit
};

/// What a trace holds.
struct trace_summary {
  std::string version;                  ///< of the cairn that wrote it
  std::string date;                     ///< when it began, in UTC
  std::string host;                     ///< where; "" if the trace has no metadata
  std::string plan;                     ///< the fingerprint that was noted as "plan"; else ""
  std::uint64_t events = 0;             ///< all lines
  double span_us = 0;                   ///< from the first event to the end of the last
  bool ended = false;                   ///< the program ended the trace
  bool repaired = false;                ///< cairn trace repair ended it
  std::vector<trace_row> by_phase;      ///< categories: "forward", "recompute", "reverse" and those of regions
  std::vector<trace_row> by_layer;      ///< modules, regions, and operators by the module whose parameters they read
  std::vector<trace_row> by_operation;  ///< names of events
  std::vector<trace_peak> peaks;        ///< of counters
};

/// Reads a trace. The rows of each table are sorted by total, the largest first. Memory: one row for each name, and one
/// sum for each event that is open. The trace need not have its end.
/// \throws file_error   if the file cannot be read   \throws parse_error   for a compressed file, and for a line that
///   is not an event, with the number of the line
[[nodiscard]] inline trace_summary summarize_trace(std::string const& file);

/// The tables as text, after lines about the trace as a whole.   \param most_rows  of each table, >= 1; the others are
/// summed in one row
[[nodiscard]] inline std::string text_of(trace_summary const& summary, std::size_t most_rows = 20);

/// Sums over the events inside an event that is not read yet. An event is written when it ends, so the events inside it
/// come first.
struct inner_events {
  double all = 0;
  std::map<std::string, double, std::less<>> by_phase, by_layer, by_operation;
};

/// A table while it grows.
class trace_table {
 public:
  void add(std::string const& name, double total, double self, double longest) {
    auto& row = rows_[name];
    ++row.calls;
    row.total_us += total;
    row.self_us += self;
    row.longest_us = (std::max)(row.longest_us, longest);
  }
  [[nodiscard]] std::vector<trace_row> sorted() && {
    std::vector<trace_row> all;
    for (auto& [name, row] : rows_) {
      row.name = shown_text(name);
      all.push_back(std::move(row));
    }
    std::sort(all.begin(), all.end(), [](trace_row const& a, trace_row const& b) {
      return a.total_us != b.total_us ? a.total_us > b.total_us : a.name < b.name;
    });
    return all;
  }

 private:
  std::unordered_map<std::string, trace_row> rows_;
};

/// The layer that an event is, or works for; "" for none.
[[nodiscard]] inline std::string layer_of(read_event const& seen) {
  if (!seen.layer.empty()) return std::string{seen.layer};
  return seen.type == "module" || seen.type == "region" ? std::string{seen.type == "module" ? seen.target : seen.name}
                                                        : std::string{};
}

/// The summary of the lines so far.
class summing_trace {
 public:
  /// \returns false for a line that is not an event
  [[nodiscard]] bool add(std::string const& line) {
    read_event seen;
    counted_.clear();
    auto const kind = read_trace_line(
        line, seen, [&](std::string_view outer, std::string_view key, std::string_view value, bool text) {
          if (outer != "args") return;
          if (!text && seen.phase == "C") counted_.emplace_back(key, number_of(value));
          if (key == "repaired") made_.repaired = true;
        });
    if (kind == trace_line_kind::event) add_event(seen);
    return kind != trace_line_kind::broken;
  }
  [[nodiscard]] trace_summary done() && {
    made_.span_us = last_ - first_;
    made_.by_phase = std::move(phases_).sorted();
    made_.by_layer = std::move(layers_).sorted();
    made_.by_operation = std::move(operations_).sorted();
    for (auto const& [name, most] : peaks_) made_.peaks.push_back({name, most});
    return std::move(made_);
  }

 private:
  void add_event(read_event const& seen) {
    ++made_.events;
    if (seen.phase == "M") {
      if (seen.name == "HH") made_.host = shown_text(seen.value);
      if (seen.name == "plan") made_.plan = shown_text(seen.value);
      return;
    }
    first_ = timed_ ? (std::min)(first_, seen.at) : seen.at;
    last_ = (std::max)(last_, seen.at + seen.duration);
    timed_ = true;
    for (auto const& [key, value] : counted_) {
      auto& most = peaks_[shown_text(std::string(seen.name) + " " + std::string(key))];
      most = (std::max)(most, value);
    }
    if (seen.phase != "X") return;
    if (seen.category != "cairn") return add_slice(seen);
    if (seen.name == "start") made_.version = seen.version, made_.date = seen.date;
    if (seen.name == "end") made_.ended = !made_.repaired;
  }
  void add_slice(read_event const& seen) {
    inner_events in;
    if (auto const found = inside_.find(seen.id); found != inside_.end()) {
      in = std::move(found->second);
      inside_.erase(found);
    }
    std::string const phase{seen.category}, operation{seen.name}, layer = layer_of(seen);
    double const self = (std::max)(seen.duration - in.all, 0.0);
    auto const add_row = [&](trace_table& table, std::string const& name, auto const& same) {
      auto const again = same.find(name);
      table.add(name, seen.duration - (again == same.end() ? 0 : again->second), self, seen.duration);
    };
    add_row(phases_, phase, in.by_phase);
    add_row(operations_, operation, in.by_operation);
    if (!layer.empty()) add_row(layers_, layer, in.by_layer);
    if (seen.parent < 0) return;
    auto& around = inside_[seen.parent];
    around.all += seen.duration;
    around.by_phase[phase] += seen.duration;
    around.by_operation[operation] += seen.duration;
    if (!layer.empty()) around.by_layer[layer] += seen.duration;
  }

  trace_summary made_;
  trace_table phases_, layers_, operations_;
  std::unordered_map<std::int64_t, inner_events> inside_;
  std::map<std::string, double> peaks_;
  std::vector<std::pair<std::string_view, double>> counted_;  ///< of the line that is being read
  double first_ = 0, last_ = 0;
  bool timed_ = false;
};

[[nodiscard]] inline std::string table_text(char const* title, std::vector<trace_row> const& rows, std::size_t most) {
  if (rows.empty()) return {};
  double whole = 0;
  for (auto const& row : rows) whole += row.self_us;
  std::size_t width = std::string_view{title}.size();
  trace_row rest;
  std::vector<trace_row> shown(rows.begin(), rows.begin() + std::ptrdiff_t((std::min)(most, rows.size())));
  for (std::size_t k = shown.size(); k < rows.size(); ++k) {
    rest.calls += rows[k].calls;
    rest.total_us += rows[k].total_us;
    rest.self_us += rows[k].self_us;
    rest.longest_us = (std::max)(rest.longest_us, rows[k].longest_us);
  }
  if (rows.size() > shown.size()) {
    rest.name = std::to_string(rows.size() - shown.size()) + " more";
    shown.push_back(rest);
  }
  for (auto const& row : shown) width = (std::max)(width, row.name.size());
  std::string text = title;
  text.append(width - text.size(), ' ').append("       calls     total ms      self ms   longest ms   self %\n");
  for (auto const& row : shown) {
    char figures[120];
    std::snprintf(figures, sizeof figures, "%12llu %12.3f %12.3f %12.3f %8.1f\n",
                  static_cast<unsigned long long>(row.calls), row.total_us / 1000, row.self_us / 1000,
                  row.longest_us / 1000, whole > 0 ? 100 * row.self_us / whole : 0);
    text.append(row.name).append(width - row.name.size(), ' ').append(figures);
  }
  return text + "\n";
}

inline trace_summary summarize_trace(std::string const& file) {
  auto stream = open_trace("cairn trace summarize", file);
  summing_trace sums;
  std::int64_t number = 0;
  for (std::string line; std::getline(stream, line);)
    if (++number; !sums.add(line))
      throw cairn::parse_error{"cairn trace summarize",
                               "a line of a trace is not an event",
                               {{"line", number}},
                               ("if its program was killed, repair it first, by cairn trace repair: " + file).c_str()};
  return std::move(sums).done();
}

inline std::string text_of(trace_summary const& summary, std::size_t most_rows) {
  auto const most = (std::max)(most_rows, std::size_t{1});
  char figures[120];
  std::snprintf(figures, sizeof figures, "%llu events over %.3f ms", static_cast<unsigned long long>(summary.events),
                summary.span_us / 1000);
  std::string text = figures;
  text += summary.ended      ? ", ended by its program\n"
          : summary.repaired ? ", ended by a repair\n"
                             : ", without an end\n";
  auto const add = [&](char const* what, std::string const& value) {
    if (!value.empty()) text.append(what).append(value).append("\n");
  };
  add("written by cairn ", summary.version);
  add("begun ", summary.date);
  add("on ", summary.host);
  add("plan ", summary.plan);
  text += '\n';
  text += table_text("by phase", summary.by_phase, most);
  text += table_text("by layer", summary.by_layer, most);
  text += table_text("by operation", summary.by_operation, most);
  for (auto const& peak : summary.peaks) {
    std::snprintf(figures, sizeof figures, "%.0f", peak.most);
    text.append("most of ").append(peak.name).append(": ").append(figures).append("\n");
  }
  return text;
}

}  // namespace trace_file
