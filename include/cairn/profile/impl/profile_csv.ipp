// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <charconv>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <system_error>
#include <utility>
#include <vector>
#include <cairn/profile/profile_csv.hpp>
#include <cairn/core/error.hpp>
#include <cairn/plan/text/detail/quantities.hpp>

namespace cairn {
namespace detail {

/// Writes one line of cells.
class csv_line {
 public:
  csv_line& add(std::string_view cell) {
    next();
    if (cell.find_first_of(",\"\r\n") == cell.npos) {
      text_ += cell;
      return *this;
    }
    text_ += '"';
    for (char const c : cell) {
      if (c == '"') text_ += '"';
      text_ += c;
    }
    text_ += '"';
    return *this;
  }
  csv_line& add(std::int64_t number) { return put(std::to_string(number)); }
  csv_line& add(double number) { return put(exact_text(number)); }
  [[nodiscard]] std::string take() && { return std::move(text_) + '\n'; }

 private:
  csv_line& put(std::string const& cell) {
    next();
    text_ += cell;
    return *this;
  }
  void next() {
    if (!is_first_) text_ += ',';
    is_first_ = false;
  }
  std::string text_;
  bool is_first_ = true;
};

/// Reads a table line by line, and the cells of a line from left to right.
class csv_table {
 public:
  /// \param columns  what the first line must be
  csv_table(std::string_view text, std::string_view columns) : rest_{text} {
    if (rest_.starts_with("\xEF\xBB\xBF")) rest_.remove_prefix(3);  // some spreadsheets write this mark first
    std::size_t const end = rest_.find('\n');
    std::string_view head = rest_.substr(0, end);
    if (head.ends_with('\r')) head.remove_suffix(1);
    if (head != columns)
      refuse("a table of a profile has the wrong columns",
             "give the two files that save_stats_to_csv wrote, that of nodes first");
    rest_.remove_prefix(end == rest_.npos ? rest_.size() : end + 1);
    while (!columns.empty()) {
      std::size_t const comma = columns.find(',');
      ++width_;
      columns.remove_prefix(comma == columns.npos ? columns.size() : comma + 1);
    }
  }
  /// Goes to the next line; returns false after the last one.
  [[nodiscard]] bool next() {
    line_ = following_;
    while (rest_.starts_with('\n') || rest_.starts_with("\r\n")) {
      rest_.remove_prefix(rest_.starts_with('\n') ? 1 : 2);
      ++line_;
    }
    following_ = line_;
    if (rest_.empty()) return false;
    read_cells();
    at_ = 0;
    return true;
  }
  [[nodiscard]] std::string text() { return std::move(cells_[at_++]); }
  [[nodiscard]] std::int64_t whole() {
    std::string const& cell = cells_[at_++];
    std::int64_t number = -1;
    if (!is_read(cell, number) || number < 0)
      refuse("a cell of a profile is not a whole number", "ranks and bytes are numbers from 0 to 2^63-1");
    return number;
  }
  [[nodiscard]] double seconds() {
    std::string const& cell = cells_[at_++];
    double number = -1;
    if (!is_read(cell, number) || !std::isfinite(number) || number < 0)
      refuse("a cell of a profile is not a time", "times are seconds, 0 or more");
    return number;
  }
  /// The value among `all` whose word is in the cell.
  template <class Value, std::size_t Count>
  [[nodiscard]] Value one_of(Value const (&all)[Count]) {
    std::string const& cell = cells_[at_++];
    for (Value const value : all)
      if (word_of(value) == cell) return value;
    refuse("a cell of a profile has a word that its column does not allow",
           "types are PARAM, ACT, GRAD, OPT_STATE and OTHER; parts are forward, backward and other");
  }

