// SPDX-License-Identifier: Apache-2.0
#include "chain_command.hpp"

#include <algorithm>
#include <cstddef>
#include <ostream>
#include <vector>

#include <cairn/adapt/nlohmann_json/chain.hpp>
#include <cairn/plan/text/chain_text.hpp>
#include <cairn/plan/text/chain_words.hpp>
#include <cairn/plan/text/figure_text.hpp>

#include "chain_answer.hpp"
#include "files.hpp"
#include "front_text.hpp"
#include "numbers.hpp"
#include "picture/chain.hpp"
#include "wrong_request.hpp"

namespace tool {
namespace {

using cairn::wide;

constexpr std::int64_t usual_points = 40, few_points = 8, most_points = 1000;

void refuse_what_clashes(asked_chain const& asked, chain_outputs const& wanted) {
  refuse_two_budgets(asked);
  bool const one_plan = asked.memory || asked.time;
  if (wanted.json + wanted.csv + wanted.actions > 1)
    throw wrong_request{"--json, --csv and --actions are ways of writing the answer; give one of them"};
  if (one_plan && wanted.pareto) throw wrong_request{"--pareto looks at all budgets; leave --memory and --time out"};
  if (one_plan && wanted.csv) throw wrong_request{"--csv is a table of many plans; leave --memory and --time out"};
  if (!one_plan && (wanted.actions || !wanted.svg.empty()))
    throw wrong_request{"--actions and --svg are of one plan; give --memory or --time, too"};
}

std::int64_t points_of(chain_outputs const& wanted, std::int64_t usual) {
  auto const points = wanted.points.empty() ? usual : count_of("points", wanted.points, 0);
  if (points < 2 || points > most_points) refuse_value("points", wanted.points, "2 to 1000");
  return points;
}

/// The least and the most memory that the chain needs, in words.
std::string limits(chain_desk const& desk, std::vector<cairn::chain_plan> const& front) {
  auto const bytes = [&](std::int64_t count) { return cairn::exact_bytes_text(count + desk.initial_bytes()); };
  std::string text = counted(wide(desk.work().stages()), "stage") + ", store-all takes " +
                     grouped(wide(desk.planner().store_all_time())) + " within " +
                     bytes(desk.planner().store_all_peak()) + '\n';
  if (!front.empty())
    text += (front.front().left_out > 0 ? "least memory found " : "least memory ") + bytes(front.front().cost.peak) +
            ", and no schedule of any kind does with less than " + bytes(front.front().proof.lower_bound_peak) + '\n';
  return text;
}

cairn::chain_plan plan_within(chain_desk& desk) {
  try {
    return desk.plan();
  } catch (cairn::infeasible_budget const&) {
    if (auto const why = desk.why_infeasible())
      throw wrong_request{cairn::chain_infeasibility_text(*why, desk.work(), desk.initial_bytes())};
    throw;
  }
}

void refuse_less_than_the_initial_state(cairn::chain const& work, asked_chain const& asked) {
  if (*asked.memory >= work.x.front()) return;
  auto without = asked;
  without.memory = 0;
  chain_desk desk{work, without};
  auto const why = desk.why_infeasible();
  auto const least = (why ? why->least_bytes : 0) + work.x.front();
  throw wrong_request{"--memory is " + std::to_string(*asked.memory) + " B, but state 0 alone takes " +
                      std::to_string(work.x.front()) + " B, and the least that would do is " + std::to_string(least) +
                      " B; give that much"};
}

}  // namespace

void answer_chain(std::ostream& to, std::string const& file, asked_chain asked, chain_outputs const& wanted) {
  if (file.empty())
    throw wrong_request{"no chain is given; give a file as in cairn chain FILE.json, - for standard input, or --batch"};
  refuse_what_clashes(asked, wanted);
  auto work = cairn::read_chain_json(read_file(file, longest_chain_text));
  if (asked.memory) {
    refuse_less_than_the_initial_state(work, asked);
    *asked.memory -= work.x.front();
  }
  chain_desk desk{std::move(work), asked};
  bool const one_plan = asked.memory || asked.time;
  std::string text;
  if (one_plan) {
    auto const plan = plan_within(desk);
    if (!wanted.svg.empty()) write_file(wanted.svg, picture::chain_memory_svg(desk.work(), plan.actions, wanted.title));
    text = wanted.json      ? '{' + desk.json_members(plan) + "}\n"
           : wanted.actions ? cairn::chain_words(plan.actions) + '\n'
                            : desk.table(plan);
  }
  bool const short_table = !wanted.pareto && !wanted.json && !wanted.csv;
  if (!one_plan || !wanted.pareto_svg.empty()) {
    auto const points =
        points_of(wanted, one_plan || !short_table || !wanted.pareto_svg.empty() ? usual_points : few_points);
    auto const front = desk.pareto(std::size_t(points));
    if (!wanted.pareto_svg.empty())
      write_file(wanted.pareto_svg, picture::chain_pareto_svg(front, wanted.title, desk.initial_bytes()));
    if (!one_plan)
      text = wanted.json  ? desk.pareto_json(front) + '\n'
             : wanted.csv ? chain_pareto_csv(front)
                          : (wanted.pareto ? "" : limits(desk, front)) + desk.pareto_table(front);
  }
  to << text;
}

}  // namespace tool
