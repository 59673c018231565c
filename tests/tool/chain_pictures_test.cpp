// SPDX-License-Identifier: Apache-2.0
// Plans for chains and graphs as pictures.
#include <cairn/plan/graph/graph_planner.hpp>
#include <cairn/plan/text/action_limits.hpp>
#include <cairn/plan/text/memory_over_time.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <vector>

#include "picture/chain.hpp"
#include "picture/graph.hpp"
#include "support/catch.hpp"
#include "support/chain_kinds.hpp"
#include "support/chain_plans.hpp"
#include "support/graph_kinds.hpp"

using namespace cairn;
using namespace picture;
using Catch::Matchers::ContainsSubstring;
using chain_plans::one_state, chain_plans::one_tape, chain_plans::planned, chain_plans::storing_all;

namespace {

std::string between(std::string const& text, std::string const& open, std::string const& close) {
  auto const from = text.find(open);
  if (from == std::string::npos) return "";
  auto const start = from + open.size();
  return text.substr(start, text.find(close, start) - start);
}
/// The data of the path of that class among the marks.
std::string path_of(std::string const& svg, std::string const& kind) {
  return between(between(between(svg, "<g class=\"marks\">", "</g>"), "<path class=\"" + kind + "\"", "/>"), " d=\"",
                 "\"");
}
struct corner {
  double x, y;
};
/// Corners of a path of M, H and V.
std::vector<corner> corners_of(std::string const& data) {
  std::vector<corner> all;
  for (char const* at = data.c_str(); *at != '\0';) {
    char const letter = *at++;
    char* end = nullptr;
    if (letter == 'Z' || letter == 'h' || letter == 'm' || letter == 'a') break;
    double const first = std::strtod(at, &end);
    corner next = all.empty() ? corner{} : all.back();
    if (letter == 'M') next.x = first, next.y = std::strtod(end, &end);
    else (letter == 'H' ? next.x : next.y) = first;
    all.push_back(next);
    at = end;
  }
  return all;
}
/// What a line of steps shows at `x`.
double height_at(std::vector<corner> const& path, double x) {
  for (std::size_t k = 1; k < path.size(); ++k)
    if (path[k - 1].x <= x && x < path[k].x) return path[k].y;
  return -1;
}
bool near(double drawn, double meant) { return std::abs(drawn - meant) <= 0.005 + 1e-9; }

}  // namespace

TEST_CASE("a picture of memory shows what is held between actions and in the middle of each",
          "[tool][chain][picture]") {
  for (auto const of : chains::all_kinds)
    for (int const stages : {1, 2, 5, 12}) {
      auto const work = chains::make(of, stages, 11);
      for (auto const& plan : {storing_all(stages), one_tape(stages), one_state(stages)}) {
        auto const curve = chain_memory_over(work, plan);
        auto const svg = chain_memory_svg(work, plan);
        double const bottom = std::stod(between(svg, "viewBox=\"0 0 800 ", "\"")) - 50,
                     all = double(curve.moments.back().end);
        auto const held = corners_of(path_of(svg, "held")), kept = corners_of(path_of(svg, "kept"));
        bool good = true;
        for (auto const& at : curve.moments) {
          double const x = 80 + 690 * (double(at.begin) + double(at.end)) / 2 / all;
          if (690 * double(at.end - at.begin) / all < 0.1) continue;  // thinner than what coordinates can say
          good = good && near(height_at(held, x), bottom - 320 * double(at.held) / double(curve.peak)) &&
                 near(height_at(kept, x), bottom - 320 * double(at.standing) / double(curve.peak));
        }
        CHECK(good);
        CHECK(std::any_of(held.begin(), held.end(), [&](corner const& at) { return near(at.y, bottom - 320); }));
        CHECK_THAT(between(svg, "<desc>", "</desc>"), ContainsSubstring("peak " + picture::grouped(wide(curve.peak))));
        CHECK(between(svg, "<title>", "</title>") ==
              "Memory of a plan for a chain of " + std::to_string(stages) + (stages == 1 ? " stage" : " stages"));
      }
    }
  chain const timeless{.x = {1, 1, 1}, .s = {2, 2}, .u = {0, 0}};
  auto const svg = chain_memory_svg(timeless, storing_all(2), "<&>");
  CHECK_THAT(svg, ContainsSubstring(">action</text>"));
  CHECK(between(svg, "<title>", "</title>") == "&lt;&amp;&gt;");
  CHECK(corners_of(path_of(svg, "held")).back().x == 770);
}

