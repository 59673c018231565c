// SPDX-License-Identifier: Apache-2.0
#pragma once
// Reads the reference numbers in tests/oracles.
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>
#include <cairn/core/wide.hpp>

namespace csv {

/// Column name -> text.
using row = std::map<std::string, std::string>;

inline std::vector<std::string> cells(std::string const& line) {
  std::vector<std::string> found;
  std::istringstream text{line};
  for (std::string cell; std::getline(text, cell, ',');) found.push_back(cell);
  return found;
}
/// All rows of tests/oracles/<name>; never an empty answer.
inline std::vector<row> oracle(std::string const& name) {
  auto const path = std::filesystem::path{__FILE__}.parent_path().parent_path() / "oracles" / name;
  std::ifstream file{path};
  std::string line;
  if (!std::getline(file, line)) throw std::runtime_error{"cannot read " + path.string()};
  auto const names = cells(line);
  std::vector<row> rows;
  while (std::getline(file, line)) {
    auto const values = cells(line);
    row next;
    for (std::size_t k = 0; k < names.size() && k < values.size(); ++k) next[names[k]] = values[k];
    rows.push_back(next);
  }
  if (rows.empty()) throw std::runtime_error{"no rows in " + path.string()};
  return rows;
}
/// A whole number >= 0 of up to 38 digits.
inline cairn::wide number(std::string const& text) {
  if (text.empty()) throw std::runtime_error{"an empty number"};
  cairn::wide value = 0;
  for (char const digit : text) {
    if (digit < '0' || digit > '9') throw std::runtime_error{"not a number: " + text};
    value = 10 * value + cairn::wide(digit - '0');
  }
  return value;
}

}  // namespace csv
