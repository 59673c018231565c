// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file wrong_request.hpp  Errors for requests that the tool cannot fulfil.
#include <stdexcept>
#include <string>
#include <string_view>
#include <cairn/core/error.hpp>

namespace tool {

/// The whole text on one line: zeros, which would end it, and other control characters are written as \x00.
[[nodiscard]] inline std::string plain(std::string_view text) {
  constexpr char const* digits = "0123456789abcdef";
  std::string line;
  for (char const c : text) {
    auto const code = static_cast<unsigned char>(c);
    if (code >= 0x20 && code != 0x7f) line += c;
    else line.append("\\x").append(1, digits[code >> 4]).append(1, digits[code & 15]);
  }
  return line;
}

/// The message says which option is wrong, the given value, and what would work.
struct wrong_request : std::invalid_argument {
  explicit wrong_request(std::string_view text) : std::invalid_argument{plain(text)} {}
};

/// The time limit of an answer is over.
struct out_of_time : wrong_request {
  using wrong_request::wrong_request;
};

/// The library's message without the function's name in front, and with words of the command for those of a program.
[[nodiscard]] std::string message_of(cairn::error const& problem);

}  // namespace tool
