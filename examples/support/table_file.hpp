// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file table_file.hpp  A program's table, for those who ask for it: `program FILE.csv`. `cairn draw FILE.csv` draws it.

#include <fstream>
#include <span>
#include <stdexcept>
#include <string>

#include <cairn/core/memory_sample.hpp>

namespace support {

/// Whether the program was given the name of a file for its table.
[[nodiscard]] inline bool wants_table(int count) { return count > 1; }

/// \throws std::runtime_error   if the file cannot be written
inline void write_table(std::string const& name, std::string const& rows) {
  std::ofstream file{name, std::ios::binary};
  if (!(file << rows << std::flush)) throw std::runtime_error{name + " cannot be written"};
}

/// The columns of curves of memory over actions, and over time.
inline constexpr char const* curve_columns = "curve,bytes\n";
inline constexpr char const* timed_curve_columns = "curve,begin_ns,end_ns,bytes\n";

/// One curve, a row for each sample.
[[nodiscard]] inline std::string curve_rows(std::string const& name, std::span<cairn::memory_sample const> samples,
                                            bool timed = false) {
  std::string rows;
  for (auto const& at : samples)
    rows += name + (timed ? "," + std::to_string(at.begin) + "," + std::to_string(at.end) : "") + "," +
            std::to_string(at.bytes) + "\n";
  return rows;
}

}  // namespace support
