// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file name_matches.hpp  Compares names with patterns.
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace cairn::libtorch::detail {

/// Whether a name matches a pattern, in which `*` matches any characters, or none.
[[nodiscard]] inline bool name_matches(std::string_view pattern, std::string_view name) {
  std::size_t p = 0, n = 0, star = std::string_view::npos, resumed = 0;
  while (n < name.size()) {
    if (p < pattern.size() && pattern[p] == '*') star = p++, resumed = n;
    else if (p < pattern.size() && pattern[p] == name[n]) ++p, ++n;
    else if (star != std::string_view::npos) p = star + 1, n = ++resumed;
    else return false;
  }
  while (p < pattern.size() && pattern[p] == '*') ++p;
  return p == pattern.size();
}

/// Names of parts that are held; `*` matches any characters. Without a value all parts are held.
using kept_names = std::optional<std::vector<std::string>>;
[[nodiscard]] inline bool is_among(kept_names const& names, std::string_view name) {
  if (!names) return true;
  for (auto const& pattern : *names)
    if (name_matches(pattern, name)) return true;
  return false;
}

}  // namespace cairn::libtorch::detail
