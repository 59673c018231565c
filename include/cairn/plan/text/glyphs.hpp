// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file glyphs.hpp  The character sets of pictures for a terminal.
#include <cstdint>

namespace cairn {

/// The character set of a picture for a terminal.
enum class glyphs : std::uint8_t {
  utf8,  ///< lines and blocks of Unicode, in UTF-8
  ascii  ///< for terminals without Unicode
};

}  // namespace cairn
