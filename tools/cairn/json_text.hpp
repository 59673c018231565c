// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file json_text.hpp  Texts as JSON strings, and answers as objects on one line.
#include <cstddef>
#include <string>
#include <string_view>
#include <nlohmann/json.hpp>
#include "wrong_request.hpp"

namespace tool {

/// Any text as a JSON string; bytes that are not UTF-8 are replaced.
[[nodiscard]] inline std::string json_string(std::string_view text) {
  return nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}
/// \throws wrong_request   if what a JSON reader complains of is a number that no type can hold
inline void refuse_large_number(std::size_t position, nlohmann::json::exception const& found) {
  constexpr int number_out_of_range = 406;
  if (found.id == number_out_of_range)
    throw wrong_request{"the number that ends at character " + std::to_string(position) +
                        " is too large for any type; give a smaller one"};
}
/// \param id  as JSON; empty if there is none
[[nodiscard]] inline std::string answer_object(std::string const& id, std::string const& members) {
  return (id.empty() ? "{" : "{\"id\":" + id + ',') + members + "}\n";
}

}  // namespace tool
