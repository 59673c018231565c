// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file profile_command.hpp  Answers `cairn profile`, and `cairn report` of the tables of a profile.
#include <optional>
#include <string>
#include <string_view>

namespace tool {

/// The tables and pictures of a measured graph or chain, written into a folder; says what they show.
/// \param file  a graph or a chain as JSON, with times in nanoseconds; "-" for standard input   \param folder  "" for
///   the present one   \throws wrong_request, cairn::error
[[nodiscard]] std::string profile_files_of(std::string const& file, std::string const& folder);

/// Draws the pictures of all profiles and tables of batches in a folder beside them; says how many.
/// \throws wrong_request, cairn::error   for a folder without a profile, and for tables that are not what they say
[[nodiscard]] std::string profile_pictures_of(std::string const& folder);

/// What a table of nodes or of activations of a profile says; nothing for any other table.
/// \throws cairn::parse_error   with the number of the line
[[nodiscard]] std::optional<std::string> report_of_profile(std::string_view table);

}  // namespace tool
