// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file part_table.hpp  A breakdown that is filled row by row.
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include <cairn/core/error.hpp>
#include <cairn/core/wide.hpp>

#include "breakdown.hpp"

namespace picture {

/// Rows of parts. `made` leaves out each kind that is 0 in all rows, except the first kind.
class part_table {
 public:
  /// \param who  the public name that errors give
  part_table(char const* who, std::vector<std::string> kinds)
      : who_{who}, kinds_{std::move(kinds)}, used_(kinds_.size()) {
    used_[0] = true;
  }
  /// \pre one value for each kind   \throws overflow_error
  void add(std::string name, std::vector<wide> const& values) {
    breakdown_row row{std::move(name), {}};
    for (std::size_t k = 0; k < values.size(); ++k) {
      if (values[k] > wide((std::numeric_limits<std::int64_t>::max)()))
        throw overflow_error{who_, "does not fit 64 bits", {{"bytes", values[k]}}, ""};
      used_[k] = used_[k] || values[k] > 0;
      row.values.push_back(std::int64_t(values[k]));
    }
    rows_.push_back(std::move(row));
  }
  [[nodiscard]] breakdown made(breakdown_unit unit) const {
    breakdown of;
    of.unit = unit;
    for (std::size_t k = 0; k < kinds_.size(); ++k)
      if (used_[k]) of.kinds.push_back(kinds_[k]);
    for (auto const& row : rows_) {
      of.rows.push_back({row.name, {}});
      for (std::size_t k = 0; k < kinds_.size(); ++k)
        if (used_[k]) of.rows.back().values.push_back(row.values[k]);
    }
    return of;
  }

 private:
  char const* who_;
  std::vector<std::string> kinds_;
  std::vector<bool> used_;
  std::vector<breakdown_row> rows_;
};

}  // namespace picture
