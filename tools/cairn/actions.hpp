#pragma once
/// \file actions.hpp  The actions of a plan as text that `--actions` reads back.
#include <iosfwd>
#include <cairn/schedule/any.hpp>

namespace tool {

/// The longest loop whose actions are written out a line each, and as JSON.
inline constexpr cairn::step_index most_csv_steps = 1'000'000, most_json_steps = 100'000;

/// \param form  the option that asks for it   \throws wrong_request   for more than `most` steps
void refuse_long_list(cairn::any_schedule const& plan, char const* form, cairn::step_index most);

/// As `cairn::actions_csv`, a line at a time.
void write_actions_csv(std::ostream& to, cairn::any_schedule const& plan);

/// As `cairn::actions_json`, on one line.
void write_actions_json(std::ostream& to, cairn::any_schedule const& plan);

}  // namespace tool
