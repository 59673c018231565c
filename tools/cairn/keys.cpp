// SPDX-License-Identifier: Apache-2.0
#include "keys.hpp"

#include <charconv>
#include <cmath>
#include <cstddef>
#include <limits>
#include <system_error>

#include <cairn/core/error.hpp>

#include "wrong_request.hpp"

namespace tool {

std::string quoted(std::string_view text) {
  constexpr std::size_t most = 60;
  return '"' + std::string{text.substr(0, most)} + (text.size() > most ? "...\"" : "\"");
}

void refuse_value(std::string_view name, std::string_view text, std::string const& what_would_work) {
  throw wrong_request{std::string{name} + " got " + quoted(text) + "; give " + what_would_work};
}

std::int64_t count_of(std::string_view name, std::string_view text, std::int64_t least) {
  std::int64_t number = 0;
  auto const [end, problem] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (problem != std::errc{} || end != text.data() + text.size() || number < least)
    refuse_value(name, text, "a whole number from " + std::to_string(least) + " to 9223372036854775807");
  return number;
}

double number_of(std::string_view name, std::string_view text) {
  double number = 0;
  auto const [end, problem] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (problem != std::errc{} || end != text.data() + text.size() || !std::isfinite(number) || std::signbit(number))
    refuse_value(name, text, "a number, 0 or more");
  return number;
}

double seconds_of(std::string_view name, std::string_view text) {
  return text == "unlimited" ? std::numeric_limits<double>::infinity() : number_of(name, text);
}

cairn::byte_size size_of(std::string_view name, std::string_view text) {
  try {
    return text;
  } catch (cairn::error const& problem) {
    throw wrong_request{std::string{name} + (problem.what() + std::string_view{problem.operation()}.size())};
  }
}

bool truth_of(std::string_view name, std::string_view text) {
  if (text != "true" && text != "false") refuse_value(name, text, "true or false");
  return text == "true";
}

}  // namespace tool
