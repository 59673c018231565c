#pragma once
/// \file chain_text.hpp  Plans for chains in words, as tables and as CSV, and why there is none.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>
#include <cairn/plan/chain/chain_plan.hpp>
#include <cairn/plan/chain/chain_planner.hpp>
#include <cairn/plan/text/detail/plan_words.hpp>
#include <cairn/plan/text/detail/quantities.hpp>

namespace cairn {
namespace detail {

/// Of a chain's times, which are whole numbers in a unit that nobody says.
[[nodiscard]] inline std::int64_t store_all_time(chain_plan const& plan) noexcept { return plan.cost.makespan - plan.cost.extra_forward - plan.cost.transfer; }
/// Its makespan over that of storing everything; 1 where nothing takes time.
[[nodiscard]] inline double slowdown(chain_plan const& plan) noexcept {
  auto const all = store_all_time(plan);
  return all > 0 ? double(plan.cost.makespan) / double(all) : 1;
}
[[nodiscard]] inline std::string exact_bytes(std::int64_t bytes) {
  std::string const exact = plural(wide(bytes), "byte");
  return bytes < 1024 ? exact : exact + " (" + bytes_text(wide(bytes)) + ")";
}
/// Columns that end below each other, the last one ragged.
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

/// What is proven of a plan's makespan, as "no schedule of any kind is faster".
[[nodiscard]] inline std::string chain_gap_text(chain_plan const& plan) {
  auto const of = plan.bound_class();
  std::string const which = of == chain_class::every_schedule ? "schedule of any kind" : of == chain_class::persistent ? "persistent plan" : "non-persistent plan";
  if (plan.exact()) return "no " + which + " is faster";
  if (plan.bound() <= 0) return "nothing is proven of its time";
  return "it takes " + detail::percent_text(plan.gap()) + " more than a bound for every " + which;
}

/// A plan in one line: how it was found, its time over that of storing everything, its peak, and how far it is from the best.
[[nodiscard]] inline std::string chain_plan_text(chain_plan const& plan) {
  return std::string{name_of(plan.by)} + ": " + detail::number_text(detail::slowdown(plan)) + " times the time of storing everything, peak " + detail::exact_bytes(plan.cost.peak) +
         "; " + chain_gap_text(plan);
}

/// How many budgets of a curve the limit of work left without a plan.
[[nodiscard]] inline std::int64_t left_out_of(std::span<chain_plan const> front) noexcept {
  std::int64_t sum = 0;
  for (auto const& plan : front) sum += plan.left_out;
  return sum;
}

/// A table for people: peak memory, makespan, its multiple of storing everything, how far that is above what is proven, and the planner.
/// A last line says how many budgets the limit of work left without a plan, where it did.
/// \param beside  bytes that are added to each peak, as those of state 0
[[nodiscard]] inline std::string chain_pareto_text(std::span<chain_plan const> front, std::int64_t beside = 0) {
  std::vector<std::vector<std::string>> rows{{"memory", "makespan", "of store-all", "above bound", "planner"}};
  for (auto const& plan : front)
    rows.push_back({detail::bytes_text(wide(plan.cost.peak) + wide(beside)), detail::digits_of(wide(plan.cost.makespan)), detail::number_text(detail::slowdown(plan)),
                    plan.exact() ? "0" : plan.bound() > 0 ? detail::percent_text(plan.gap()) : "-", name_of(plan.by)});
  std::int64_t const missing = left_out_of(front);
  return detail::aligned(rows) + (missing > 0 ? detail::plural(wide(missing), "more budget") + (missing > 1 ? " have" : " has") + " no plan here: the limit of work was passed\n" : "");
}

/// One line a plan: peak, budget, makespan, extra_forward, lower_bound_time, bound_time, bound, gap, planner, left_out. Numbers in full, state 0 not
/// counted.
[[nodiscard]] inline std::string chain_pareto_csv(std::span<chain_plan const> front) {
  std::string text = "peak,budget,makespan,extra_forward,lower_bound_time,bound_time,bound,gap,planner,left_out\n";
  for (auto const& plan : front) {
    for (auto const number : {plan.cost.peak, plan.budget, plan.cost.makespan, plan.cost.extra_forward, plan.proof.lower_bound_time, plan.bound()})
      text += std::to_string(number) + ",";
    text += std::string{name_of(plan.bound_class())} + "," + detail::exact_text(plan.gap()) + "," + name_of(plan.by) + "," + std::to_string(plan.left_out) + "\n";
  }
  return text;
}

/// Why no plan keeps within a budget: the least that would do, and the stage that needs the most at once.
/// \param work  the chain   \param beside  bytes that the budget and the least are told with, as those of state 0
[[nodiscard]] inline std::string chain_infeasibility_text(chain_infeasibility const& why, chain const& work, std::int64_t beside = 0) {
  std::string const number = std::to_string(why.stage);
  std::string const what = why.stage == work.stages() ? "the loss" : why.is_backward ? "the adjoint of stage " + number : "stage " + number + ", recorded,";
  std::string parts;
  auto const add = [&](std::int64_t bytes, char const* of) {
    if (bytes > 0) parts += (parts.empty() ? ": " : ", ") + std::to_string(bytes) + of;
  };
  add(why.state, " for its state");
  add(why.tape, " for its tape");
  add(why.adjoint, " for the adjoint it reads");
  add(why.work, " to work with");
  return "The budget is " + std::to_string(why.budget + beside) + " bytes, and the least that would do is " + std::to_string(why.least_bytes + beside) +
         (beside > 0 ? ", of which state 0 takes " + std::to_string(beside) : "") + "; of all stages " + what + " takes the most at once, " + std::to_string(why.lower_bound) + parts +
         ", and no schedule can do with less than that";
}

}  // namespace cairn
