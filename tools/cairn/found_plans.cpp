// SPDX-License-Identifier: Apache-2.0
#include "found_plans.hpp"

#include <cstddef>

#include <cairn/plan/text/plan_text.hpp>

#include "front_text.hpp"
#include "members.hpp"

namespace tool {
namespace {

using cairn::wide;

std::string plan_json(cairn::planned const& plan) {
  auto const& cost = plan.cost;
  auto const& with = plan.with;
  auto const& disk = cost.counts.on(cairn::tier::disk);
  members all;
  all.add("schedule", '"' + std::string{cairn::name_of(plan.by)} + '"');
  all.add("steps", wide(cost.steps));
  all.add("slots", wide(with.slots_said()));
  all.add("leaf", wide(with.leaf));
  all.add("period", with.period > 0 ? json_number(wide(with.period)) : "null");
  all.add("units", with.units > 0 ? json_number(with.units) : "null");
  all.add("tape_units", with.units > 0 ? json_number(with.tape_units) : "null");
  if (with.ahead > 0) all.add("ahead", wide(with.ahead));
  all.add("initial", std::string{with.free_initial ? "\"pinned_free\"" : "\"releasable\""});
  all.add("step_calls", cost.step_calls);
  if (cost.steps_back > 0) {
    all.add("steps_again", cost.steps_again);
    all.add("steps_back", cost.steps_back);
  }
  all.add("advances", cost.advances);
  all.add("recorded", cost.counts.recorded);
  all.add("forward_steps", cost.forward_steps);
  all.add("disk_writes", disk.saves);
  all.add("disk_reads", disk.loads);
  all.add("seconds", json_number(cost.seconds));
  all.add("memory_bytes", cost.memory_bytes);
  all.add("disk_bytes", cost.tier_bytes[std::size_t(cairn::tier::disk)]);
  all.add("least_step_calls", plan.proof.least_step_calls);
  all.add("least_seconds", json_number(plan.proof.least_seconds));
  all.add("least_bytes", plan.proof.least_bytes);
  return '{' + all.take() + '}';
}

char const* word_of(cairn::skip_reason reason) noexcept {
  switch (reason) {
    case cairn::skip_reason::budget: return "budget";
    case cairn::skip_reason::table: return "table";
    case cairn::skip_reason::work: return "work";
    case cairn::skip_reason::length: break;
  }
  return "length";
}
std::string reason_of(cairn::skipped_planner const& skipped) {
  switch (skipped.reason) {
    case cairn::skip_reason::budget:
      return skipped.least_bytes > 0
                 ? "needs " + std::string{cairn::to_short_text(skipped.least_bytes).c_str()} + " at least"
                 : "does not fit";
    case cairn::skip_reason::table: return "its table would be too large";
    case cairn::skip_reason::work: return "its table would take too much work";
    case cairn::skip_reason::length: break;
  }
  return "the loop is too long to walk";
}

}  // namespace

std::string advice_table(cairn::advice const& advice) {
  std::vector<cairn::planned> rows{advice.best};
  rows.insert(rows.end(), advice.runners_up.begin(), advice.runners_up.end());
  std::string text =
      pareto_table(rows) + '\n' + cairn::reason_text(advice) + '\n' + cairn::gap_text(advice.best) + '\n';
  for (auto const& skipped : advice.skipped)
    text += std::string{"Left out: "} + cairn::name_of(skipped.by) + ", " + reason_of(skipped) + ".\n";
  return text + cairn::slots_note + '\n';
}

std::string advice_json(cairn::advice const& advice) {
  std::string skipped;
  for (auto const& one : advice.skipped) {
    members all;
    all.add("schedule", '"' + std::string{cairn::name_of(one.by)} + '"');
    all.add("reason", '"' + std::string{word_of(one.reason)} + '"');
    all.add("least_bytes", one.least_bytes > 0 ? json_number(one.least_bytes) : "null");
    skipped.append(skipped.empty() ? "{" : ",{").append(all.take()).append(1, '}');
  }
  return "{\"best\":" + plan_json(advice.best) + ",\"runners_up\":" + plans_json(advice.runners_up) + ",\"skipped\":[" +
         skipped + "]}";
}

std::string plans_json(std::vector<cairn::planned> const& plans) {
  std::string text;
  for (auto const& plan : plans) text.append(text.empty() ? "" : ",").append(plan_json(plan));
  return '[' + text + ']';
}

}  // namespace tool
