// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cctype>
#include <cstdlib>
#include <map>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

/// A JSON value that was read; just enough of a reader (RFC 8259) to tell whether a text is JSON and what it says.
struct json {
  enum class kind { null, boolean, number, string, array, object };
  kind is = kind::null;
  double number = 0;  ///< 0 or 1 for a boolean
  std::string string;
  std::vector<json> items;
  std::map<std::string, json> members;

  /// \throws std::runtime_error   unless `text` is one JSON value and nothing else
  static json read(std::string_view text);
  /// \throws std::out_of_range
  [[nodiscard]] json const& at(std::string const& name) const { return members.at(name); }
  [[nodiscard]] long long integer(std::string const& name) const { return static_cast<long long>(at(name).number); }
  [[nodiscard]] std::string const& text(std::string const& name) const { return at(name).string; }
};

class json_reader {
 public:
  explicit json_reader(std::string_view text) : rest_{text} {}

  json value() {
    json v;
    switch (peek()) {
      case '{': return object();
      case '[': return array();
      case '"': v.is = json::kind::string, v.string = string(); return v;
      case 't': word("true"), v.is = json::kind::boolean, v.number = 1; return v;
      case 'f': word("false"), v.is = json::kind::boolean; return v;
      case 'n': word("null"); return v;
      default: v.is = json::kind::number, v.number = number(); return v;
    }
  }
  void end() {
    space();
    if (!rest_.empty()) fail("text after the value");
  }

 private:
  [[noreturn]] static void fail(char const* why) { throw std::runtime_error{std::string{"not JSON: "} + why}; }
  void space() {
    while (!rest_.empty() && std::string_view{" \t\r\n"}.find(rest_.front()) != rest_.npos) rest_.remove_prefix(1);
  }
  char peek() {
    space();
    if (rest_.empty()) fail("the text ends early");
    return rest_.front();
  }
  char take() {
    if (rest_.empty()) fail("the text ends early");
    char const c = rest_.front();
    rest_.remove_prefix(1);
    return c;
  }
  bool skip(char c) {
    if (peek() != c) return false;
    rest_.remove_prefix(1);
    return true;
  }
  void need(char c) {
    if (!skip(c)) fail("another character was due");
  }
  void word(std::string_view all) {
    if (!rest_.starts_with(all)) fail("an unknown word");
    rest_.remove_prefix(all.size());
  }
  std::size_t digits() {
    std::size_t count = 0;
    for (; !rest_.empty() && std::isdigit(static_cast<unsigned char>(rest_.front())); ++count) rest_.remove_prefix(1);
    if (count == 0) fail("a digit was due");
    return count;
  }
  double number() {
    std::string_view const from = rest_;
    if (rest_.front() == '-') rest_.remove_prefix(1);
    bool const zero = rest_.starts_with('0');
    if (digits() > 1 && zero) fail("a number begins with 0");
    if (rest_.starts_with('.')) rest_.remove_prefix(1), digits();
    if (rest_.starts_with('e') || rest_.starts_with('E')) {
      rest_.remove_prefix(1);
      if (rest_.starts_with('+') || rest_.starts_with('-')) rest_.remove_prefix(1);
      digits();
    }
    return std::strtod(std::string{from.substr(0, from.size() - rest_.size())}.c_str(), nullptr);
  }
  std::string string() {
    need('"');
    std::string all;
    for (char c = take(); c != '"'; c = take()) {
      if (static_cast<unsigned char>(c) < 0x20) fail("a control character in a string");
      all += c;
      if (c == '\\') all += take();  // escapes stay as they are written
    }
    return all;
  }
  json array() {
    json v;
    v.is = json::kind::array;
    need('[');
    if (skip(']')) return v;
    do v.items.push_back(value());
    while (skip(','));
    need(']');
    return v;
  }
  json object() {
    json v;
    v.is = json::kind::object;
    need('{');
    if (skip('}')) return v;
    do {
      space();
      std::string name = string();
      need(':');
      json member = value();
      if (!v.members.emplace(std::move(name), std::move(member)).second) fail("a name twice in one object");
    } while (skip(','));
    need('}');
    return v;
  }

  std::string_view rest_;
};

inline json json::read(std::string_view text) {
  json_reader reader{text};
  json v = reader.value();
  reader.end();
  return v;
}
