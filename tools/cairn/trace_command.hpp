// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file trace_command.hpp  Answers `cairn trace`.
#include <string>

namespace tool {

/// Where the time of a trace went.
/// \param rows  of each table at most; "" for 20   \throws wrong_request, cairn::error
[[nodiscard]] std::string trace_summary_of(std::string const& file, std::string const& rows);

/// Makes a trace whole, and says what it did.   \throws wrong_request, cairn::error
[[nodiscard]] std::string trace_repair_of(std::string const& file);

}  // namespace tool
