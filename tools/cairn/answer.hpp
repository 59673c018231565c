#pragma once
/// \file answer.hpp  The figures of a plan: one JSON object on one line, or a table for people.
#include <string>
#include "planning.hpp"

namespace tool {

/// The members of the JSON object, without its braces. What does not apply to the schedule is null; bytes are there
/// where a state's size is.
[[nodiscard]] std::string json_members(planned const& found);
/// "revolve, 1,000 steps, 10 slots".
[[nodiscard]] std::string title(planned const& found);
[[nodiscard]] std::string table(planned const& found);
/// Whether its slots, or its units, count the initial state; the last line of what is said of a plan.
[[nodiscard]] std::string slots_line(planned const& found);
/// What the plan remarks on what was asked for, as a line; empty where it does not.
[[nodiscard]] std::string note(planned const& found);

}  // namespace tool
