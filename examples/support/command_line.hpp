// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file command_line.hpp  Values of flags, read strictly.

#include <charconv>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>
#include <system_error>

#include <cairn/cairn.hpp>
#include <cairn/core/bytes.hpp>

namespace support {

enum class schedule_kind { revolve, uniform, store_all };

/// A command line that cannot be obeyed; the message says which word is wrong and what would work.
struct wrong_usage : std::invalid_argument {
  using std::invalid_argument::invalid_argument;
};

[[nodiscard]] inline char const* name_of(schedule_kind kind) noexcept {
  switch (kind) {
    case schedule_kind::revolve:
      return "revolve";
    case schedule_kind::uniform:
      return "uniform";
    case schedule_kind::store_all:
      return "store_all";
  }
  return "";
}

/// \throws wrong_usage, as do the next two
template <class Integer>
[[nodiscard]] Integer parse_number(std::string_view flag, std::string_view word, Integer least, Integer most) {
  Integer number{};
  auto const [end, problem] = std::from_chars(word.data(), word.data() + word.size(), number);
  if (problem != std::errc{} || end != word.data() + word.size() || number < least || number > most)
    throw wrong_usage{std::string{flag} + " got \"" + std::string{word} + "\"; give a whole number from " +
                      std::to_string(least) + " to " + std::to_string(most)};
  return number;
}

[[nodiscard]] inline cairn::byte_size parse_size(std::string_view flag, std::string_view word) {
  try {
    return word;
  } catch (cairn::error const& problem) { throw wrong_usage{std::string{flag} + ": " + problem.what()}; }
}

[[nodiscard]] inline schedule_kind parse_schedule(std::string_view flag, std::string_view word) {
  for (auto const kind : {schedule_kind::revolve, schedule_kind::uniform, schedule_kind::store_all})
    if (word == name_of(kind)) return kind;
  throw wrong_usage{std::string{flag} + " got \"" + std::string{word} + "\"; give revolve, uniform or store_all"};
}

/// \param leaf  what --leaf got, 0 if it was not there
inline void refuse_leaves_of_all(std::int64_t leaf, schedule_kind kind) {
  if (leaf != 0 && kind == schedule_kind::store_all)
    throw wrong_usage{"--leaf got " + std::to_string(leaf) +
                      ", but store_all keeps every state and needs no leaves; leave one of the two out"};
}

}  // namespace support
