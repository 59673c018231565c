// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file json_text.hpp  Texts as JSON strings, and answers as objects on one line.
#include <string>
#include <string_view>
#include <nlohmann/json.hpp>

namespace tool {

/// Any text as a JSON string; bytes that are not UTF-8 are replaced.
[[nodiscard]] inline std::string json_string(std::string_view text) {
  return nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}
/// \param id  as JSON; empty if there is none
[[nodiscard]] inline std::string answer_object(std::string const& id, std::string const& members) {
  return (id.empty() ? "{" : "{\"id\":" + id + ',') + members + "}\n";
}

}  // namespace tool
