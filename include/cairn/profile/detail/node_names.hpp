// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file node_names.hpp  Writes and reads the names of nodes as calls, `name(read, read)`: a node and what it reads.
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace cairn::detail {

inline constexpr std::string_view loss_name = "loss", output_name = "output", adjoint_ending = ".backward",
                                  tape_ending = ".tape";

/// The name of a node and the names that it reads: "add(conv, relu)".
struct node_call {
  std::string name;
  std::vector<std::string> reads;
  bool is_call = false;  ///< whether there are brackets
};
[[nodiscard]] inline std::string text_of(std::string_view name, std::vector<std::string> const& reads) {
  std::string text{name};
  text += '(';
  for (std::size_t k = 0; k < reads.size(); ++k) text += (k > 0 ? ", " : "") + reads[k];
  return text += ')';
}
[[nodiscard]] inline node_call call_in(std::string_view text) {
  node_call made;
  std::size_t const open = text.find('(');
  made.name = std::string{text.substr(0, open)};
  made.is_call = open != text.npos && text.ends_with(')');
  if (!made.is_call) return made;
  text = text.substr(open + 1, text.size() - open - 2);
  while (!text.empty()) {
    std::size_t const comma = text.find(", ");
    made.reads.emplace_back(text.substr(0, comma));
    text.remove_prefix(comma == text.npos ? text.size() : comma + 2);
  }
  return made;
}
/// Whether a name can be written in a call and read back.
[[nodiscard]] inline bool can_be_read(std::string_view name) noexcept {
  return !name.empty() && name.find_first_of("(),\r\n") == name.npos && !name.ends_with(adjoint_ending) &&
         !name.ends_with(tape_ending);
}

}  // namespace cairn::detail
