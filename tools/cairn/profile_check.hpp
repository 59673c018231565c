// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file profile_check.hpp  Answers `cairn profile --check`.
#include <string>
#include <cairn/core/error.hpp>

namespace tool {

/// Checks that a folder holds whole profiles: for each table of nodes that of its activations and the pictures, and for
/// each table of batches its pictures; tables with their columns and numbers, ranks and uses in order, parts that add
/// up, pictures that are XML. Says how many there are.
/// \param message_of  what is said of an error of the library
/// \throws wrong_request   with the first fault, and how many more there are
[[nodiscard]] std::string checked_profiles(std::string const& folder, std::string (*message_of)(cairn::error const&));

}  // namespace tool
