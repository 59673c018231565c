// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file outer_members.hpp  Single members of the outermost object of a JSON text. Nothing else of it is kept.
#include <string>
#include <string_view>

namespace tool {

/// The member `id` of the request on a line, as JSON, wherever it stands; empty if there is none, if it is neither a
/// whole number nor a text, or if the line is not JSON before it.
[[nodiscard]] std::string id_on(std::string_view line);

/// Whether the outermost object has a member of that name.
[[nodiscard]] bool has_member(std::string_view text, std::string_view name);

/// What a key of a request may be given, for messages.
[[nodiscard]] inline char const* values_of(std::string_view key) noexcept {
  return key == "id" ? "a whole number or a text" : "a number or a text";
}

}  // namespace tool
