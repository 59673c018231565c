// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file utf8.hpp  Where the characters of a text end.
#include <cstddef>
#include <string_view>

namespace tool {

/// How many bytes the UTF-8 character at the start of a text has; 0 if there is none, or one that Unicode forbids.
[[nodiscard]] inline std::size_t utf8_length(std::string_view text) noexcept {
  auto const byte = [&](std::size_t k) { return static_cast<unsigned char>(text[k]); };
  auto const follows = [&](std::size_t k, unsigned low, unsigned high) {
    return k < text.size() && byte(k) >= low && byte(k) <= high;
  };
  if (text.empty()) return 0;
  unsigned const first = byte(0);
  if (first < 0x80) return 1;
  if (first >= 0xc2 && first <= 0xdf) return follows(1, 0x80, 0xbf) ? 2 : 0;
  if (first >= 0xe0 && first <= 0xef) {
    bool const second = follows(1, first == 0xe0 ? 0xa0 : 0x80, first == 0xed ? 0x9f : 0xbf);
    return second && follows(2, 0x80, 0xbf) ? 3 : 0;
  }
  if (first >= 0xf0 && first <= 0xf4) {
    bool const second = follows(1, first == 0xf0 ? 0x90 : 0x80, first == 0xf4 ? 0x8f : 0xbf);
    return second && follows(2, 0x80, 0xbf) && follows(3, 0x80, 0xbf) ? 4 : 0;
  }
  return 0;
}

}  // namespace tool
