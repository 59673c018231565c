// SPDX-License-Identifier: Apache-2.0
// Time over memory of many plans: as a picture, as comma-separated values, as a table.
#include <algorithm>
#include <cmath>
#include <sstream>
#include <string>
#include <vector>
#include <cairn/plan/chain/chain_planner.hpp>
#include <cairn/plan/text/plan_text.hpp>
#include <cairn/planning.hpp>
#include "front_text.hpp"
#include "picture/pareto.hpp"
#include "support/catch.hpp"
#include "support/svg.hpp"

using namespace cairn;
using namespace picture;
using Catch::Matchers::ContainsSubstring;
using namespace svg_text;

namespace {

workload loop(step_index n) {
  return {.steps = n,
          .state_bytes = 100'000,
          .state_inline_bytes = 24,
          .adjoint_bytes = 100'000,
          .step_seconds = 1e-3,
          .adjoint_seconds = 2e-3};
}

std::vector<std::vector<std::string>> cells(std::string const& csv) {
  std::vector<std::vector<std::string>> rows;
  std::istringstream lines{csv};
  for (std::string line; std::getline(lines, line);) {
    rows.emplace_back();
    std::istringstream fields{line};
    for (std::string field; std::getline(fields, field, ',');) rows.back().push_back(field);
  }
  return rows;
}

}  // namespace

TEST_CASE("the picture of a front shows each plan", "[tool][picture]") {
  auto const front = pareto(loop(300), 10);
  auto const svg = pareto_svg(front);
  CHECK_THAT(svg, ContainsSubstring("<title>Predicted time over memory</title>") &&
                      ContainsSubstring("memory, logarithmic") && ContainsSubstring("time, logarithmic"));
  std::size_t dots = 0;
  for (std::size_t at = svg.find("h0M"); at != std::string::npos; at = svg.find("h0M", at + 1)) ++dots;
  CHECK(dots + 1 == front.size());
  auto untimed = loop(20);
  untimed.step_seconds = untimed.adjoint_seconds = 0;
  CHECK_THAT(pareto_svg(pareto(untimed), "A & B"),
             ContainsSubstring("<title>A &amp; B</title>") && ContainsSubstring("step calls"));
  CHECK_THAT(pareto_svg({}), ContainsSubstring("0 plans, no plan."));
}

