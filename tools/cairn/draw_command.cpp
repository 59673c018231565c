// SPDX-License-Identifier: Apache-2.0
#include "draw_command.hpp"

#include <charconv>
#include <cstddef>
#include <cstdint>
#include <system_error>
#include <vector>

#include "files.hpp"
#include "keys.hpp"
#include "picture/batch.hpp"
#include "picture/breakdown.hpp"
#include "picture/memory_lines.hpp"
#include "records.hpp"
#include "wrong_request.hpp"

namespace tool {
namespace {

using columns = std::vector<std::string>;

/// The cells of a table as numbers.
class numbers_of {
 public:
  numbers_of(records const& table, std::string const& file) : table_{table}, file_{file} {}

  [[nodiscard]] std::int64_t whole(std::size_t row, std::size_t column) const {
    return read<std::int64_t>(row, column, "a whole number");
  }
  [[nodiscard]] double real(std::size_t row, std::size_t column) const {
    return table_.rows[row][column].empty() ? 0 : read<double>(row, column, "a number");
  }

 private:
  template <class Number>
  [[nodiscard]] Number read(std::size_t row, std::size_t column, char const* what) const {
    std::string const& text = table_.rows[row][column];
    Number number{};
    auto const [end, problem] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (problem != std::errc{} || end != text.data() + text.size())
      throw wrong_request{tool::quoted(file_) + ", row " + std::to_string(row + 1) + ": " + table_.columns[column] + " is " +
                          tool::quoted(text) + "; give " + what};
    return number;
  }

  records const& table_;
  std::string const& file_;
};

/// The one of `all` with this name; a new one at its end if there is none.
template <class Named>
[[nodiscard]] Named& named(std::vector<Named>& all, std::string const& name) {
  for (auto& one : all)
    if (one.name == name) return one;
  return all.emplace_back(Named{name, {}});
}

[[nodiscard]] std::string curves(records const& table, numbers_of const& number, asked_drawing const& asked) {
  bool const timed = table.columns.size() == 4;
  std::vector<picture::memory_line> lines;
  for (std::size_t row = 0; row < table.rows.size(); ++row)
    named(lines, table.rows[row][0])
        .samples.push_back(timed ? cairn::memory_sample{number.whole(row, 1), number.whole(row, 2), number.whole(row, 3)}
                                 : cairn::memory_sample{0, 0, number.whole(row, 1)});
  return picture::memory_lines_svg(lines, {.over_time = timed,
                                           .across = asked.across.empty() ? "action" : asked.across,
                                           .first_is_predicted = asked.predicted,
                                           .title = asked.title});
}

[[nodiscard]] std::string batches(records const& table, numbers_of const& number, asked_drawing const& asked) {
  std::vector<picture::batch_series> series;
  for (std::size_t row = 0; row < table.rows.size(); ++row)
    named(series, table.rows[row][0]).figures.push_back({number.whole(row, 1), number.whole(row, 2), number.real(row, 3)});
  auto const limit = asked.limit.empty() ? 0 : std::int64_t(size_of("limit", asked.limit).count());
  return picture::batch_svg(series, limit, asked.title);
}

[[nodiscard]] std::string parts(records const& table, numbers_of const& number, asked_drawing const& asked) {
  using enum picture::breakdown_unit;
  if (!asked.unit.empty() && asked.unit != "bytes" && asked.unit != "nanoseconds" && asked.unit != "count")
    refuse_value("unit", asked.unit, "bytes, nanoseconds or count");
  picture::breakdown of{.kinds = {table.columns.begin() + 1, table.columns.end()},
                        .rows = {},
                        .unit = asked.unit == "nanoseconds" ? nanoseconds : asked.unit == "count" ? count : bytes,
                        .across = table.columns.front(),
                        .title = asked.title};
  for (std::size_t row = 0; row < table.rows.size(); ++row) {
    auto& one = of.rows.emplace_back(picture::breakdown_row{table.rows[row][0], {}});
    for (std::size_t k = 1; k < table.columns.size(); ++k) one.values.push_back(number.whole(row, k));
  }
  return breakdown_svg(of);
}

}  // namespace

std::string drawing_of(asked_drawing const& asked) {
  if (asked.file.empty())
    throw wrong_request{"no table is given; give one as in cairn draw FILE.csv --svg FILE.svg, - for standard input"};
  auto const table = read_csv(read_file(asked.file, longest_text), asked.file);
  numbers_of const number{table, asked.file};
  bool const of_curves = table.columns == columns{"curve", "bytes"} ||
                         table.columns == columns{"curve", "begin_ns", "end_ns", "bytes"},
             of_batches = table.columns == columns{"series", "batch", "peak_bytes", "seconds"};
  if (!of_curves && (asked.predicted || !asked.across.empty()))
    throw wrong_request{"--predicted and --across are of curves, whose columns are curve,bytes or "
                        "curve,begin_ns,end_ns,bytes; leave them out"};
  if (!of_batches && !asked.limit.empty())
    throw wrong_request{"--limit is of batches, whose columns are series,batch,peak_bytes,seconds; leave it out"};
  if ((of_curves || of_batches) && !asked.unit.empty())
    throw wrong_request{"--unit is of parts, a column for each below a first one with names; leave it out"};
  auto const picture = of_curves    ? curves(table, number, asked)
                       : of_batches ? batches(table, number, asked)
                                    : parts(table, number, asked);
  if (asked.svg.empty()) return picture;
  write_file(asked.svg, picture);
  return "";
}

}  // namespace tool
