// SPDX-License-Identifier: Apache-2.0
// What memory is spent on, as numbers and as a picture.

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>
#include <cairn/planning.hpp>
#include "picture/pareto.hpp"
#include "picture/sweep_breakdown.hpp"
#include "support/catch.hpp"
#include "support/plans.hpp"
#include "support/svg.hpp"

using namespace cairn;
using namespace picture;
using Catch::Matchers::ContainsSubstring;
using namespace svg_text;

namespace {

std::int64_t sum64(breakdown_row const& row) { return std::int64_t(sum_of(row)); }

/// Parts that differ from row to row, some of them nothing.
breakdown made(std::size_t rows, std::size_t kinds, breakdown_unit unit = breakdown_unit::bytes) {
  breakdown of;
  of.unit = unit;
  for (std::size_t k = 0; k < kinds; ++k) of.kinds.push_back("kind " + std::to_string(k));
  for (std::size_t row = 0; row < rows; ++row) {
    of.rows.push_back({"row " + std::to_string(row), {}});
    for (std::size_t k = 0; k < kinds; ++k)
      of.rows.back().values.push_back(std::int64_t((row * 37 + k * 11) % 50) * 10'000);
  }
  return of;
}
std::int64_t most_of(breakdown const& of) {
  std::int64_t most = 0;
  for (auto const& row : of.rows) most = std::max(most, sum64(row));
  return most;
}

/// Where bars begin and end: at the axis, whose place depends on their names, and before their sums.
double along(double value, double most, double left) { return left + (700 - left) * value / most; }

}  // namespace

TEST_CASE("a breakdown's bars are as long as its numbers, one after another", "[tool][picture]") {
  for (std::size_t const rows : {1u, 2u, 5u, 32u})
    for (std::size_t const kinds : {1u, 2u, 8u})
      for (auto const unit : {breakdown_unit::bytes, breakdown_unit::nanoseconds, breakdown_unit::count}) {
        auto const of = made(rows, kinds, unit);
        auto const svg = breakdown_svg(of);
        auto const marks = marks_of(svg);
        double const most = double(most_of(of)), left = std::stod(between(svg, "class=\"grid\" d=\"M", " "));
        REQUIRE(marks.size() <= kinds);
        CHECK((left >= 80 && left <= 100));
        std::vector<std::size_t> drawn(kinds);
        bool good = true;
        double const bottom = bottom_of(svg), height = 30 * double(rows);
        for (std::size_t row = 0; row < rows; ++row) {
          double before = 0, middle = bottom - height + 30 * (double(row) + 0.5);
          for (std::size_t k = 0; k < kinds; ++k) {
            double const value = double(of.rows[row].values[k]);
            if (value == 0) continue;
            auto const bar = corners_of(marks.at("part-" + std::to_string(k + 1)).at(drawn[k]++));
            good = good && bar.size() == 4 && is_at(bar[0].x, along(before, most, left)) &&
                   is_at(bar[1].x, along(before + value, most, left)) && is_at(bar[0].y, middle - 9) &&
                   is_at(bar[2].y, middle + 9);
            before += value;
          }
        }
        CHECK(good);
        for (std::size_t k = 0; k < kinds; ++k)
          CHECK((drawn[k] == 0) == (marks.count("part-" + std::to_string(k + 1)) == 0));
        auto const names = labels_of(svg, "y-axis");
        REQUIRE(names.size() == rows + 1);
        CHECK(names.front() == "row 0");
        CHECK(names.back() == "row");
        auto const sums = labels_of(svg, "sums");
        CHECK(sums.size() == rows);
        CHECK(labels_of(svg, "x-axis").front() == "0");
      }
}

TEST_CASE("a breakdown of many rows is drawn as areas whose tops are the sums so far", "[tool][picture]") {
  auto of = made(100, 3);
  of.across = "rank";
  auto const svg = breakdown_svg(of);
  auto const marks = marks_of(svg);
  double const bottom = bottom_of(svg), most = double(most_of(of));
  bool good = true;
  for (std::size_t row = 0; row < of.rows.size(); ++row) {
    std::int64_t so_far = 0;
    for (std::size_t k = 0; k < 3; ++k) {
      so_far += of.rows[row].values[k];
      auto const area = corners_of(marks.at("part-" + std::to_string(k + 1)).at(0));
      good = good && is_at(height_at(area, across(double(row) + 0.5, 100)), bottom - 320 * double(so_far) / most);
    }
  }
  CHECK(good);
  std::size_t largest = 0;
  for (std::size_t row = 0; row < 100; ++row)
    if (sum64(of.rows[row]) > sum64(of.rows[largest])) largest = row;
  CHECK(is_at(marks.at("summit")[0][0].numbers[0], across(double(largest) + 0.5, 100)));
  auto const x = labels_of(svg, "x-axis");
  CHECK(x.back() == "rank");
  CHECK(x[x.size() - 2] == "100");
  // The parts of the largest row, in whole per cents where they are that many.
  auto const told = between(svg, "<desc>", "</desc>");
  CHECK_THAT(told, ContainsSubstring("row " + std::to_string(largest) + ": "));
  CHECK_THAT(told, ContainsSubstring(" % kind 0"));
}

TEST_CASE("the parts of a breakdown are named with their shares", "[tool][picture]") {
  breakdown of{.kinds = {"activations", "parameters", "gradients"},
               .rows = {{"batch 4", {100, 200, 100}}, {"batch 8", {3'000, 750, 250}}}};
  of.across = "batch";
  CHECK_THAT(breakdown_svg(of), ContainsSubstring("batch 8: 3.91 KiB: 75 % activations, 19 % parameters, "
                                                  "6.2 % gradients"));
  of.unit = breakdown_unit::nanoseconds;
  CHECK_THAT(breakdown_svg(of), ContainsSubstring("batch 8: 4 us: 75 % activations") && ContainsSubstring("time (us)"));
  of.unit = breakdown_unit::count;
  of.title = "<&>";
  CHECK_THAT(breakdown_svg(of), ContainsSubstring("batch 8: 4,000: 75 %") && ContainsSubstring("<title>&lt;&amp;&gt;"));
  of.rows = {{"", {996, 4, 0}}};
  CHECK_THAT(breakdown_svg(of), ContainsSubstring("batch 0: 1,000: 99.6 % activations, 0.4 % parameters<"));
  of.rows.clear();
  CHECK_THAT(breakdown_svg(of), ContainsSubstring("no batch"));
}

TEST_CASE("a breakdown that cannot be drawn is refused", "[tool][picture]") {
  CHECK_THROWS_WITH(breakdown_svg({}), ContainsSubstring("1 to 8") && ContainsSubstring("asked for = 0"));
  CHECK_THROWS_AS(breakdown_svg(made(2, 9)), invalid_plan);
  auto of = made(3, 2);
  of.rows[1].values.pop_back();
  CHECK_THROWS_WITH(breakdown_svg(of), ContainsSubstring("row = 1, numbers = 1, kinds = 2"));
  of = made(3, 2);
  of.rows[2].values[0] = -1;
  CHECK_THROWS_WITH(breakdown_svg(of), ContainsSubstring("row = 2, part = -1"));
  CHECK_THROWS_AS(breakdown_svg(made(most_drawn_actions, 2)), invalid_plan);
}

TEST_CASE("the parts of a sweep are its curve, action by action", "[tool][picture]") {
  std::vector<workload> kinds;
  for (auto const adjoint : {adjoint_form::one_step, adjoint_form::with_next, adjoint_form::recorded})
    kinds.push_back({.form = {step_form::in_place, adjoint}});
  for (step_index const n : {0, 1, 7, 30})
    each_as_any(n, [&](std::string const& name, auto const& typed) {
      INFO(name);
      any_schedule const plan{typed};
      for (workload work : kinds) {
        for (bool const sized : {false, true}) {
          if (sized) {
            work.state_bytes = 1'000'003;
            work.adjoint_bytes = 77;
            work.tape_bytes = 5'000;
          }
          auto const curve = memory_over(plan, work);
          auto const parts = sweep_breakdown(plan, work);
          REQUIRE(parts.rows.size() == curve.held.size());
          CHECK(parts.unit == (sized ? breakdown_unit::bytes : breakdown_unit::count));
          CHECK(parts.kinds.front() == "checkpoints");
          for (std::size_t k = 0; k < parts.rows.size(); ++k) {
            REQUIRE(sum_of(parts.rows[k]) == curve.held[k]);
            REQUIRE(wide(parts.rows[k].values[0]) == curve.kept[k]);
          }
        }
      }
    });
  auto const parts = sweep_breakdown(revolve{9, 3}, {.state_bytes = 100, .initial_bytes = 0, .adjoint_bytes = 8});
  CHECK(parts.kinds == std::vector<std::string>{"checkpoints", "states in use", "adjoints", "tables"});
}

TEST_CASE("the parts of plans sum up to their memory", "[tool][pareto][picture]") {
  workload work{.steps = 100, .state_bytes = 100'000, .adjoint_bytes = 100'000, .tape_bytes = 300'000,
                .step_seconds = 1e-3, .adjoint_seconds = 2e-3};
  work.form.adjoint = adjoint_form::recorded;
  auto const front = pareto(work, 12);
  auto const parts = pareto_breakdown(front);
  REQUIRE(parts.rows.size() == front.size());
  CHECK(std::find(parts.kinds.begin(), parts.kinds.end(), "tapes") != parts.kinds.end());
  for (std::size_t k = 0; k < front.size(); ++k) {
    CHECK(sum_of(parts.rows[k]) == front[k].cost.memory_bytes);
    CHECK_THAT(parts.rows[k].name, ContainsSubstring(name_of(front[k].by)));
  }
  CHECK(pareto_breakdown({}).rows.empty());
}
