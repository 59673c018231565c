#pragma once
/// \file json_text.hpp  Texts as strings of JSON, and answers as objects on a line.
#include <string>
#include <string_view>
#include <nlohmann/json.hpp>

namespace tool {

/// Any text as a string of JSON; what is no UTF-8 in it is replaced.
[[nodiscard]] inline std::string json_string(std::string_view text) {
  return nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}
/// \param id  as JSON; empty where there is none
[[nodiscard]] inline std::string answer_object(std::string const& id, std::string const& members) {
  return (id.empty() ? "{" : "{\"id\":" + id + ',') + members + "}\n";
}

}  // namespace tool
