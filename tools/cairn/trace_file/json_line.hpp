// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file json_line.hpp  Reads one JSON object and reports its members.
#include <cstddef>
#include <string>
#include <string_view>
#include "utf8.hpp"

namespace trace_file {

/// Reads one value of JSON (RFC 8259), member by member.
class json_line {
 public:
  explicit json_line(std::string_view text) noexcept : rest_{text} {}

  /// Calls see(outer, key, value, is_text) for each value in the object, and in the objects and lists in it, that is a
  /// text, a number or a word. `outer` is the key of the object that holds the value: "" for the outermost object and
  /// for objects in lists. Elements of a list have `outer` "[]" and no key. Texts come as they are written, without
  /// quotes.   \returns false unless the text is one object and nothing else
  template <class See>
  [[nodiscard]] bool object(See&& see) {
    space();
    if (rest_.empty() || rest_.front() != '{' || !members({}, 0, see)) return false;
    space();
    return rest_.empty();
  }

 private:
  static constexpr int deepest = 64;

  void space() noexcept {
    auto const at = rest_.find_first_not_of(" \t\r\n");
    rest_.remove_prefix(at == rest_.npos ? rest_.size() : at);
  }
  bool skip(char c) noexcept {
    space();
    if (rest_.empty() || rest_.front() != c) return false;
    rest_.remove_prefix(1);
    return true;
  }
  template <class See>
  bool members(std::string_view outer, int depth, See& see) {
    if (depth > deepest || !skip('{')) return false;
    if (skip('}')) return true;
    do {
      std::string_view key;
      space();
      if (!string(key) || !skip(':') || !value(outer, key, depth, see)) return false;
    } while (skip(','));
    return skip('}');
  }
  template <class See>
  bool value(std::string_view outer, std::string_view key, int depth, See& see) {
    space();
    if (rest_.empty() || depth > deepest) return false;
    std::string_view const from = rest_;
    std::string_view inside;
    switch (rest_.front()) {
      case '{':
        return members(key, depth + 1, see);
      case '[':
        rest_.remove_prefix(1);
        if (skip(']')) return true;
        do
          if (!value("[]", {}, depth + 1, see)) return false;
        while (skip(','));
        return skip(']');
      case '"':
        if (!string(inside)) return false;
        see(outer, key, inside, true);
        return true;
      case 't':
        if (!word("true")) return false;
        break;
      case 'f':
        if (!word("false")) return false;
        break;
      case 'n':
        if (!word("null")) return false;
        break;
      default:
        if (!number()) return false;
    }
    see(outer, key, from.substr(0, from.size() - rest_.size()), false);
    return true;
  }
  bool word(std::string_view all) noexcept {
    if (!rest_.starts_with(all)) return false;
    rest_.remove_prefix(all.size());
    return true;
  }
  std::size_t digits() noexcept {
    std::size_t count = 0;
    for (; !rest_.empty() && rest_.front() >= '0' && rest_.front() <= '9'; ++count) rest_.remove_prefix(1);
    return count;
  }
  bool number() noexcept {
    if (rest_.front() == '-') rest_.remove_prefix(1);
    bool const zero = rest_.starts_with('0');
    if (auto const whole = digits(); whole == 0 || (zero && whole > 1)) return false;
    if (rest_.starts_with('.')) {
      rest_.remove_prefix(1);
      if (digits() == 0) return false;
    }
    if (rest_.starts_with('e') || rest_.starts_with('E')) {
      rest_.remove_prefix(1);
      if (rest_.starts_with('+') || rest_.starts_with('-')) rest_.remove_prefix(1);
      if (digits() == 0) return false;
    }
    return true;
  }
  bool string(std::string_view& inside) noexcept {
    if (rest_.empty() || rest_.front() != '"') return false;
    rest_.remove_prefix(1);
    std::string_view const from = rest_;
    while (!rest_.empty() && rest_.front() != '"') {
      std::size_t length = tool::utf8_length(rest_);
      if (length == 0 || static_cast<unsigned char>(rest_.front()) < 0x20) return false;
      if (rest_.front() == '\\') {
        if (rest_.size() < 2) return false;
        length = 2;
        if (rest_[1] == 'u') {
          length = 6;
          if (rest_.size() < 6 || rest_.substr(2, 4).find_first_not_of("0123456789abcdefABCDEF") != rest_.npos)
            return false;
        } else if (std::string_view{"\"\\/bfnrt"}.find(rest_[1]) == std::string_view::npos) {
          return false;
        }
      }
      rest_.remove_prefix(length);
    }
    if (rest_.empty()) return false;
    inside = from.substr(0, from.size() - rest_.size());
    rest_.remove_prefix(1);
    return true;
  }

  std::string_view rest_;
};

/// A text as it was before `add_json_text`, except for control characters, which keep their escapes.
[[nodiscard]] inline std::string shown_text(std::string_view written) {
  std::string text;
  for (std::size_t k = 0; k < written.size(); ++k) {
    if (written[k] == '\\' && k + 1 < written.size() && (written[k + 1] == '"' || written[k + 1] == '\\')) ++k;
    text += written[k];
  }
  return text;
}

}  // namespace trace_file
