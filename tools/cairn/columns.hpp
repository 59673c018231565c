// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file columns.hpp  Cells in columns of one width.
#include <algorithm>
#include <cstddef>
#include <string>
#include <vector>

namespace tool {

/// Lines of cells, one below the other and two spaces apart. Rows have the same number of cells.
/// \param to_left  to_left(k): whether the cells of column k begin below one another; the others end so
template <class ToLeft>
[[nodiscard]] std::vector<std::string> in_columns(std::vector<std::vector<std::string>> const& rows,
                                                  ToLeft const& to_left) {
  std::vector<std::size_t> widths(rows.empty() ? 0 : rows.front().size());
  for (auto const& row : rows)
    for (std::size_t c = 0; c < row.size(); ++c) widths[c] = std::max(widths[c], row[c].size());
  std::vector<std::string> lines;
  for (auto const& row : rows) {
    std::string line;
    for (std::size_t c = 0; c < row.size(); ++c) {
      std::string const space(widths[c] - row[c].size(), ' ');
      line += (c == 0 ? "" : "  ") + (to_left(c) ? row[c] + space : space + row[c]);
    }
    line.erase(line.find_last_not_of(' ') + 1);
    lines.push_back(line + '\n');
  }
  return lines;
}

}  // namespace tool
