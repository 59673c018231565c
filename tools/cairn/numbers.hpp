// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file numbers.hpp  Whole numbers of up to 128 bits as text: exact, with commas for people, and as JSON.
#include <charconv>
#include <cmath>
#include <cstdio>
#include <string>
#include <cairn/core/wide.hpp>

namespace tool {

[[nodiscard]] inline std::string digits(cairn::wide number) {
  char text[40];
  char* first = text + sizeof text;
  do *--first = char('0' + int(number % 10));
  while ((number /= 10) != 0);
  return {first, text + sizeof text};
}

/// 1,234,567.
[[nodiscard]] inline std::string grouped(cairn::wide number) {
  std::string text = digits(number);
  for (auto at = text.size(); at > 3; at -= 3) text.insert(at - 3, 1, ',');
  return text;
}

/// A number with its noun: 1 step, 2 steps.
[[nodiscard]] inline std::string counted(cairn::wide number, char const* noun) {
  return grouped(number) + ' ' + noun + (number == 1 ? "" : "s");
}

/// With three decimals; very large numbers with four digits.
[[nodiscard]] inline std::string fixed(double number) {
  char text[64];
  std::snprintf(text, sizeof text, number < 1e6 ? "%.3f" : "%.4g", number);
  return text;
}

/// Exact for every reader: numbers above 2^53, which readers that use doubles would round, are strings of digits.
[[nodiscard]] inline std::string json_number(cairn::wide number) {
  return number >> 53 == 0 || number == cairn::wide{1} << 53 ? digits(number) : '"' + digits(number) + '"';
}
/// The shortest text that reads back as the same number; null for numbers that JSON cannot hold.
[[nodiscard]] inline std::string json_number(double number) {
  if (!std::isfinite(number)) return "null";
  char text[32];
  return {text, std::to_chars(text, text + sizeof text, number).ptr};
}

/// Whether a cost, 0 or more, is a whole number: it is then written like a count, without a point or an exponent.
[[nodiscard]] inline bool is_whole(double cost) noexcept { return cost < 0x1p127 && cost == double(cairn::wide(cost)); }
[[nodiscard]] inline std::string json_cost(double cost) {
  return is_whole(cost) ? json_number(cairn::wide(cost)) : json_number(cost);
}
[[nodiscard]] inline std::string grouped_cost(double cost) {
  return is_whole(cost) ? grouped(cairn::wide(cost)) : fixed(cost);
}

}  // namespace tool
