// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file report.hpp  Answers `cairn report`: the contents of a file that cairn has written, in words.
#include <string>

namespace tool {

/// \param file  CSV or JSON of plans, or a table of a profile; "-" for standard input
/// \throws wrong_request, cairn::error
[[nodiscard]] std::string report_of(std::string const& file);

}  // namespace tool
