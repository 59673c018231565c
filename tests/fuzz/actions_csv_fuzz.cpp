// SPDX-License-Identifier: Apache-2.0
// Actions as CSV: a text is refused, or it is a whole list that is read back from what it is written as.
#include <optional>
#include <string_view>
#include <utility>

#include "actions.hpp"

namespace {

/// Whether each row after the first line has only words and numbers in its cells: anything else there was read in part.
bool is_plain(std::string_view text) {
  for (bool is_head = true; !text.empty();) {
    auto const end = text.find('\n');
    auto row = text.substr(0, end);
    text.remove_prefix(end == text.npos ? text.size() : end + 1);
    auto const first = row.find_first_not_of(" \t\r");
    if (first == row.npos) continue;
    if (std::exchange(is_head, false) || row[first] == '#') continue;
    for (char before = ','; char const c : row) {
      bool const digit = c >= '0' && c <= '9', letter = c >= 'a' && c <= 'z',
                 between = c == ',' || c == ' ' || c == '\t' || c == '\r';
      if (!digit && !letter && !between) return false;
      if ((digit && before >= 'a') || (letter && before >= '0' && before <= '9')) return false;
      before = c;
    }
  }
  return true;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size) {
  std::string const text{fuzz::text_of(data, size)};
  std::optional<cairn::action_list> plan;
  if (fuzz::refuses<cairn::parse_error, cairn::invalid_plan>([&] { plan = cairn::read_actions_csv(text); })) return 0;
  fuzz::require_sound(*plan);
  fuzz::require(is_plain(text), "every cell is a word or a number");
  fuzz::require(fuzz::refuses<cairn::parse_error>([&] { (void)cairn::read_actions_csv(text + "\nno such thing\n"); }),
                "no text is read in part");
  return 0;
}