 private:
  template <class Number>
  [[nodiscard]] static bool is_read(std::string const& cell, Number& into) {
    auto const [end, problem] = std::from_chars(cell.data(), cell.data() + cell.size(), into);
    return problem == std::errc{} && end == cell.data() + cell.size();
  }
  [[noreturn]] void refuse(char const* problem, char const* advice) const {
    throw parse_error{"cairn::read_profile_csv", problem, {{"line", line_}}, advice};
  }
  void read_cells() {
    cells_.assign(1, {});
    following_ = line_ + 1;
    while (!rest_.empty()) {
      char const c = rest_.front();
      rest_.remove_prefix(1);
      if (c == '\n') break;
      if (c == ',') cells_.emplace_back();
      else if (c == '"' && cells_.back().empty()) read_quoted();
      else if (c != '\r' || !rest_.starts_with('\n')) cells_.back() += c;
    }
    if (cells_.size() != width_)
      refuse("a line of a profile has too few or too many cells", "each line has one cell for each column");
  }
  void read_quoted() {
    for (;;) {
      std::size_t const end = rest_.find('"');
      if (end == rest_.npos) refuse("a quote of a profile has no end", "a quote inside quotes is written twice");
      cells_.back() += rest_.substr(0, end);
      for (char const c : rest_.substr(0, end)) following_ += c == '\n';
      rest_.remove_prefix(end + 1);
      if (!rest_.starts_with('"')) return;
      cells_.back() += '"';
      rest_.remove_prefix(1);
    }
  }

  std::string_view rest_;
  std::size_t width_ = 0, at_ = 0;
  std::uint64_t line_ = 1, following_ = 2;  ///< numbers of this line and of the next
  std::vector<std::string> cells_;
};

}  // namespace detail

CAIRN_DECL std::string node_stats_csv(profile_stats const& stats) {
  std::string text = std::string{node_stats_columns} + '\n';
  for (auto const& row : stats.nodes) {
    detail::csv_line line;
    line.add(row.rank).add(row.node_name).add(word_of(row.type)).add(word_of(row.gtype)).add(row.median_run_time_s);
    line.add(row.median_peak_mem_bytes).add(row.median_active_mem_bytes).add(row.device);
    text += std::move(line).take();
  }
  return text;
}

CAIRN_DECL std::string activation_stats_csv(profile_stats const& stats) {
  std::string text = std::string{activation_stats_columns} + '\n';
  for (auto const& row : stats.activations) {
    detail::csv_line line;
    line.add(row.activation_name).add(row.creation_rank).add(row.last_fw_use_rank).add(row.first_bw_use_rank);
    line.add(row.last_bw_use_rank).add(row.median_mem_size_bytes).add(row.inactive_time_s).add(row.recomp_time_s);
    line.add(row.recomp_memory_bytes);
    text += std::move(line).take();
  }
  return text;
}

CAIRN_DECL profile_stats read_profile_csv(std::string_view nodes, std::string_view activations) {
  profile_stats stats;
  detail::csv_table node{nodes, node_stats_columns};
  while (node.next()) {
    node_stats row;
    row.rank = node.whole();
    row.node_name = node.text();
    row.type = node.one_of({node_type::param, node_type::act, node_type::grad, node_type::opt_state, node_type::other});
    row.gtype = node.one_of({graph_type::forward, graph_type::backward, graph_type::other});
    row.median_run_time_s = node.seconds();
    row.median_peak_mem_bytes = node.whole();
    row.median_active_mem_bytes = node.whole();
    row.device = node.text();
    stats.nodes.push_back(std::move(row));
  }
  detail::csv_table one{activations, activation_stats_columns};
  while (one.next()) {
    activation_stats row;
    row.activation_name = one.text();
    row.creation_rank = one.whole();
    row.last_fw_use_rank = one.whole();
    row.first_bw_use_rank = one.whole();
    row.last_bw_use_rank = one.whole();
    row.median_mem_size_bytes = one.whole();
    row.inactive_time_s = one.seconds();
    row.recomp_time_s = one.seconds();
    row.recomp_memory_bytes = one.whole();
    stats.activations.push_back(std::move(row));
  }
  return stats;
}

}  // namespace cairn
