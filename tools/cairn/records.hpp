// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file records.hpp  Tables as people read them: columns of one width, sizes and times in their units.
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace tool {

/// Rows of cells below the names of their columns. A cell is a number or words, as in the file; empty where there is
/// nothing.
struct records {
  std::vector<std::string> columns;
  std::vector<std::vector<std::string>> rows;
};

/// A table of comma-separated values: a line of names, then a line for each row. Lines that begin with # are passed
/// over; cells may be quoted as RFC 4180 says.
/// \param name  of the file, for messages   \throws wrong_request   with the number of the line
[[nodiscard]] records read_csv(std::string_view text, std::string const& name);

/// A cell as people read it, by the name of its column: 1234567 bytes as "1.18 MiB", 0.00123 seconds as "1.23 ms",
/// other whole numbers with commas; "-" for no seconds of a plan, whose times were not given.
[[nodiscard]] std::string readable(std::string_view column, std::string_view cell);

/// The table with its columns one below the other; after the first `most` rows a line that says how many are left out.
[[nodiscard]] std::string aligned(records const& table, std::size_t most = 60);

}  // namespace tool
