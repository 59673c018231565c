// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file json.hpp  Just enough JSON to write a report.

#include <cmath>
#include <concepts>
#include <cstdio>
#include <string>
#include <string_view>
#include <vector>

namespace support {

/// A JSON object whose members come in the order they were added in.
class json_object {
 public:
  json_object& add(std::string_view name, std::string_view value) { return put(name, quoted(value)); }
  json_object& add(std::string_view name, char const* value) { return put(name, quoted(value)); }
  json_object& add(std::string_view name, std::same_as<bool> auto value) { return put(name, value ? "true" : "false"); }
  json_object& add(std::string_view name, std::integral auto value) requires(!std::same_as<decltype(value), bool>) {
    return put(name, std::to_string(value));
  }
  json_object& add(std::string_view name, double value) { return put(name, number(value)); }
  json_object& add(std::string_view name, json_object const& value) { return put(name, value.text()); }
  json_object& add(std::string_view name, std::vector<double> const& values) {
    std::string list;
    for (double const value : values) list += (list.empty() ? "" : ", ") + number(value);
    return put(name, "[" + list + "]");
  }
  [[nodiscard]] std::string text() const { return "{" + members_ + "}"; }

 private:
  json_object& put(std::string_view name, std::string const& value) {
    members_ += (members_.empty() ? "" : ", ") + quoted(name) + ": " + value;
    return *this;
  }
  [[nodiscard]] static std::string number(double value) {
    if (!std::isfinite(value)) return "null";  // JSON has no infinity
    char digits[32];
    std::snprintf(digits, sizeof digits, "%.9g", value);
    return digits;
  }
  [[nodiscard]] static std::string quoted(std::string_view text) {
    std::string result = "\"";
    for (char const c : text) {
      if (c == '"' || c == '\\') result += '\\';
      if (static_cast<unsigned char>(c) >= 0x20) {
        result += c;
      } else {
        char code[8];
        std::snprintf(code, sizeof code, "\\u%04x", unsigned(c));
        result += code;
      }
    }
    return result + '"';
  }

  std::string members_;
};

}  // namespace support