TEST_CASE("what cannot be drawn is refused before it is drawn", "[tool][chain][picture]") {
  auto const work = chains::make(chains::kind::uniform, 3, 1);
  CHECK_THROWS_AS(chain_memory_svg(work, {}), invalid_schedule);
  CHECK_THROWS_AS(chain_memory_svg(work, storing_all(2)), invalid_schedule);
  CHECK_THROWS_AS(chain_memory_svg(work, storing_all(4)), invalid_schedule);
  std::vector<action> const one{chain_actions::advance(-1)};
  CHECK_THROWS_AS(chain_memory_over(work, one), invalid_schedule);
  std::vector<action> lengthy = storing_all(3);
  lengthy.insert(lengthy.begin(), most_drawn_actions, chain_actions::advance(0));
  CHECK_THROWS_AS(chain_memory_svg(work, lengthy), invalid_plan);
  chain const torn{.x = {1, 1}, .s = {}, .u = {1}};
  CHECK_THROWS_AS(chain_memory_svg(torn, storing_all(1)), invalid_plan);
}

TEST_CASE("a picture of what memory buys has a dot a plan above the line of the bound", "[tool][chain][picture]") {
  auto const work = chains::make(chains::kind::lstm, 12, 3);
  std::vector<chain_plan> front{planned(work, one_state(12)), planned(work, one_tape(12)),
                                planned(work, storing_all(12))};
  REQUIRE((front[0].cost.peak < front[1].cost.peak && front[1].cost.peak < front[2].cost.peak));
  front[0].proof.lower_bound_time += front[0].proof.lower_bound_time / 10;
  for (auto& plan : front) {  // not what the line shows
    plan.proof.class_bound_time = plan.cost.makespan;
    plan.proof.of = chain_class::persistent;
  }
  for (std::int64_t const beside : {std::int64_t{0}, work.x[0]}) {
    auto const svg = chain_pareto_svg(front, "", beside);
    double const bottom = std::stod(between(svg, "viewBox=\"0 0 800 ", "\"")) - 50,
                 most = double(front[0].cost.makespan), most_bytes = double(front.back().cost.peak + beside);
    auto const dots = path_of(svg, "save");
    CHECK(std::size_t(std::count(dots.begin(), dots.end(), 'M')) == front.size());
    auto const line = corners_of(path_of(svg, "held")), bound = corners_of(path_of(svg, "peak"));
    for (auto const& plan : front) {
      double const x = 80 + 690 * double(plan.cost.peak + beside) / most_bytes;
      if (&plan != &front.back())
        CHECK(near(height_at(line, x + 0.02), bottom - 320 * double(plan.cost.makespan) / most));
      if (&plan == &front[0]) CHECK(near(bound.front().y, bottom - 320 * double(plan.proof.lower_bound_time) / most));
      else CHECK(near(height_at(bound, x - 0.02), bottom - 320 * double(plan.proof.lower_bound_time) / most));
    }
    CHECK(line.back().x == 770);
    CHECK_THAT(svg, ContainsSubstring("memory (") && ContainsSubstring("makespan"));
  }
  CHECK_THAT(chain_pareto_svg({}), ContainsSubstring("no plan"));
  CHECK_THAT(chain_pareto_svg(front, "A & B"), ContainsSubstring("<title>A &amp; B</title>"));
}

TEST_CASE("the picture of a plan for a graph shows its peak", "[tool][graph][long]") {
  operation_graph graph = graphs::make(graphs::kind::residual, 12, 1);
  for (auto& one : graph.operations) one.bytes *= 1000, one.tape_bytes = 100;
  graph_planner planner{graph};
  for (auto const& plan : planner.pareto(3)) {
    auto const picture = graph_memory_svg(graph, plan.actions);
    CHECK_THAT(picture, ContainsSubstring("<svg") && ContainsSubstring("12 operations") &&
               ContainsSubstring("peak " + picture::grouped(wide(plan.cost.peak)) + " bytes"));
    CHECK_THAT(graph_memory_svg(graph, plan.actions, "a title"), ContainsSubstring("a title"));
  }
  for (auto& one : graph.operations) one.time = one.adjoint_time = 0;
  CHECK_THAT(graph_memory_svg(graph, planner.plan(1'000'000).actions), ContainsSubstring("action"));
  CHECK_THAT(graph_memory_svg({}, std::vector<action>{graph_actions::turn(0)}), ContainsSubstring("the loss"));
  CHECK_THROWS_AS(graph_memory_svg(graph, std::vector<action>{graph_actions::turn(0)}), invalid_schedule);
  CHECK_THROWS_AS(graph_memory_svg(graph, std::vector<action>(most_drawn_actions + 1, graph_actions::advance(0))), invalid_plan);
}
