// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file words.hpp  Reads the words of a line, and whole numbers.
#include <algorithm>
#include <charconv>
#include <cstdint>
#include <limits>
#include <optional>
#include <string_view>
#include <system_error>

namespace cairn::detail {

/// Takes the first word off a line; empty if there is none.
[[nodiscard]] inline std::string_view next_word(std::string_view& line) {
  constexpr std::string_view blanks = " \t\r\n";
  line.remove_prefix((std::min)(line.size(), line.find_first_not_of(blanks)));
  auto const word = line.substr(0, line.find_first_of(blanks));
  line.remove_prefix(word.size());
  return word;
}

/// The number that decimal digits stand for, if it is from 0 to `most`.
[[nodiscard]] inline std::optional<std::int64_t> whole_number(
    std::string_view digits, std::int64_t most = (std::numeric_limits<std::int64_t>::max)()) {
  std::int64_t number = -1;
  auto const [end, problem] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
  bool const is_whole = problem == std::errc{} && end == digits.data() + digits.size() && number >= 0 && number <= most;
  return is_whole ? std::optional{number} : std::nullopt;
}

}  // namespace cairn::detail
