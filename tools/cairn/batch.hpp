// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file batch.hpp  Answers requests line by line.
#include <iosfwd>
#include <optional>
#include <string>
#include "request.hpp"

namespace tool {

/// Answers each line in order, including empty and wrong ones: `{"error":"..."}`. No line affects a later one. Answers
/// are flushed before the next line is awaited, so that a program can ask, read the answer and ask again.
/// \param time_limit  seconds that all lines may take together
void answer_lines(std::istream& from, std::ostream& to, std::optional<double> time_limit = std::nullopt);

/// The request on a line; empty if it cannot be read.
[[nodiscard]] std::optional<request> read_request(std::string const& line);

}  // namespace tool
