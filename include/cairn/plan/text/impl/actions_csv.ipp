// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>
#include <cstdint>
#include <cairn/plan/text/actions_csv.hpp>
#include <cairn/core/error.hpp>
#include <cairn/plan/text/detail/read_actions.hpp>

namespace cairn {
namespace detail {

class csv_actions_reader {
 public:
  explicit csv_actions_reader(std::string_view text) : rest_{text} {
    if (rest_.starts_with("\xEF\xBB\xBF")) rest_.remove_prefix(3);  // some spreadsheets write this mark first
  }
  [[nodiscard]] action_list read() {
    head();
    columns();
    while (next_row()) row();
    return plan_.result(here());
  }

 private:
  static constexpr char const* who = "cairn::read_actions_csv";
  static constexpr std::size_t most_columns = 6;
  static constexpr std::string_view names[most_columns]{"action", "from", "to", "slot", "what", "tier"};

  [[nodiscard]] reading_at here() const noexcept { return {who, {"line", number_}}; }

  // Goes to the next non-empty line; returns false if there is none.
  bool next_line() {
    while (!rest_.empty()) {
      ++number_;
      std::size_t const end = rest_.find('\n');
      line_ = rest_.substr(0, end);
      rest_.remove_prefix(end == rest_.npos ? rest_.size() : end + 1);
      line_ = trimmed(line_);
      if (!line_.empty()) return true;
    }
    return false;
  }
  // The same, skipping comments.
  bool next_row() {
    bool there = next_line();
    while (there && line_.starts_with('#')) there = next_line();
    return there;
  }
  [[nodiscard]] static std::string_view trimmed(std::string_view cell) noexcept {
    constexpr std::string_view blanks = " \t\r";
    std::size_t const first = cell.find_first_not_of(blanks);
    if (first == cell.npos) return {};
    return cell.substr(first, cell.find_last_not_of(blanks) - first + 1);
  }
  void head() {
    constexpr std::string_view title = "# cairn schedule:", between = " \t,";
    if (!next_line() || !line_.starts_with(title))
      throw parse_error{
          who, "this is not a list of actions", {here().place}, "the first line begins with \"# cairn schedule:\""};
    for (line_.remove_prefix(title.size());;) {
      std::size_t const first = line_.find_first_not_of(between);
      if (first == line_.npos) break;
      line_.remove_prefix(first);
      std::string_view const pair = line_.substr(0, line_.find_first_of(between));
      std::size_t const equals = pair.find('=');
      if (equals == pair.npos)
        throw parse_error{
            who, "not a name with a value", {here().place}, "numbers of the plan are written as steps=10"};
      plan_.set(pair.substr(0, equals), pair.substr(equals + 1), here());
      line_.remove_prefix(pair.size());
    }
  }
  // Calls use(number of the cell, cell) for each cell and returns their number.
  template <class Use>
  std::size_t each_cell(Use use) const {
    std::string_view left = line_;
    for (std::size_t k = 0;; ++k) {
      std::size_t const comma = left.find(',');
      use(k, trimmed(left.substr(0, comma)));
      if (comma == left.npos) return k + 1;
      left.remove_prefix(comma + 1);
    }
  }
  void columns() {
    bool const there = next_row();
    bool known = there, seen[most_columns] = {};
    if (there)
      width_ = each_cell([&](std::size_t k, std::string_view cell) {
        std::size_t name = 0;
        while (name < most_columns && names[name] != cell) ++name;
        known = known && k < most_columns && name < most_columns && !seen[name];
        if (known) seen[column_[k] = name] = true;
      });
    if (!known || !seen[0])
      throw parse_error{who, "the columns are not those of actions", {here().place},
                        "the second line is action,from,to,slot,what,tier; only action must be there"};
  }
  void row() {
    std::string_view cells[most_columns];
    std::size_t const count = each_cell([&](std::size_t k, std::string_view cell) {
      if (k < width_) cells[column_[k]] = cell;
    });
    if (count != width_)
      throw parse_error{who,
                        "a line with too few or too many cells",
                        {here().place, {"cells", count}, {"columns", width_}},
                        "each line has one cell for each column"};
    plan_.add({cells[0], cells[1], cells[2], cells[3], cells[4], cells[5]}, here());
  }

  std::string_view rest_, line_;
  std::uint64_t number_ = 0;
  std::size_t width_ = 0;
  std::size_t column_[most_columns] = {};  // cell -> index in `names`
  action_list_reader plan_;
};

}  // namespace detail

CAIRN_DECL std::string actions_csv_row(action const& a) {
  std::string line{word_of(a.kind)};
  auto const cell = [&](bool said, auto value) {
    line += ',';
    if (said) line += std::to_string(value);
  };
  cell(detail::has_from(a.kind), a.from);
  cell(detail::has_to(a.kind), a.to);
  cell(a.slot != no_slot, a.slot);
  line += ',';
  if (a.what == content::tape || a.what != detail::usual_content(a.kind)) line += word_of(a.what);
  line += ',';
  if (a.where != tier::memory) line += word_of(a.where);
  return line += '\n';
}

CAIRN_DECL action_list read_actions_csv(std::string_view text) { return detail::csv_actions_reader{text}.read(); }

}  // namespace cairn
