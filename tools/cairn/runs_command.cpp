// SPDX-License-Identifier: Apache-2.0
#include "runs_command.hpp"

#include "wrong_request.hpp"

#ifdef CAIRN_TOOL_DISK
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <ctime>
#include <cxxabi.h>
#include <optional>
#include <string_view>
#include <vector>

#include <cairn/adapt/disk/stored_runs.hpp>
#include <cairn/core/bytes.hpp>

#include "columns.hpp"
#include "json_text.hpp"
#include "keys.hpp"
#include "numbers.hpp"

namespace tool {
namespace {

[[nodiscard]] std::string size(std::uint64_t bytes) { return cairn::to_short_text(cairn::wide(bytes)).c_str(); }
[[nodiscard]] std::string local_time(std::int64_t seconds) {
  std::time_t const when = std::time_t(seconds);
  std::tm parts{};
  char text[32] = "never";
  if (seconds > 0 && ::localtime_r(&when, &parts) != nullptr)
    (void)std::strftime(text, sizeof text, "%Y-%m-%d %H:%M", &parts);
  return text;
}

/// Lines of columns, as wide as what is in them; all but the first two are numbers.
template <std::size_t Columns>
class rows {
 public:
  void add(std::array<std::string, Columns> const& row) { all_.push_back({row, ""}); }
  void note(std::string const& text) { all_.back().second += "  " + text + '\n'; }
  [[nodiscard]] std::string text() const {
    std::vector<std::vector<std::string>> cells;
    for (auto const& [row, notes] : all_) cells.emplace_back(row.begin(), row.end());
    auto const lines = in_columns(cells, [](std::size_t column) { return column < 2; });
    std::string text;
    for (std::size_t k = 0; k < lines.size(); ++k) text += lines[k] + all_[k].second;
    return text;
  }

