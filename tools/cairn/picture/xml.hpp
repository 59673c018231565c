// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file xml.hpp  Converts any text to the text of an XML element.
#include <cstddef>
#include <string>
#include <string_view>

namespace picture {

/// The number of bytes of the UTF-8 character at the start of `text`; 0 if it is not a character that XML 1.0 allows.
/// \pre text is not empty
[[nodiscard]] inline std::size_t xml_character(std::string_view text) noexcept {
  auto const byte = [&](std::size_t k) { return static_cast<unsigned char>(text[k]); };
  unsigned const first = byte(0);
  if (first < 0x80) return first >= 0x20 || first == '\t' || first == '\n' || first == '\r' ? 1 : 0;
  std::size_t const length = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
  if (first < 0xc2 || first > 0xf4 || text.size() < length) return 0;
  unsigned long code = first & (0x7fu >> length);
  for (std::size_t k = 1; k < length; ++k) {
    if ((byte(k) & 0xc0u) != 0x80u) return 0;
    code = code << 6 | (byte(k) & 0x3fu);
  }
  bool const overlong = code < (length == 4 ? 0x10000u : length == 3 ? 0x800u : 0x80u);
  bool const barred = code > 0x10ffff || (code >= 0xd800 && code < 0xe000) || code == 0xfffe || code == 0xffff;
  return overlong || barred ? 0 : length;
}

/// `text` with `& < > " '` as entities, and U+FFFD for each byte that XML does not allow.
[[nodiscard]] inline std::string xml_text(std::string_view text) {
  std::string safe;
  while (!text.empty()) {
    std::size_t const length = xml_character(text);
    switch (text[0]) {
      case '&':
        safe += "&amp;";
        break;
      case '<':
        safe += "&lt;";
        break;
      case '>':
        safe += "&gt;";
        break;
      case '"':
        safe += "&quot;";
        break;
      case '\'':
        safe += "&apos;";
        break;
      default:
        length == 0 ? safe += "\xEF\xBF\xBD" : safe += text.substr(0, length);
    }
    text.remove_prefix(length == 0 ? 1 : length);
  }
  return safe;
}

}  // namespace picture
