// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file keys.hpp  The keys of a request: options on the command line, keys in JSON.
#include <cstdint>
#include <string>
#include <string_view>
#include <cairn/core/bytes.hpp>

namespace tool {

/// One key of a request. In JSON it is written as is, on the command line as the option --key with '-' for '_'.
template <class Asked>
struct key_of {
  std::string_view name;
  char const* value;  ///< the form of its value; nullptr for a flag, which is true or false
  char const* help;
  void (*set)(Asked& asked, std::string_view name, std::string_view text);
};

/// Whether messages name keys as options of the command line; if not, as members of a line of JSON.
inline bool keys_are_options = true;

/// A key as the user writes it: --out-of-place, or out_of_place in a line. A name in capitals stands for what has no
/// key, and stays.
[[nodiscard]] std::string name_of_key(std::string_view key);
/// A message with its keys as the user writes them; in `text` they are written as $out_of_place.
[[nodiscard]] std::string worded(std::string_view text);

/// The text in quotes, shortened if it is long.
[[nodiscard]] std::string quoted(std::string_view text);

/// \throws wrong_request   always: with the key, the given value, and a value that would work
[[noreturn]] void refuse_value(std::string_view name, std::string_view text, std::string const& what_would_work);

/// \param least  0 or 1   \throws wrong_request   unless the text is a whole number from `least` to 2^63-1
[[nodiscard]] std::int64_t count_of(std::string_view name, std::string_view text, std::int64_t least);
/// A finite number, 0 or more.   \throws wrong_request
[[nodiscard]] double number_of(std::string_view name, std::string_view text);
/// Seconds; infinite for the word "unlimited".   \throws wrong_request
[[nodiscard]] double seconds_of(std::string_view name, std::string_view text);
/// \throws wrong_request   unless the text is a size
[[nodiscard]] cairn::byte_size size_of(std::string_view name, std::string_view text);
/// \throws wrong_request   unless the text is true or false
[[nodiscard]] bool truth_of(std::string_view name, std::string_view text);

}  // namespace tool
