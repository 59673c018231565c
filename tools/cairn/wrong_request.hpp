#pragma once
/// \file wrong_request.hpp  What the tool cannot do as asked.
#include <stdexcept>
#include <string>
#include <string_view>
#include <cairn/core/error.hpp>

namespace tool {

/// The message says which option is wrong, the value given and what would work.
struct wrong_request : std::invalid_argument {
  using std::invalid_argument::invalid_argument;
};

/// The library's own words, without its namespace in front.
[[nodiscard]] inline std::string message_of(cairn::error const& problem) {
  std::string_view text = problem.what();
  if (text.starts_with("cairn::")) text.remove_prefix(7);
  return std::string{text};
}

}  // namespace tool
