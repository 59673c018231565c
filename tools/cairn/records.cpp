// SPDX-License-Identifier: Apache-2.0
#include "records.hpp"

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <cstdio>
#include <optional>
#include <system_error>

#include <cairn/core/bytes.hpp>

#include "columns.hpp"
#include "keys.hpp"
#include "numbers.hpp"
#include "wrong_request.hpp"

namespace tool {
namespace {

constexpr std::size_t widest_cell = 60;

/// Reads cells one after the other.
class csv_reader {
 public:
  csv_reader(std::string_view text, std::string const& name) : text_{text}, name_{name} {}

  /// The cells of the next line that is no remark; nothing at the end.
  [[nodiscard]] std::optional<std::vector<std::string>> next() {
    while (!text_.empty() && (text_.front() == '#' || text_.front() == '\n' || text_.starts_with("\r\n"))) {
      auto const end = text_.find('\n');
      text_.remove_prefix(end == text_.npos ? text_.size() : end + 1);
      ++line_;
    }
    if (text_.empty()) return std::nullopt;
    began_ = ++line_;
    std::vector<std::string> cells;
    while (cell(cells.emplace_back())) {}
    return cells;
  }
  [[noreturn]] void refuse(std::string const& what) const {
    throw wrong_request{tool::quoted(name_) + ", line " + std::to_string(began_) + ": " + what};
  }

 private:
  /// Returns whether another one follows on the line.
  bool cell(std::string& into) {
    if (text_.starts_with('"')) {
      for (text_.remove_prefix(1);; text_.remove_prefix(1)) {
        if (text_.empty()) refuse("a quotation mark has no other; write both, or none");
        if (text_.front() == '"') {
          text_.remove_prefix(1);
          if (!text_.starts_with('"')) break;
        }
        line_ += text_.front() == '\n';
        into += text_.front();
      }
      if (!text_.empty() && text_.front() != ',' && text_.front() != '\n' && !text_.starts_with("\r\n"))
        refuse("there is text after a cell in quotation marks; end the cell with a comma or the line");
    } else {
      auto const end = std::min(text_.find_first_of(",\n"), text_.size());
      into = text_.substr(0, end);
      text_.remove_prefix(end);
      if (into.ends_with('\r') && !text_.starts_with(',')) into.pop_back();
    }
    if (text_.starts_with('\r')) text_.remove_prefix(1);
    bool const more = text_.starts_with(',');
    if (!text_.empty()) text_.remove_prefix(1);
    return more;
  }

  std::string_view text_;
  std::string const& name_;
  std::size_t line_ = 0, began_ = 0;
};

template <class Number>
[[nodiscard]] std::optional<Number> number_in(std::string_view cell) {
  Number number{};
  auto const [end, problem] = std::from_chars(cell.data(), cell.data() + cell.size(), number);
  if (problem != std::errc{} || end != cell.data() + cell.size()) return std::nullopt;
  return number;
}
[[nodiscard]] std::string digits_of(char const* form, double value) {
  char text[64];
  std::snprintf(text, sizeof text, form, value);
  return text;
}
[[nodiscard]] std::string seconds_text(double seconds) {
  if (seconds == 0) return "0 s";
  if (seconds < 1e-6) return digits_of("%.3g ns", seconds * 1e9);
  if (seconds < 1e-3) return digits_of("%.3g us", seconds * 1e6);
  return seconds < 1 ? digits_of("%.3g ms", seconds * 1e3) : digits_of("%.4g s", seconds);
}
[[nodiscard]] bool is_number(std::string_view cell) { return number_in<double>(cell).has_value(); }

}  // namespace

records read_csv(std::string_view text, std::string const& name) {
  csv_reader reader{text, name};
  records table;
  if (auto columns = reader.next()) table.columns = std::move(*columns);
  if (table.columns.size() < 2)
    throw wrong_request{tool::quoted(name) + " is not a table of comma-separated values; give one"};
  while (auto cells = reader.next()) {
    if (cells->size() != table.columns.size())
      reader.refuse(counted(cells->size(), "cell") + " below " + counted(table.columns.size(), "column") +
                    "; write as many");
    table.rows.push_back(std::move(*cells));
  }
  return table;
}

std::string readable(std::string_view column, std::string_view cell) {
  bool const of_plans = column == "seconds" || column == "least_seconds";
  if (of_plans && number_in<double>(cell) == 0.0) return "-";  // no times were given
  if (auto const whole = number_in<std::int64_t>(cell)) {
    bool const bytes = column.ends_with("bytes") || column.ends_with("peak") || column == "budget";
    if (bytes && *whole >= 0) return cairn::to_short_text(cairn::wide(*whole)).c_str();
    if (!column.ends_with("_s") && !column.ends_with("seconds"))
      return std::string{*whole < 0 ? "-" : ""} +
             grouped(cairn::wide(*whole < 0 ? -(*whole + 1) : *whole) + (*whole < 0 ? 1 : 0));
  }
  if (auto const number = number_in<double>(cell))
    return column.ends_with("_s") || column.ends_with("seconds") ? seconds_text(*number) : digits_of("%.4g", *number);
  auto text = plain(cell);
  if (text.size() > widest_cell) text = text.substr(0, widest_cell - 3) + "...";
  return text;
}

std::string aligned(records const& table, std::size_t most) {
  auto const shown = std::min(table.rows.size(), most);
  std::vector<bool> numeric(table.columns.size(), true);
  std::vector<std::vector<std::string>> cells(shown + 1);
  cells.front() = table.columns;
  for (std::size_t c = 0; c < table.columns.size(); ++c)
    for (std::size_t r = 0; r < shown; ++r) {
      auto const& cell = table.rows[r][c];
      cells[r + 1].push_back(readable(table.columns[c], cell));
      numeric[c] = numeric[c] && (cell.empty() || is_number(cell));
    }
  std::string text;
  for (auto const& line : in_columns(cells, [&](std::size_t c) { return !numeric[c]; })) text += line;
  if (shown < table.rows.size()) text += "and " + counted(table.rows.size() - shown, "line") + " more\n";
  return text;
}

}  // namespace tool
