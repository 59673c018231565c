// SPDX-License-Identifier: Apache-2.0
#include "graph_command.hpp"

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <limits>
#include <numeric>
#include <ostream>
#include <string>
#include <string_view>
#include <vector>

#include <cairn/adapt/nlohmann_json/graph.hpp>
#include <cairn/core/bytes.hpp>
#include <cairn/plan/graph/graph_planner.hpp>
#include <cairn/plan/graph/liveness.hpp>
#include <cairn/plan/text/graph_words.hpp>
#include <cairn/profile/profile_csv.hpp>
#include <cairn/profile/profile_of.hpp>

#include "files.hpp"
#include "keys.hpp"
#include "members.hpp"
#include "numbers.hpp"
#include "picture/graph.hpp"
#include "wrong_request.hpp"

namespace tool {
namespace {

using cairn::wide;

constexpr std::size_t longest_graph_text = std::size_t{64} << 20;
constexpr std::int64_t few_budgets = 8, most_budgets = 1000;

/// \param command  which asks, for messages
cairn::operation_graph graph_of(asked_graph const& asked, char const* command) {
  if (asked.file.empty())
    throw wrong_request{std::string{"no graph is given; give a file as in cairn graph "} + command +
                        " FILE.json, - for standard input"};
  constexpr std::string_view table = ".csv", nodes = "_node_stats.csv", activations = "_activation_stats.csv";
  if (!asked.file.ends_with(table)) return cairn::read_graph_json(read_file(asked.file, longest_graph_text));
  if (!asked.file.ends_with(nodes))
    throw wrong_request{"\"" + asked.file +
                        "\" is not a table of nodes; give the file of a profile whose name ends with " +
                        std::string{nodes} + ", beside which the one of its activations lies"};
  std::string const beside = asked.file.substr(0, asked.file.size() - nodes.size()) + std::string{activations};
  return cairn::graph_of(
      cairn::read_profile_csv(read_file(asked.file, longest_graph_text), read_file(beside, longest_graph_text)));
}
std::string short_bytes(std::int64_t bytes) { return cairn::to_short_text(wide(bytes)).c_str(); }
std::int64_t largest(std::vector<std::int64_t> const& bytes) { return *std::max_element(bytes.begin(), bytes.end()); }

/// No graph has more than 2^62 bytes, so all sizes of 2^63 and more mean the same.
std::int64_t budget_of(asked_graph const& asked) {
  auto const most = wide((std::numeric_limits<std::int64_t>::max)());
  return std::int64_t(std::min(wide(size_of("memory", asked.memory).count()), most));
}
std::size_t points_of(asked_graph const& asked) {
  std::int64_t const points = asked.points.empty() ? few_budgets : count_of("points", asked.points, 0);
  if (points < 2 || points > most_budgets) refuse_value("points", asked.points, "2 to 1000");
  return std::size_t(points);
}
cairn::graph_plan plan_within(cairn::graph_planner& planner, std::int64_t budget) {
  std::int64_t const least = planner.least_budget();
  if (budget < least)
    throw wrong_request{"--memory is " + std::to_string(budget) + " B, but the least for which a plan is found is " +
                        std::to_string(least) + " B; give that much"};
  return planner.plan(budget);
}
std::int64_t store_all_time(cairn::graph_plan const& plan) { return plan.cost.makespan - plan.cost.extra_forward; }
double slowdown(cairn::graph_plan const& plan) {
  auto const all = store_all_time(plan);
  return all > 0 ? double(plan.cost.makespan) / double(all) : 1;
}
double gap_of(cairn::graph_plan const& plan) {
  return plan.lower_bound_time > 0 ? double(plan.cost.makespan) / double(plan.lower_bound_time) - 1 : 0;
}
std::string percent(double part) {
  char text[32];
  std::snprintf(text, sizeof text, "%.3g %%", 100 * part);
  return text;
}

std::string json_of(cairn::graph_plan const& plan, std::int64_t store_all_peak) {
  members all;
  all.add("budget", wide(plan.budget));
  all.add("peak", wide(plan.cost.peak));
  all.add("makespan", wide(plan.cost.makespan));
  all.add("extra_forward", wide(plan.cost.extra_forward));
  all.add("runs", wide(plan.cost.runs));
  all.add("store_all_peak", wide(store_all_peak));
  all.add("lower_bound_time", wide(plan.lower_bound_time));
  all.add("lower_bound_peak", wide(plan.lower_bound_peak));
  all.add("gap", json_number(gap_of(plan)));
  all.add("exact", std::string{plan.is_exact ? "true" : "false"});
  all.add("plan", '"' + cairn::graph_words(plan.actions) + '"');
  return '{' + all.take() + '}';
}
std::string row_of(char const* name, std::string const& value, std::string const& note) {
  char row[200];
  std::snprintf(row, sizeof row, "  %-20s %26s  %s", name, value.c_str(), note.c_str());
  std::string text = row;
  text.erase(text.find_last_not_of(' ') + 1) += '\n';
  return text;
}
std::string bytes_row(char const* name, std::int64_t bytes) {
  return row_of(name, grouped(wide(bytes)) + " B", short_bytes(bytes));
}

std::string table_of(cairn::graph_plan const& plan, cairn::operation_graph const& graph, std::int64_t store_all_peak) {
  auto const& cost = plan.cost;
  return counted(wide(graph.size()), "operation") + '\n' + bytes_row("memory", cost.peak) +
         row_of("makespan", grouped(wide(cost.makespan)),
                fixed(slowdown(plan)) + " times store-all's " + grouped(wide(store_all_time(plan)))) +
         row_of("run again", grouped(wide(cost.extra_forward)), "time of operations that are run more than once") +
         row_of("runs", grouped(wide(cost.runs)), "of " + counted(wide(graph.size()), "operation")) +
         bytes_row("store-all's memory", store_all_peak) + bytes_row("least of any plan", plan.lower_bound_peak) +
         row_of("fastest of any plan", grouped(wide(plan.lower_bound_time)), "at least, within this budget") +
         row_of("gap", percent(gap_of(plan)), plan.is_exact ? "no plan is faster" : "");
}
std::string curve_of(std::vector<cairn::graph_plan> const& front) {
  std::string text = "      memory    makespan  of store-all  above bound\n";
  for (auto const& plan : front) {
    char row[120];
    std::snprintf(row, sizeof row, "  %10s  %10s  %12.3f  %11s\n", short_bytes(plan.cost.peak).c_str(),
                  grouped(wide(plan.cost.makespan)).c_str(), slowdown(plan), percent(gap_of(plan)).c_str());
    text += row;
  }
  return text;
}

}  // namespace

void plan_graph(std::ostream& to, asked_graph const& asked) {
  if (asked.json && asked.actions)
    throw wrong_request{"--json and --actions are ways of writing the answer; give one of them"};
  if (asked.memory.empty() && (asked.actions || !asked.svg.empty()))
    throw wrong_request{"--actions and --svg are of one plan; give --memory, too"};
  if (!asked.memory.empty() && !asked.points.empty())
    throw wrong_request{"--points are of a curve over all budgets; leave --memory out"};
  auto const graph = graph_of(asked, "plan");
  std::int64_t const all = largest(cairn::live_bytes(graph));
  cairn::graph_planner planner{graph};
  if (asked.memory.empty()) {
    auto const front = planner.pareto(points_of(asked));
    std::string text;
    for (auto const& plan : front) text.append(text.empty() ? "" : ",").append(json_of(plan, all));
    to << (asked.json ? '[' + text + "]\n"
                      : counted(wide(graph.size()), "operation") + ", store-all takes " + short_bytes(all) + '\n' +
                            curve_of(front));
    return;
  }
  auto const plan = plan_within(planner, budget_of(asked));
  if (!asked.svg.empty()) write_file(asked.svg, picture::graph_memory_svg(graph, plan.actions, asked.title));
  to << (asked.json      ? json_of(plan, all) + '\n'
         : asked.actions ? cairn::graph_words(plan.actions) + '\n'
                         : table_of(plan, graph, all));
}

void explain_graph(std::ostream& to, asked_graph const& asked) {
  auto const graph = graph_of(asked, "explain");
  auto const live = cairn::live_bytes(graph);
  auto const values = cairn::liveness_of(graph);
  std::int64_t tapes = 0, bytes = 0;
  for (auto const& of : graph.operations) tapes += of.tape_bytes, bytes += of.bytes;
  cairn::graph_planner planner{graph};
  std::int64_t const least = planner.least_budget(), all = largest(live);
  std::size_t const summit = std::size_t(std::find(live.begin(), live.end(), all) - live.begin()), n = values.size();
  std::string const number = std::to_string(summit < n ? summit : 2 * n - summit);
  to << counted(wide(n), "operation") << ": values take " << short_bytes(bytes) << " in all, tapes "
     << short_bytes(tapes) << '\n'
     << "Storing everything takes " << short_bytes(all) << ", most of it in "
     << (summit == n ? std::string{"the loss"}
                     : (summit < n ? "the run of operation " : "the adjoint of operation ") + number)
     << ".\n"
     << "The least budget for which a plan is found is " << short_bytes(least) << ".\n";
  std::vector<std::size_t> order(n);
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t v, std::size_t w) { return values[v].bytes > values[w].bytes; });
  std::erase_if(order, [&](std::size_t v) { return values[v].inactive_time == 0; });
  if (order.size() > 8) order.resize(8);
  if (order.empty()) return;
  to << "Values that lie idle, the largest first:\n   value       bytes        idle  made again in\n";
  for (std::size_t const v : order) {
    char row[120];
    std::snprintf(row, sizeof row, "  %6s  %10s  %10s  %13s\n", std::to_string(v).c_str(),
                  short_bytes(values[v].bytes).c_str(), grouped(wide(values[v].inactive_time)).c_str(),
                  grouped(wide(values[v].recompute_time)).c_str());
    to << row;
  }
}

void draw_graph(std::ostream& to, asked_graph const& asked) {
  auto const graph = graph_of(asked, "svg");
  cairn::graph_planner planner{graph};
  std::int64_t const enough = (std::max)(planner.least_budget(), largest(cairn::live_bytes(graph)));
  auto const plan = plan_within(planner, asked.memory.empty() ? enough : budget_of(asked));
  auto const picture = picture::graph_memory_svg(graph, plan.actions, asked.title);
  if (asked.svg.empty()) to << picture;
  else write_file(asked.svg, picture);
}

}  // namespace tool
