// SPDX-License-Identifier: Apache-2.0
#include "keys.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <limits>
#include <system_error>

#include <cairn/core/error.hpp>

#include "wrong_request.hpp"

namespace tool {

std::string name_of_key(std::string_view key) {
  std::string name{key};
  if (!keys_are_options || name.empty() || name.front() < 'a') return name;
  std::replace(name.begin(), name.end(), '_', '-');
  return "--" + name;
}

std::string worded(std::string_view text) {
  std::string made;
  for (;;) {
    auto const at = text.find('$');
    made.append(text.substr(0, at));
    if (at == text.npos) return made;
    text.remove_prefix(at + 1);
    auto const key = text.substr(0, text.find_first_not_of("abcdefghijklmnopqrstuvwxyz_"));
    made.append(name_of_key(key));
    text.remove_prefix(key.size());
  }
}

std::string quoted(std::string_view text) {
  constexpr std::size_t most = 60;
  return '"' + std::string{text.substr(0, most)} + (text.size() > most ? "...\"" : "\"");
}

void refuse_value(std::string_view name, std::string_view text, std::string const& what_would_work) {
  throw wrong_request{name_of_key(name) + " got " + quoted(text) + "; give " + what_would_work};
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
  if (text == "unlimited") return std::numeric_limits<double>::infinity();
  try {
    return number_of(name, text);
  } catch (wrong_request const&) { refuse_value(name, text, "a number of seconds, 0 or more, or unlimited"); }
}

cairn::byte_size size_of(std::string_view name, std::string_view text) {
  try {
    return text;
  } catch (cairn::error const& problem) {
    throw wrong_request{name_of_key(name) + (problem.what() + std::string_view{problem.operation()}.size())};
  }
}

bool truth_of(std::string_view name, std::string_view text) {
  if (text != "true" && text != "false") refuse_value(name, text, "true or false");
  return text == "true";
}

}  // namespace tool
