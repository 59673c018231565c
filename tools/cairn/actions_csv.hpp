#pragma once
/// \file actions_csv.hpp  The actions of a plan, one a line.
#include <iosfwd>
#include <cairn/schedule/any.hpp>

namespace tool {

/// The longest loop whose actions are written out.
inline constexpr cairn::step_index most_listed_steps = 1'000'000;

/// \throws wrong_request   for more steps than `most_listed_steps`
void refuse_long_list(cairn::any_schedule const& plan);

/// Columns action, from, to, slot; a cell is empty where it says nothing. A save or load names its state in `from`.
void write_actions(std::ostream& to, cairn::any_schedule const& plan);

}  // namespace tool