TEST_CASE("a front over a wide range is drawn on logarithmic axes", "[tool][picture]") {
  auto const work = loop(1'000);
  auto const front = pareto(work, 30);
  auto const svg = pareto_svg(front);
  auto const x = labels_of(svg, "x-axis"), y = labels_of(svg, "y-axis");
  CHECK(x.back() == "memory, logarithmic");
  CHECK(y.back() == "time, logarithmic");
  double const least_bytes = double(front.front().cost.memory_bytes);
  double const most_bytes = double(front.back().cost.memory_bytes);
  double const most = front.front().cost.seconds, least = front.back().cost.seconds;
  REQUIRE(most_bytes >= 10 * least_bytes);
  REQUIRE(most >= 10 * least);
  double start_bytes = 1, start = 1e-9;  // powers of 2; 1, 2 and 5 times powers of 10
  while (2 * start_bytes <= least_bytes) start_bytes *= 2;
  for (double ten = 1e-9; ten < 1e9; ten *= 10)
    for (double const number : {ten, 2 * ten, 5 * ten})
      if (number <= least * (1 + 1e-9)) start = number;
  auto const dots = marks_of(svg).at("save");
  REQUIRE(dots.size() == front.size());
  for (std::size_t k = 0; k < front.size(); ++k) {
    double const bytes = double(front[k].cost.memory_bytes);
    double const across = std::log(bytes / start_bytes) / std::log(most_bytes / start_bytes);
    double const up = std::log(front[k].cost.seconds / start) / std::log(most / start);
    CHECK(std::abs(dots[k][0].numbers[0] - (80 + 690 * across)) < 0.011);
    CHECK(std::abs(dots[k][0].numbers[1] - (bottom_of(svg) - 320 * up)) < 0.011);
  }
  // Three quarters of the picture's width are no longer above a flat line: the dots are apart.
  for (std::size_t k = 1; k < dots.size(); ++k) CHECK(dots[k][0].numbers[0] > dots[k - 1][0].numbers[0] + 3);

  auto const narrow = pareto_svg(pareto(loop(3)));
  CHECK_THAT(labels_of(narrow, "x-axis").back(), !ContainsSubstring("logarithmic"));
  CHECK(labels_of(narrow, "x-axis").front() == "0");
  CHECK(labels_of(narrow, "y-axis").front() == "0");
}

TEST_CASE("the text below a title is wrapped, not cut", "[tool][picture]") {
  auto const front = pareto(loop(1'000), 30);
  auto const svg = pareto_svg(front);
  std::string note;
  for (std::size_t at = 0; (at = svg.find("class=\"note\"", at)) != std::string::npos; ++at) {
    auto const words = between(svg.substr(at), ">", "<");
    note += (note.empty() ? "" : " ") + words;
  }
  CHECK(note == picture::with_separators(plan_text(front.front()) + " ... " + plan_text(front.back())));
  CHECK(note.size() > 96);
}

TEST_CASE("the CSV of a front has its numbers in full", "[tool][pareto]") {
  auto const front = pareto(loop(300), 10);
  auto const rows = cells(tool::pareto_csv(front));
  REQUIRE(rows.size() == front.size() + 1);
  CHECK(rows[0][0] == "bytes");
  for (std::size_t k = 0; k < front.size(); ++k) {
    REQUIRE(rows[k + 1].size() == rows[0].size());
    CHECK(rows[k + 1][0] == std::to_string(std::uint64_t(front[k].cost.memory_bytes)));
    CHECK(std::stod(rows[k + 1][1]) == front[k].cost.seconds);
    CHECK(rows[k + 1][2] == std::to_string(std::uint64_t(front[k].cost.step_calls)));
    CHECK(rows[k + 1][4] == name_of(front[k].by));
  }
}

TEST_CASE("the table of a front shows each plan", "[tool][pareto]") {
  auto const front = pareto(loop(300), 10);
  auto const table = tool::pareto_table(front);
  CHECK(std::size_t(std::count(table.begin(), table.end(), '\n')) == front.size() + 1);
  CHECK_THAT(table, ContainsSubstring("calls/step  plan\n") && ContainsSubstring("revolve with 299 slots in memory"));
}

TEST_CASE("the CSV of a chain's front has its numbers in full", "[tool][pareto]") {
  chain const work{.x = {8, 8, 4, 8, 9}, .s = {20, 30, 17, 20}, .u = {10, 7, 10, 9}, .v = {20, 20, 20, 11, 0}};
  auto front = chain_planner{work}.pareto(6);
  REQUIRE(front.size() > 2);
  front[1].left_out = 2;
  auto const rows = cells(tool::chain_pareto_csv(front));
  REQUIRE(rows.size() == front.size() + 1);
  CHECK(rows[0] == std::vector<std::string>{"peak", "budget", "makespan", "extra_forward", "lower_bound_time",
                                            "bound_time", "bound", "gap", "planner", "left_out"});
  for (std::size_t k = 0; k < front.size(); ++k) {
    auto const& plan = front[k];
    std::vector<std::string> const wanted{std::to_string(plan.cost.peak), std::to_string(plan.budget),
                                          std::to_string(plan.cost.makespan), std::to_string(plan.cost.extra_forward),
                                          std::to_string(plan.proof.lower_bound_time), std::to_string(plan.bound()),
                                          name_of(plan.bound_class()), rows[k + 1].at(7), name_of(plan.by),
                                          std::to_string(plan.left_out)};
    CHECK(rows[k + 1] == wanted);
    CHECK(std::stod(rows[k + 1][7]) == plan.gap());
  }
}
