// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file aligned.hpp  Rows of text as a table.
#include <algorithm>
#include <cstddef>
#include <string>
#include <vector>

namespace cairn::detail {

/// Rows with right-aligned columns; the last column is not aligned.
[[nodiscard]] inline std::string aligned(std::vector<std::vector<std::string>> const& rows) {
  std::vector<std::size_t> width(rows.front().size());
  for (auto const& row : rows)
    for (std::size_t k = 0; k < row.size(); ++k) width[k] = (std::max)(width[k], row[k].size());
  std::string text;
  for (auto const& row : rows) {
    for (std::size_t k = 0; k + 1 < row.size(); ++k) text += std::string(width[k] - row[k].size(), ' ') + row[k] + "  ";
    text += row.back() + "\n";
  }
  return text;
}

}  // namespace cairn::detail
