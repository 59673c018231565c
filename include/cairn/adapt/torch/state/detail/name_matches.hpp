// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file name_matches.hpp  Compares names with patterns.
#include <cstddef>
#include <string_view>

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

}  // namespace cairn::libtorch::detail
