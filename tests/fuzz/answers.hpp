// SPDX-License-Identifier: Apache-2.0
#pragma once
// What is asked of an answer to a line, in whatever batch.
#include <optional>
#include <sstream>
#include <string>

#include <nlohmann/json.hpp>

#include "fuzz.hpp"

namespace fuzz {

/// The answer to a line without ends of lines is one line of JSON: an error in words, or an answer.
/// \param answer_lines  of the batch   \param is_wrong  whether the line is known to be
template <class Answer>
void require_answer(std::string const& line, bool is_wrong, Answer const& answer_lines, char const* member) {
  std::istringstream from{line + '\n'};
  std::ostringstream to;
  answer_lines(from, to, std::nullopt);
  std::string const text = to.str();
  require(!text.empty() && text.find('\n') == text.size() - 1, "a line gets one line");
  auto const answer = nlohmann::json::parse(text, nullptr, false);
  require(answer.is_object(), "an answer is a JSON object");
  require(answer.contains("error") != answer.contains(member), "an answer is an error or else a plan");
  require(!is_wrong || answer.contains("error"), "what cannot be read is answered by an error");
  if (answer.contains("error"))
    require(answer["error"].is_string() && !answer["error"].get_ref<std::string const&>().empty(),
            "an error says something");
}

/// The first line.
[[nodiscard]] inline std::string line_of(std::uint8_t const* data, std::size_t size) {
  std::string line{text_of(data, size)};
  return line.substr(0, line.find('\n'));
}

}  // namespace fuzz
