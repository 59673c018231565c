#pragma once
/// \file batch.hpp  One request a line, one answer a line.
#include <iosfwd>
#include <optional>
#include <string>
#include "request.hpp"

namespace tool {

/// Answers each line in order, also the empty ones and those that are wrong: `{"error":"..."}`. Keeps nothing from one
/// line to the next. Answers are handed on before the input is waited for, so that a program may ask, read the answer
/// and ask again.
void answer_lines(std::istream& from, std::ostream& to);

/// What a line asks for; nothing where it cannot be read.
[[nodiscard]] std::optional<request> read_request(std::string const& line);

}  // namespace tool
