// SPDX-License-Identifier: Apache-2.0
// Time over memory of many plans as a picture.
#include <cmath>
#include <string>
#include <vector>
#include <cairn/plan/text/plan_text.hpp>
#include <cairn/planning.hpp>
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
