// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <algorithm>
#include <cstddef>
#include <vector>
#include <cairn/plan/text/chain_text.hpp>
#include <cairn/plan/text/detail/quantities.hpp>
#include <cairn/plan/text/figure_text.hpp>

namespace cairn {
namespace detail {

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

}  // namespace detail

CAIRN_DECL std::string chain_gap_text(chain_plan const& plan) {
  auto const of = plan.bound_class();
  std::string const which = of == chain_class::every_schedule ? "schedule of any kind"
                            : of == chain_class::persistent   ? "persistent plan"
                                                              : "non-persistent plan";
  if (plan.exact()) return "no " + which + " is faster";
  if (plan.bound() <= 0) return "nothing is proven of its time";
  return "it takes " + percent_text(plan.gap()) + " more than a bound for every " + which;
}

CAIRN_DECL std::string chain_plan_text(chain_plan const& plan) {
  return std::string{name_of(plan.by)} + ": " + number_text(plan.slowdown()) +
         " times the time of storing everything, peak " + exact_bytes_text(plan.cost.peak) + "; " +
         chain_gap_text(plan);
}

CAIRN_DECL std::string chain_pareto_text(std::span<chain_plan const> front, std::int64_t beside) {
  std::vector<std::vector<std::string>> rows{{"memory", "makespan", "of store-all", "above bound", "planner"}};
  for (auto const& plan : front)
    rows.push_back({detail::bytes_text(wide(plan.cost.peak) + wide(beside)),
                    detail::digits_of(wide(plan.cost.makespan)), number_text(plan.slowdown()),
                    plan.exact()       ? "0"
                    : plan.bound() > 0 ? percent_text(plan.gap())
                                       : "-",
                    name_of(plan.by)});
  std::int64_t const missing = left_out_of(front);
  return detail::aligned(rows) +
         (missing > 0 ? detail::plural(wide(missing), "more budget") + (missing > 1 ? " have" : " has") +
                            " no plan here: the limit of work was passed\n"
                      : "");
}

CAIRN_DECL std::string chain_infeasibility_text(chain_infeasibility const& why, chain const& work,
                                                std::int64_t beside) {
  std::string const number = std::to_string(why.stage);
  std::string const what = why.stage == work.stages() ? "the loss"
                           : why.is_backward          ? "the adjoint of stage " + number
                                                      : "stage " + number + ", recorded,";
  std::string parts;
  auto const add = [&](std::int64_t bytes, char const* of) {
    if (bytes > 0) parts += (parts.empty() ? ": " : ", ") + std::to_string(bytes) + of;
  };
  add(why.state, " for its state");
  add(why.tape, " for its tape");
  add(why.adjoint, " for the adjoint it reads");
  add(why.work, " to work with");
  return "The budget is " + std::to_string(why.budget + beside) + " bytes, and the least that would do is " +
         std::to_string(why.least_bytes + beside) +
         (beside > 0 ? ", of which state 0 takes " + std::to_string(beside) : "") + "; of all stages " + what +
         " takes the most at once, " + std::to_string(why.lower_bound) + parts +
         ", and no schedule can do with less than that";
}

}  // namespace cairn
