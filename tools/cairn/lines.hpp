// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file lines.hpp  Reads lines of bounded length, so that no input can make the program's memory grow.
#include <cstddef>
#include <istream>
#include <ostream>
#include <string>

namespace tool {

enum class line_kind : unsigned char { whole, too_long, none };

/// The next line, without its end; if it is too long, its first `most` characters. The last line may lack a line end.
[[nodiscard]] inline line_kind read_line(std::istream& from, std::string& line, std::size_t most) {
  using traits = std::istream::traits_type;
  auto& buffer = *from.rdbuf();
  line.clear();
  auto next = buffer.sbumpc();
  if (traits::eq_int_type(next, traits::eof())) return line_kind::none;
  bool too_long = false;
  for (; !traits::eq_int_type(next, traits::eof()) && next != '\n'; next = buffer.sbumpc()) {
    if (line.size() < most) line += traits::to_char_type(next);
    else too_long = true;
  }
  if (!line.empty() && line.back() == '\r') line.pop_back();
  return too_long ? line_kind::too_long : line_kind::whole;
}

/// Writes `answer(line, kind)` for each line in order. Answers are flushed before the next input is awaited.
template <class Answer>
void answer_each_line(std::istream& from, std::ostream& to, std::size_t most, Answer answer) {
  std::string line;
  for (line_kind kind; (kind = read_line(from, line, most)) != line_kind::none && to;) {
    to << answer(line, kind);
    if (from.rdbuf()->in_avail() <= 0) to.flush();
  }
}

}  // namespace tool