 private:
  std::vector<std::pair<std::array<std::string, Columns>, std::string>> all_;
};

[[nodiscard]] std::string list_of(std::vector<std::string> const& names) {
  std::string text;
  for (auto const& name : names) text += (text.empty() ? "" : ", ") + name;
  return text;
}
[[nodiscard]] std::string json_list(std::vector<std::string> const& names) {
  std::string text;
  for (auto const& name : names) text += (text.empty() ? "" : ",") + json_string(name);
  return '[' + text + ']';
}

[[nodiscard]] std::vector<cairn::stored_run> runs_in(asked_runs const& asked, char const* command) {
  if (asked.folder.empty())
    throw wrong_request{"no folder is given; give the one that the program keeps its runs in, as in cairn " +
                        std::string{command} + " run.d"};
  auto found = cairn::stored_runs(asked.folder, asked.check);
  if (!found.empty()) return found;
  std::string name = asked.folder.substr(0, asked.folder.find_last_not_of('/') + 1);
  name.erase(0, name.rfind('/') + 1);
  bool const is_run = name.size() == 32 && name.find_first_not_of("0123456789abcdef") == name.npos;
  throw wrong_request{tool::quoted(asked.folder) + " has no runs in it; give the folder that " +
                      (is_run ? "this one is in" : "a program keeps its runs in")};
}

/// A type as it is written in C++.
[[nodiscard]] std::string type_text(std::string const& type) {
  int failed = 0;
  char* const text = abi::__cxa_demangle(type.c_str(), nullptr, nullptr, &failed);
  std::string const readable = failed == 0 && text != nullptr ? text : type;
  std::free(text);
  return readable;
}
/// What the run is known by: a line for each part.
[[nodiscard]] std::string part_text(cairn::known_part const& part) {
  std::string const text = part.name == "key" || part.name == "code" ? part.type : type_text(part.type);
  return part.name + std::string(part.name.size() < 9 ? 9 - part.name.size() : 0, ' ') + "  " + part.hash.substr(0, 12) +
         (text.empty() ? "" : "  " + text);
}
[[nodiscard]] std::string json_of(std::vector<cairn::known_part> const& parts) {
  std::string text;
  for (auto const& part : parts)
    text += (text.empty() ? "{\"part\":" : ",{\"part\":") + json_string(part.name) + ",\"type\":" +
            json_string(type_text(part.type)) + ",\"hash\":" + json_string(part.hash) + '}';
  return '[' + text + ']';
}

[[nodiscard]] std::string where_it_stands(cairn::stored_run const& run) {
  if (run.left == 0) return "finished";
  if (run.left > 0) return "steps [0, " + grouped(cairn::wide(run.left)) + ") are left";
  return run.checkpoints > 0 ? "not on its way back" : "nothing to go on from";
}
[[nodiscard]] std::string json_of(cairn::stored_run const& run) {
  auto const number = [](std::int64_t value) { return value < 0 ? "null" : json_number(cairn::wide(value)); };
  auto const truth = [](bool value) { return value ? "true" : "false"; };
  return "{\"run\":" + json_string(run.id) + ",\"steps\":" + number(run.steps) + ",\"left\":" + number(run.left) +
         ",\"finished\":" + truth(run.left == 0) + ",\"checkpoints\":" + number(run.checkpoints) +
         ",\"checkpoint_bytes\":" + json_number(cairn::wide(run.checkpoint_bytes)) +
         ",\"record_bytes\":" + json_number(cairn::wide(run.record_bytes)) +
         ",\"unwritten_bytes\":" + json_number(cairn::wide(run.unwritten_bytes)) +
         ",\"written\":" + number(run.written) + ",\"held\":" + truth(run.held) + ",\"owner\":" +
         json_string(run.owner) + ",\"damaged\":" + json_list(run.damaged) + ",\"unknown\":" + json_list(run.unknown) +
         ",\"others\":" + number(run.others) + ",\"known_by\":" + json_of(run.known_by) + ",\"nearest\":" +
         json_string(run.nearest) + ",\"differs\":" + json_list(run.differs) + '}';
}

constexpr char const* words_of(cairn::removal_reason why) noexcept {
  switch (why) {
    case cairn::removal_reason::finished: return "the run, which is finished";
    case cairn::removal_reason::unfinished: return "the run, which is not finished";
    case cairn::removal_reason::unusable: return "the run, of which nothing can be used";
    case cairn::removal_reason::left_over: return "what the run does not need";
  }
  return "";
}
constexpr char const* name_of(cairn::removal_reason why) noexcept {
  constexpr char const* names[] = {"finished", "unfinished", "unusable", "left_over"};
  return names[int(why)];
}

}  // namespace

std::string runs_of(asked_runs const& asked) {
  auto const found = runs_in(asked, "inspect");
  if (asked.json) {
    std::string text;
    for (auto const& run : found) text += (text.empty() ? "" : ",") + json_of(run);
    return "{\"folder\":" + json_string(asked.folder) + ",\"runs\":[" + text + "]}\n";
  }
  rows<7> table;
  table.add({"run", "stands", "steps", "states", "their bytes", "record", "last written"});
  std::uint64_t all = 0;
  for (auto const& run : found) {
    all += run.checkpoint_bytes + run.record_bytes + run.unwritten_bytes;
    table.add({run.id, where_it_stands(run), run.steps < 0 ? "-" : grouped(cairn::wide(run.steps)),
               grouped(cairn::wide(run.checkpoints)), size(run.checkpoint_bytes), size(run.record_bytes),
               local_time(run.written)});
    if (run.held) table.note("a process works on it: " + (run.owner.empty() ? "not known which" : run.owner));
    if (run.unwritten_bytes > 0) table.note("room for states that are not written yet: " + size(run.unwritten_bytes));
    if (!run.damaged.empty()) table.note("damaged: " + list_of(run.damaged));
    if (!run.unknown.empty())
      table.note("of another version, kind of machine or user, or not to be read: " + list_of(run.unknown));
    if (run.others > 0) table.note(counted(cairn::wide(run.others), "file") + " of others");
    if (!run.nearest.empty()) table.note("differs from " + run.nearest + " in " + list_of(run.differs));
    if (asked.parts)
      for (auto const& part : run.known_by) table.note(part_text(part));
  }
  return table.text() + counted(found.size(), "run") + ", " + size(all) + '\n';
}

std::string removal_of(asked_runs const& asked) {
  cairn::removal_rule rule;
  if (!asked.keep.empty()) rule.keep = count_of("keep", asked.keep, 0);
  if (!asked.older_than.empty()) {
    double const days = number_of("older_than", asked.older_than);
    if (days > 1e6) refuse_value("older_than", asked.older_than, "days, 0 to 1000000");
    rule.older_than = std::int64_t(days * 86'400);
  }
  rule.really = asked.yes;
  (void)runs_in(asked, "gc");
  auto const gone = cairn::remove_runs(asked.folder, rule);
  std::int64_t files = 0;
  std::uint64_t bytes = 0;
  for (auto const& one : gone) files += one.files, bytes += one.bytes;
  if (asked.json) {
    std::string text;
    for (auto const& one : gone)
      text += (text.empty() ? "{\"run\":" : ",{\"run\":") + json_string(one.id) + ",\"why\":\"" + name_of(one.why) +
              "\",\"files\":" + json_number(cairn::wide(one.files)) + ",\"bytes\":" +
              json_number(cairn::wide(one.bytes)) + '}';
    return "{\"folder\":" + json_string(asked.folder) + ",\"removed\":" + (asked.yes ? "true" : "false") +
           ",\"files\":" + json_number(cairn::wide(files)) + ",\"bytes\":" + json_number(cairn::wide(bytes)) +
           ",\"runs\":[" + text + "]}\n";
  }
  if (gone.empty()) return "there is nothing to remove\n";
  rows<4> table;
  table.add({"of run", "goes", "files", "bytes"});
  for (auto const& one : gone)
    table.add({one.id, words_of(one.why), grouped(cairn::wide(one.files)), size(one.bytes)});
  std::string const sum = counted(cairn::wide(files), "file") + ", " + size(bytes);
  return table.text() + (asked.yes ? "removed: " + sum + '\n' : "to be removed, by --yes: " + sum + '\n');
}

}  // namespace tool

#else

namespace tool {
namespace {

[[noreturn]] void refuse_runs() {
  throw wrong_request{
      "this command was built without xxHash, which the files of runs need; build it where that is installed (Debian: "
      "libxxhash-dev)"};
}

}  // namespace

std::string runs_of(asked_runs const&) { refuse_runs(); }
std::string removal_of(asked_runs const&) { refuse_runs(); }

}  // namespace tool

#endif
