// SPDX-License-Identifier: Apache-2.0
#include "chain_answer.hpp"

#include <cstdio>
#include <string_view>
#include <utility>

#include <cairn/core/bytes.hpp>
#include <cairn/plan/text/chain_text.hpp>
#include <cairn/plan/text/chain_words.hpp>
#include <cairn/plan/text/figure_text.hpp>

#include "members.hpp"
#include "numbers.hpp"
#include "wrong_request.hpp"

namespace tool {

using cairn::wide;

namespace {

[[nodiscard]] cairn::chain_options limited(cairn::chain_options options, deadline_timer& deadline) {
  options.limit = deadline.soft_limit();
  return options;
}

}  // namespace

chain_desk::chain_desk(cairn::chain work, asked_chain const& asked)
    : memory_{asked.memory},
      time_{asked.time},
      own_deadline_{asked.time_limit.value_or(usual_time_limit)},
      deadline_{asked.deadline ? *asked.deadline : own_deadline_},
      planner_{std::move(work), limited(asked.options, deadline_)} {}

/// Turns the exception for too much work into the tool's message that the time is over.
template <class Work>
auto chain_desk::in_time(Work const& work) {
  try {
    return work();
  } catch (cairn::too_much_work const& problem) {
    if (!deadline_.is_over()) throw;
    std::string_view const last = problem.value(problem.value_count() - 1).name;
    auto const number = digits(problem.value(problem.value_count() - 1).magnitude);
    throw wrong_request{
        deadline_.text() +
        (last == "bytes that do" ? ", and to find the least memory takes longer; give more time, or " + number +
                                       " B beside state 0, which do"
         : last == "time of the fastest found"
             ? ", and to find a plan so fast takes longer; give more, or the time of the fastest found, " + number
             : ", and this plan takes longer; give more, fewer slots or another planner")};
  }
}

cairn::chain_plan chain_desk::plan() {
  return in_time([this] { return time_ ? planner_.min_memory(*time_) : planner_.plan(*memory_); });
}

std::vector<cairn::chain_plan> chain_desk::pareto(std::size_t most_points) {
  return in_time([=, this] { return planner_.pareto(most_points); });
}

std::optional<cairn::chain_infeasibility> chain_desk::why_infeasible() {
  return in_time([this] { return memory_ ? planner_.why_infeasible(*memory_) : std::nullopt; });
}

std::string chain_desk::json_members(cairn::chain_plan const& plan) const {
  auto const quoted_name = [](char const* name) { return '"' + std::string{name} + '"'; };
  members all;
  all.add("planner", quoted_name(name_of(plan.by)));
  all.add("stages", wide(work().stages()));
  all.add("budget", wide(plan.budget));
  all.add("peak", wide(plan.cost.peak));
  all.add("initial_bytes", wide(initial_bytes()));
  all.add("makespan", wide(plan.cost.makespan));
  all.add("extra_forward", wide(plan.cost.extra_forward));
  all.add("stage_runs", wide(plan.cost.stage_runs));
  all.add("no_checkpoint_makespan", wide(planner_.store_all_time()));
  all.add("store_all_peak", wide(planner_.store_all_peak()));
  all.add("lower_bound_time", wide(plan.proof.lower_bound_time));
  all.add("lower_bound_peak", wide(plan.proof.lower_bound_peak));
  all.add("bound", quoted_name(name_of(plan.bound_class())));
  all.add("bound_time", wide(plan.bound()));
  all.add("gap", json_number(plan.gap()));
  all.add("exact", std::string{plan.exact() ? "true" : "false"});
  all.add("plan", '"' + cairn::chain_words(plan.actions) + '"');
  return all.take();
}

std::string chain_desk::table(cairn::chain_plan const& plan) const {
  auto const& cost = plan.cost;
  std::string text = std::string{name_of(plan.by)} + ", " + counted(wide(work().stages()), "stage") + '\n';
  auto const line = [&](char const* name, std::string const& value, std::string const& note = "") {
    char row[200];
    std::snprintf(row, sizeof row, "  %-20s %26s  %s", name, value.c_str(), note.c_str());
    text.append(row);
    text.erase(text.find_last_not_of(' ') + 1) += '\n';
  };
  auto const bytes = [&](char const* name, std::int64_t count) {
    line(name, grouped(wide(count)) + " B", cairn::to_short_text(wide(count)).c_str());
  };
  bytes("memory", cost.peak + initial_bytes());
  if (initial_bytes() > 0) bytes("of these, state 0", initial_bytes());
  line("makespan", grouped(wide(cost.makespan)),
       fixed(plan.slowdown()) + " times store-all's " + grouped(wide(planner_.store_all_time())));
  line("run again", grouped(wide(cost.extra_forward)), "time of stages that are run more than once");
  line("stage runs", grouped(wide(cost.stage_runs)), "of " + counted(wide(work().stages()), "stage"));
  bytes("store-all's memory", planner_.store_all_peak() + initial_bytes());
  bytes("least of any kind", plan.proof.lower_bound_peak + initial_bytes());
  line("fastest of any kind", grouped(wide(plan.proof.lower_bound_time)), "at least, within this budget");
  line("gap", cairn::percent_text(plan.gap()), cairn::chain_gap_text(plan));
  return text;
}

std::string chain_desk::pareto_table(std::vector<cairn::chain_plan> const& front) const {
  return cairn::chain_pareto_text(front, initial_bytes());
}

std::string chain_desk::pareto_json(std::vector<cairn::chain_plan> const& front) const {
  std::string text;
  for (auto const& plan : front)
    text.append(text.empty() ? "{" : ",{")
        .append(json_members(plan))
        .append(",\"left_out\":")
        .append(json_number(wide(plan.left_out)))
        .append(1, '}');
  return '[' + text + ']';
}

}  // namespace tool
