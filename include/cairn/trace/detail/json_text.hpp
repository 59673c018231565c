// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file json_text.hpp  Text as the inside of a JSON string.
#include <array>
#include <cstddef>
#include <string>
#include <string_view>

namespace cairn::detail {

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

/// Whether a text can be put between quotes as it is.
[[nodiscard]] inline bool is_plain_json(std::string_view text) noexcept {
  static constexpr auto plain = [] {
    std::array<bool, 256> all{};
    for (std::size_t c = 0x20; c < 0x7f; ++c) all[c] = c != '"' && c != '\\';
    return all;
  }();
  bool all = true;
  for (char const c : text) all = all && plain[static_cast<unsigned char>(c)];
  return all;
}

/// Appends a text with its escapes, without quotes. A byte that is no UTF-8 becomes U+FFFD.
inline void add_json_text(std::string& to, std::string_view text) {
  if (is_plain_json(text)) {
    to += text;
    return;
  }
  while (!text.empty()) {
    std::size_t length = utf8_length(text);
    char const c = text.front();
    if (length == 0) {
      to += "\xef\xbf\xbd";
      length = 1;
    } else if (c == '"' || c == '\\') {
      (to += '\\') += c;
    } else if (static_cast<unsigned char>(c) < 0x20) {
      constexpr char digits[] = "0123456789abcdef";
      ((to += "\\u00") += digits[c >> 4]) += digits[c & 15];
    } else {
      to += text.substr(0, length);
    }
    text.remove_prefix(length);
  }
}
/// The same with quotes.
[[nodiscard]] inline std::string json_string(std::string_view text) {
  std::string quoted = "\"";
  add_json_text(quoted, text);
  return quoted += '"';
}

}  // namespace cairn::detail
