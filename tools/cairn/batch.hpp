#pragma once
/// \file batch.hpp  One request a line, one answer a line.
#include <iosfwd>

namespace tool {

/// Answers each line in order, also the empty ones and those that are wrong: `{"error":"..."}`. Keeps nothing from one line to the next.
/// Answers are handed on before the input is waited for, so that a program may ask, read the answer and ask again.
void answer_lines(std::istream& from, std::ostream& to);

}  // namespace tool
