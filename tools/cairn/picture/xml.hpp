// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file xml.hpp  Converts any text to the text of an XML element.
#include <cstddef>
#include <string>
#include <string_view>
#include "utf8.hpp"

namespace picture {

/// The number of bytes of the UTF-8 character at the start of `text`; 0 if it is not a character that XML 1.0 allows.
/// \pre text is not empty
[[nodiscard]] inline std::size_t xml_character(std::string_view text) noexcept {
  if (static_cast<unsigned char>(text[0]) < 0x20) return text[0] == '\t' || text[0] == '\n' || text[0] == '\r' ? 1 : 0;
  bool const barred = text.starts_with("\xef\xbf\xbe") || text.starts_with("\xef\xbf\xbf");  // U+FFFE, U+FFFF
  return barred ? 0 : tool::utf8_length(text);
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
