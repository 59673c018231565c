// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file answer.hpp  The figures of a plan: one JSON object on one line, or a table for people.
#include <string>
#include "planning.hpp"

namespace tool {

/// The members of the JSON object, without its braces. Members that do not apply to the schedule are null; bytes are
/// included only if the size of a state is given.
[[nodiscard]] std::string json_members(planned const& found);
/// "revolve, 1,000 steps, 10 slots".
[[nodiscard]] std::string title(planned const& found);
[[nodiscard]] std::string table(planned const& found);
/// The last line of an answer: whether slots, or units, count the initial state.
[[nodiscard]] std::string slots_line(planned const& found);
/// The plan's remark on the request, as a line; empty if there is none.
[[nodiscard]] std::string note(planned const& found);

}  // namespace tool
