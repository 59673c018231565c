#pragma once
/// \file chain_figures.hpp  The figures of a chain's plan, and rows of text as a table.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>
#include <cairn/plan/chain/chain_plan.hpp>
#include <cairn/plan/text/detail/plan_words.hpp>
#include <cairn/plan/text/detail/quantities.hpp>

namespace cairn::detail {

/// The time of storing everything. A chain's times are whole numbers in an unknown unit.
[[nodiscard]] inline std::int64_t store_all_time(chain_plan const& plan) noexcept {
  return plan.cost.makespan - plan.cost.extra_forward - plan.cost.transfer;
}
/// The makespan over that of storing everything; 1 if nothing takes time.
[[nodiscard]] inline double slowdown(chain_plan const& plan) noexcept {
  auto const all = store_all_time(plan);
  return all > 0 ? double(plan.cost.makespan) / double(all) : 1;
}
[[nodiscard]] inline std::string exact_bytes(std::int64_t bytes) {
  std::string const exact = plural(wide(bytes), "byte");
  return bytes < 1024 ? exact : exact + " (" + bytes_text(wide(bytes)) + ")";
}
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
