// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file side_by_side.hpp  The operations of two runs as a text, for errors.
#include <algorithm>
#include <cstddef>
#include <string>
#include <vector>

namespace cairn::libtorch::detail {

/// Both lists in columns, with a mark at the first difference.
[[nodiscard]] inline std::string side_by_side(std::vector<std::string> const& first,
                                              std::vector<std::string> const& again) {
  std::size_t width = 9;
  for (auto const& one : first) width = (std::max)(width, one.size());
  auto const cell = [](std::vector<std::string> const& list, std::size_t k) {
    return k < list.size() ? list[k] : std::string{"-"};
  };
  auto const line = [&](char const* mark, std::string const& left, std::string const& right) {
    return mark + left + std::string(width + 2 - left.size(), ' ') + right + '\n';
  };
  std::string text = line("  ", "first run", "second run");
  bool same = true;
  for (std::size_t k = 0; k < (std::max)(first.size(), again.size()); ++k) {
    auto const left = cell(first, k), right = cell(again, k);
    text += line(same && left != right ? "> " : "  ", left, right);
    same = same && left == right;
  }
  return text;
}

}  // namespace cairn::libtorch::detail
