// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file actions.hpp  The actions of a plan as text that `--actions` reads.
#include <iosfwd>
#include <cairn/schedule/any.hpp>

namespace tool {

/// The longest loops whose actions are written as CSV, one per line, and as JSON.
inline constexpr cairn::step_index most_csv_steps = 1'000'000, most_json_steps = 100'000;

/// \param form  the option that asks for the list   \throws wrong_request   for more than `most` steps
void refuse_long_list(cairn::any_schedule const& plan, char const* form, cairn::step_index most);

/// Like `cairn::actions_csv`, but written line by line.
void write_actions_csv(std::ostream& to, cairn::any_schedule const& plan);

/// Like `cairn::actions_json`, on one line.
void write_actions_json(std::ostream& to, cairn::any_schedule const& plan);

}  // namespace tool
