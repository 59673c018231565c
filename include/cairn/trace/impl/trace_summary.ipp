#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <fstream>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>
#include <cairn/core/error.hpp>
#include <cairn/trace/detail/trace_lines_of.hpp>
#include <cairn/trace/trace_summary.hpp>

namespace cairn {
namespace detail {

/// The events inside one that is not read yet: events are written when they end, those around others last.
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

}  // namespace detail

CAIRN_DECL trace_summary summarize_trace(std::string const& file) {
  auto stream = detail::open_trace("cairn::summarize_trace", file);
  trace_summary made;
  detail::trace_table phases, layers, operations;
  std::unordered_map<std::int64_t, detail::inner_events> inside;
  std::map<std::string, double> peaks;
  double first = 0, last = 0;
  bool timed = false;
  std::int64_t number = 0;
  for (std::string line; std::getline(stream, line);) {
    ++number;
    detail::read_event seen;
    std::vector<std::pair<std::string_view, double>> counted;
    auto const kind = detail::read_trace_line(
        line, seen, [&](std::string_view outer, std::string_view key, std::string_view value, bool text) {
          if (outer != "args") return;
          if (!text && seen.phase == "C") counted.emplace_back(key, detail::number_of(value));
          if (key == "repaired") made.repaired = true;
        });
    if (kind == detail::trace_line_kind::broken)
      throw parse_error{"cairn::summarize_trace",
                        "a line of a trace is no event",
                        {{"line", number}},
                        ("if its program was killed, repair it first, by `repair_trace`: " + file).c_str()};
    if (kind != detail::trace_line_kind::event) continue;
    ++made.events;
    if (seen.phase == "M") {
      if (seen.name == "HH") made.host = detail::shown_text(seen.value);
      if (seen.name == "plan") made.plan = detail::shown_text(seen.value);
      continue;
    }
    first = timed ? (std::min)(first, seen.at) : seen.at;
    last = (std::max)(last, seen.at + seen.duration);
    timed = true;
    for (auto const& [key, value] : counted) {
      auto& most = peaks[detail::shown_text(std::string(seen.name) + " " + std::string(key))];
      most = (std::max)(most, value);
    }
    if (seen.phase != "X") continue;
    if (seen.category == "cairn") {
      if (seen.name == "start") made.version = seen.version, made.date = seen.date;
      if (seen.name == "end") made.ended = !made.repaired;
      continue;
    }
    detail::inner_events in;
    if (auto const found = inside.find(seen.id); found != inside.end()) {
      in = std::move(found->second);
      inside.erase(found);
    }
    std::string const phase{seen.category}, operation{seen.name}, layer = detail::layer_of(seen);
    double const self = (std::max)(seen.duration - in.all, 0.0);
    auto const add = [&](detail::trace_table& table, std::string const& name, auto const& same) {
      auto const again = same.find(name);
      table.add(name, seen.duration - (again == same.end() ? 0 : again->second), self, seen.duration);
    };
    add(phases, phase, in.by_phase);
    add(operations, operation, in.by_operation);
    if (!layer.empty()) add(layers, layer, in.by_layer);
    if (seen.parent < 0) continue;
    auto& around = inside[seen.parent];
    around.all += seen.duration;
    around.by_phase[phase] += seen.duration;
    around.by_operation[operation] += seen.duration;
    if (!layer.empty()) around.by_layer[layer] += seen.duration;
  }
  made.span_us = last - first;
  made.by_phase = std::move(phases).sorted();
  made.by_layer = std::move(layers).sorted();
  made.by_operation = std::move(operations).sorted();
  for (auto const& [name, most] : peaks) made.peaks.push_back({name, most});
  return made;
}

CAIRN_DECL std::string text_of(trace_summary const& summary, std::size_t most_rows) {
  auto const most = (std::max)(most_rows, std::size_t{1});
  char figures[120];
  std::snprintf(figures, sizeof figures, "%llu events over %.3f ms",
                static_cast<unsigned long long>(summary.events), summary.span_us / 1000);
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
  text += detail::table_text("by phase", summary.by_phase, most);
  text += detail::table_text("by layer", summary.by_layer, most);
  text += detail::table_text("by operation", summary.by_operation, most);
  for (auto const& peak : summary.peaks) {
    std::snprintf(figures, sizeof figures, "%.0f", peak.most);
    text.append("most of ").append(peak.name).append(": ").append(figures).append("\n");
  }
  return text;
}

}  // namespace cairn
