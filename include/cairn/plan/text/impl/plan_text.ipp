// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>
#include <cairn/plan/loop/planning_options.hpp>
#include <cairn/plan/text/detail/quantities.hpp>
#include <cairn/plan/text/figure_text.hpp>
#include <cairn/plan/text/plan_text.hpp>

namespace cairn {
namespace detail {

[[nodiscard]] inline std::string parameter_words(planned const& plan) {
  plan_parameters const& with = plan.with;
  std::string words;
  auto const add = [&](std::string const& more) { words += (words.empty() ? " with " : ", ") + more; };
  if (plan.by == planner::mixed) add(plural(with.units, "unit") + " (a tape takes " + digits_of(with.tape_units) + ")");
  else if (plan.by != planner::store_all)
    add(plural(wide(with.slots_said()), "slot") + (plan.by == planner::two_level ? " inside a period" : " in memory"));
  if (with.period > 0) add("a period of " + plural(wide(with.period), "step"));
  else if (slot_index const here = plan.cost.counts.on(tier::memory).peak; plan.cost.peak_slots > here)
    add("up to " + plural(wide(plan.cost.peak_slots - here), "state") + " elsewhere");
  if (with.ahead > 0) add("two threads, " + plural(wide(with.ahead), "state") + " ahead");
  if (plan.by == planner::segments) add("segments of " + plural(wide(with.leaf), "step"));
  else if (with.leaf > 1) add("leaves of " + plural(wide(with.leaf), "step"));
  return words;
}
[[nodiscard]] inline std::string named(planned const& plan) {
  return std::string{name_of(plan.by)} + (plan.with.ahead > 0 ? " on two threads" : "");
}
[[nodiscard]] inline bool is_timed(planned const& plan) { return plan.cost.seconds > 0; }

[[nodiscard]] inline std::string figures_words(planned const& plan) {
  std::string words = plural(plan.cost.step_calls + plan.cost.steps_again, "step call");
  if (plan.cost.steps_back > 0) words += " and " + plural(plan.cost.steps_back, "step") + " back";
  if (plan.cost.seconds > 0) words = seconds_text(plan.cost.seconds) + " and " + words;
  words += " in " + bytes_text(plan.cost.memory_bytes);
  wide elsewhere = 0;
  for (std::size_t k = 1; k < tier_count; ++k) elsewhere += plan.cost.tier_bytes[k];
  if (elsewhere > 0) words += ", " + bytes_text(elsewhere) + " elsewhere";
  return words;
}
/// How much more `other` takes than `plan`, as a fraction of `plan`.
[[nodiscard]] inline double excess(planned const& other, planned const& plan) {
  double const least = is_timed(plan) ? plan.cost.seconds : double(plan.cost.steps_run());
  double const more = is_timed(plan) ? other.cost.seconds : double(other.cost.steps_run());
  return least > 0 ? more / least - 1 : 0;
}
[[nodiscard]] inline std::string parts_words(sweep_parts const& parts) {
  std::string words;
  auto const add = [&](wide bytes, char const* what) {
    if (bytes > 0) words += (words.empty() ? "" : ", ") + bytes_text(bytes) + " for " + what;
  };
  add(parts.states, "states, those in work included");
  add(parts.initial, "the caller's initial state");
  add(parts.adjoints, "the adjoint");
  add(parts.tapes, "tapes");
  add(parts.terms, "states with terms");
  add(parts.params + parts.gradient, "parameters and their gradient");
  add(parts.tables(), "tables");
  return words;
}

}  // namespace detail

CAIRN_DECL std::string plan_text(planned const& plan) {
  return std::string{name_of(plan.by)} + detail::parameter_words(plan) + ": " + detail::figures_words(plan);
}

CAIRN_DECL std::string gap_text(planned const& plan) {
  bool const timed = detail::is_timed(plan);
  double const gap = timed ? plan.proof.seconds_gap() : plan.proof.step_calls_gap();
  std::string const what = timed ? "time" : "number of step calls";
  if (gap <= 0) return "No plan within the same memory has a smaller " + what + ".";
  return "That is " + percent_text(gap) + " above a bound that no plan within the same memory can go below.";
}

CAIRN_DECL std::string reason_text(advice const& given) {
  std::string const best = detail::named(given.best);
  std::string const what =
      detail::is_timed(given.best) ? "predicted to be the fastest" : "predicted to have the fewest step calls";
  if (given.runners_up.empty()) return best + " is the only plan that fits.";
  planned const& next = given.runners_up.front();
  double const more = detail::excess(next, given.best);
  if (more <= 0)
    return best + " and " + detail::named(next) + " are equally good, and " + best + " takes no more memory.";
  return best + " is " + what + ": " + detail::named(next) + ", the next one, takes " + percent_text(more) +
         " more.";
}

CAIRN_DECL std::string advice_text(advice const& given) {
  std::string text = plan_text(given.best) + "\n" + reason_text(given) + " " + gap_text(given.best) + "\n";
  for (auto const& other : given.runners_up) text += "  " + plan_text(other) + "\n";
  for (auto const& skipped : given.skipped) {
    text += std::string{"  "} + name_of(skipped.by) + ": ";
    switch (skipped.reason) {
      case skip_reason::budget:
        text +=
            skipped.least_bytes > 0 ? "needs " + detail::bytes_text(skipped.least_bytes) + " at least" : "does not fit";
        break;
      case skip_reason::table: text += "its table would be too large"; break;
      case skip_reason::work: text += "its table would take too much work"; break;
      case skip_reason::length: text += "the loop is too long to count its steps by a walk"; break;
    }
    text += "\n";
  }
  return text + slots_note + "\n";
}

CAIRN_DECL std::string explanation_text(explanation const& of) {
  std::string text = plan_text(of.plan) + "\n" + gap_text(of.plan) + "\n";
  auto const compared = [&](planned const& other) {
    double const more = detail::excess(other, of.plan);
    std::string const change = more > 0 ? percent_text(more) + " more"
                               : more < 0
                                   ? percent_text(-more) + (detail::is_timed(of.plan) ? " less" : " fewer")
                                   : "the same";
    return plan_text(other) + ", " + change + (detail::is_timed(of.plan) ? " time" : " step calls");
  };
  text += of.half ? "Half the memory: " + compared(*of.half) + "\n"
                  : "Half the memory is too little: " + detail::bytes_text(of.least_bytes) + " is the least\n";
  if (of.twice) text += "Twice the memory: " + compared(*of.twice) + "\n";
  if (of.plan.cost.remark[0] != '\0') text += std::string{"Note: "} + of.plan.cost.remark + "\n";
  return text + slots_note + "\n";
}

CAIRN_DECL std::string infeasibility_text(infeasibility const& of) {
  return "The budget is " + detail::bytes_text(of.budget) + ", and the least that any plan takes is " +
         detail::bytes_text(of.least_bytes()) + " (" + detail::plural(of.least_bytes(), "byte") +
         "): " + detail::parts_words(of.least.memory) + ".";
}

}  // namespace cairn
