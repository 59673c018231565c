// SPDX-License-Identifier: Apache-2.0
#include "report.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <optional>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

#include "answer.hpp"
#include "files.hpp"
#include "keys.hpp"
#include "numbers.hpp"
#include "outer_members.hpp"
#include "planning.hpp"
#include "profile_command.hpp"
#include "records.hpp"
#include "request.hpp"
#include "wrong_request.hpp"

namespace tool {
namespace {

using json = nlohmann::ordered_json;

/// A list of actions is a plan, which is checked and counted.
[[nodiscard]] std::string report_of_actions(std::string const& file) {
  request asked;
  asked.actions = file;
  return table(plan_of(asked));
}

/// The row with the least number in a column.
[[nodiscard]] std::optional<std::size_t> least(records const& table, std::string_view column) {
  auto const at = std::find(table.columns.begin(), table.columns.end(), column);
  if (at == table.columns.end() || table.rows.empty()) return std::nullopt;
  auto const c = std::size_t(at - table.columns.begin());
  std::size_t best = 0;
  for (std::size_t r = 1; r < table.rows.size(); ++r)
    if (std::strtod(table.rows[r][c].c_str(), nullptr) < std::strtod(table.rows[best][c].c_str(), nullptr)) best = r;
  return best;
}
/// What the ends of a curve of plans are: the smallest plan and the fastest.
[[nodiscard]] std::string ends_of(records const& table) {
  std::string text;
  for (char const* const memory : {"bytes", "peak"})
    for (char const* const time : {"seconds", "makespan", "step_calls"}) {
      auto const small = least(table, memory), fast = least(table, time);
      if (!small || !fast || !text.empty()) continue;
      auto const cell = [&](std::size_t row, char const* column) {
        auto const at = std::find(table.columns.begin(), table.columns.end(), column) - table.columns.begin();
        auto const c = std::size_t(at);
        return readable(column, table.rows[row][c]);
      };
      if (least(table, "seconds") && cell(*fast, time) == "-") continue;  // no times were given
      auto const says = [&](char const* what, std::size_t row) {
        text += std::string{what} + ": " + cell(row, memory) + ", " + time + ' ' + cell(row, time) + '\n';
      };
      says("least memory", *small);
      says("least time", *fast);
    }
  return text;
}
[[nodiscard]] std::string report_of_table(records const& table) {
  return counted(table.rows.size(), "row") + '\n' + aligned(table) + ends_of(table);
}

[[nodiscard]] std::string cell_of(json const& value) {
  if (value.is_null()) return "";
  return value.is_string() ? value.get<std::string>() : value.dump(-1, ' ', false, json::error_handler_t::replace);
}
[[nodiscard]] bool is_list_of_objects(json const& value) {
  return value.is_array() && !value.empty() &&
         std::all_of(value.begin(), value.end(), [](auto const& one) { return one.is_object(); });
}
[[nodiscard]] records records_of(json const& list) {
  records table;
  for (auto const& one : list)
    for (auto const& [key, value] : one.items())
      if (std::find(table.columns.begin(), table.columns.end(), key) == table.columns.end())
        table.columns.push_back(key);
  for (auto const& one : list) {
    auto& row = table.rows.emplace_back();
    for (auto const& column : table.columns) row.push_back(one.contains(column) ? cell_of(one[column]) : "");
  }
  return table;
}
/// Members one below the other, then those that are objects or lists of objects, each with its name.
[[nodiscard]] std::string report_of_object(json const& object) {
  std::size_t width = 0;
  auto const stands_apart = [](json const& value) { return value.is_object() || is_list_of_objects(value); };
  for (auto const& [key, value] : object.items())
    if (!stands_apart(value) && !value.is_null()) width = std::max(width, key.size());
  std::string text;
  for (auto const& [key, value] : object.items())
    if (!stands_apart(value) && !value.is_null())
      text += key + std::string(width + 2 - key.size(), ' ') + readable(key, cell_of(value)) + '\n';
  for (auto const& [key, value] : object.items())
    if (stands_apart(value))
      text.append(text.empty() ? "" : "\n")
          .append(plain(key))
          .append(":\n")
          .append(value.is_object() ? report_of_object(value) : report_of_table(records_of(value)));
  return text;
}

}  // namespace

std::string report_of(std::string const& file) {
  if (file.empty()) throw wrong_request{"no file is given; give one as in cairn report FILE.csv, - for standard input"};
  std::string const text = read_file(file, longest_text);
  auto const first = text.find_first_not_of(" \t\r\n");
  if (first == text.npos)
    throw wrong_request{tool::quoted(file) + " is empty; give a CSV or JSON that cairn has written"};
  if (text[first] != '{' && text[first] != '[') {
    if (auto const profile = report_of_profile(std::string_view{text}.substr(first))) return *profile;
    auto const table = read_csv(text, file);
    bool const actions = table.columns.front() == "action" && file.ends_with(".csv");
    return actions ? report_of_actions(file) : report_of_table(table);
  }
  if (file.ends_with(".json") && has_member(text, "actions")) return report_of_actions(file);
  constexpr int deepest = 8;  // of what cairn writes; a text that is nested without end must not fill the memory
  bool too_deep = false;
  json const value = json::parse(
      text, [&](int depth, json::parse_event_t, json&) { return !(too_deep = too_deep || depth > deepest); }, false);
  if (too_deep || value.is_discarded() || !(value.is_object() || is_list_of_objects(value)))
    throw wrong_request{tool::quoted(file) +
                        " is neither JSON of objects nor a table of comma-separated values; give one that cairn has "
                        "written"};
  return value.is_object() ? report_of_object(value) : report_of_table(records_of(value));
}

}  // namespace tool
