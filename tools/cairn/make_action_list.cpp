// SPDX-License-Identifier: Apache-2.0
// Schedules read from a file.
#include <cstddef>
#include <string>
#include <string_view>

#include <cairn/adapt/nlohmann_json.hpp>
#include <cairn/plan/loop/verified.hpp>
#include <cairn/plan/text/actions_csv.hpp>

#include "figures.hpp"
#include "files.hpp"
#include "scaled.hpp"
#include "what_it_does.hpp"

namespace tool {
namespace {

/// The most bytes of a list that is read: five lines for each of the most steps whose actions the tool writes.
constexpr std::size_t longest_list = std::size_t{256} << 20;

/// The place of action `number` in a list, as a message names it.
std::string place_of(std::string_view text, bool csv, cairn::wide number) {
  if (!csv) return "action " + digits(number);
  cairn::wide rows = 0, line = 0;
  while (!text.empty()) {
    ++line;
    auto const end = text.find('\n');
    auto const row = text.substr(0, end);
    auto const first = row.find_first_not_of(" \t\r");
    if (first != row.npos && row[first] != '#' && rows++ == number + 1) break;  // the first row names the columns
    text.remove_prefix(end == text.npos ? text.size() : end + 1);
  }
  return "action " + digits(number) + " on line " + digits(line);
}

planned action_list_plan(request const& asked) {
  std::string_view const name = asked.actions;
  bool const csv = name.ends_with(".csv");
  if (!csv && !name.ends_with(".json"))
    throw wrong_request{"\"" + asked.actions +
                        "\" is neither .csv nor .json; give a list of actions in one of these forms"};
  std::string const text = read_file(asked.actions, longest_list, "a file that is there and may be read");
  cairn::action_list const read = csv ? cairn::read_actions_csv(text) : cairn::read_actions_json(text);
  if (asked.steps && *asked.steps != read.steps())
    throw wrong_request{worded("$steps is ") + std::to_string(*asked.steps) + ", but the actions in \"" + asked.actions +
                        "\" are of " + std::to_string(read.steps()) + worded("; leave $steps out")};
  if (auto const found = cairn::check(read); !found)
    throw wrong_request{"\"" + asked.actions + "\", " + place_of(text, csv, cairn::wide(found.number)) + ": " +
                        cairn::describe(found.reason) + "; make it a list that an executor can obey"};
  auto result = figures(asked, cairn::verified{read}, read.slots());
  add_walked(result);
  result.walked = true;  // the check walked it, however long the loop is
  return result;
}

std::string list_words(planned const& found) {
  return "It is the list in " + found.asked.actions + ": every action was checked. It keeps up to " +
         (places(found).empty() ? "no state" : places(found)) + ".\n";
}
bool has_actions(request const& asked) { return !asked.actions.empty(); }

constexpr std::string_view for_list[] = {"actions"};

constexpr schedule_kind list_rows[] = {
    {"action_list", for_list, "$actions; give a file, as in cairn plan --actions FILE", has_actions, action_list_plan,
     list_words, nullptr, nullptr},
};

}  // namespace

std::span<schedule_kind const> kinds_of_lists() noexcept { return list_rows; }

}  // namespace tool
