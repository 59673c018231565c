// SPDX-License-Identifier: Apache-2.0
#include "explain.hpp"

#include <algorithm>
#include <limits>

#include <cairn/core/bytes.hpp>
#include <cairn/core/error.hpp>
#include <cairn/plan/loop/explain.hpp>
#include <cairn/plan/text/figure_text.hpp>
#include <cairn/plan/text/plan_text.hpp>
#include <cairn/schedule/binomial.hpp>

#include "answer.hpp"
#include "deadline_timer.hpp"
#include "numbers.hpp"
#include "scaled.hpp"
#include "what_it_does.hpp"
#include "wrong_request.hpp"

namespace tool {
namespace {

using cairn::slot_index;
using cairn::step_index;
using cairn::wide;

std::string bytes(cairn::cost const& cost) {
  return std::string{cost.peak_is_exact ? "" : "at most "} + grouped(cost.memory_bytes) + " bytes (" +
         cairn::to_short_text(cost.memory_bytes).c_str() + ")";
}

std::string calls(planned const& found) {
  auto const& disk = found.counts.on(cairn::tier::disk);
  return (found.cost ? "cost " + grouped_cost(*found.cost) + ", " : "") + counted(found.step_calls(), "step call") +
         ", " + fixed(found.per_step()) + " a step" +
         (disk.saves + disk.loads > 0
              ? ", " + counted(disk.saves, "write") + " and " + counted(disk.loads, "read") + " on disk"
              : "") +
         (found.sizes ? ", " + bytes(*found.sizes) : "");
}

/// beta(s, t) of Griewank & Walther 2000: the longest loop that s slots can reverse if no step is run more than t times
/// without recording.
std::string beta(slot_index slots, step_index times) {
  constexpr auto most = std::numeric_limits<step_index>::max();
  std::string const name = "beta(" + grouped(wide(slots)) + ", " + grouped(wide(times)) + ")";
  auto const value = cairn::capped_beta(slots, times, most);
  return name + (value < most ? " = " + grouped(wide(value)) : " >= 2^63-1");
}

/// The fewest advances possible, compared with the plan; for plans that keep only states.
std::string least_advances(planned const& found) {
  bool const leaves = found.kind == &revolve_kind() && found.asked.block;
  step_index const count = leaves ? *found.blocks : found.plan.steps();
  if (count < 2) return "";
  char const* const unit = leaves ? "leaf run" : "step";
  slot_index const slots = std::max<slot_index>(1, found.most_kept());
  step_index const t = cairn::repetitions(count, slots);
  wide const least = cairn::fewest_advances(count, slots);
  std::string text = "With " + counted(wide(slots), "slot") + " and no " + (leaves ? "leaf" : "step") +
                     " run more than t times unrecorded, the longest loop that can be reversed has\n"
                     "beta(s, t) = (s + t)! / (s! t!) " +
                     unit + "s: " + beta(slots, t - 1) + " is too short for " + counted(wide(count), unit) + ", " +
                     beta(slots, t) + " is not.\nSo the least repetition number is " + grouped(wide(t)) +
                     ", and the fewest advances are t n - beta(s + 1, t - 1) = " + grouped(least) +
                     " (Griewank & Walther 2000).\n";
  if (found.kind == &revolve_kind())
    return text + "This plan takes as many: with these slots none is cheaper.\n";
  if (found.counts.advances == least)
    return text + "This plan takes as many: with this many states kept none is cheaper.\n";
  return text + "This plan takes " + grouped(found.counts.advances) + ", " +
         fixed(double(found.counts.advances) / double(least)) + " times as many; schedule revolve takes the fewest.\n";
}

std::string lower_bound(planned const& found) {
  if (!found.records()) return least_advances(found);
  wide const n = wide(found.plan.steps());
  if (n < 2) return "";
  return "Every step is run once at least to be recorded: " + counted(n, "step call") + ". This plan takes " +
         grouped(found.step_calls()) + ", " + fixed(found.per_step()) + " times as many.\n";
}

std::string not_planned(deadline_timer const& deadline) {
  return "not planned, " + deadline.text() + " for all plans.\n";
}

/// The cost of another plan, or why there is none.
std::string cost_of(request const& asked) {
  try {
    return calls(plan_of(asked)) + ".\n";
  } catch (out_of_time const&) {
    return not_planned(*asked.deadline);
  } catch (cairn::overflow_error const&) {
    return "more bytes than can be counted.\n";
  } catch (cairn::invalid_plan const&) {
    return "too few, it needs " + least_amount(asked) + ".\n";
  } catch (cairn::invalid_schedule const&) { return "none.\n"; }
}

std::string alternative(std::string const& name, request const& asked) {
  return name + asked.schedule().name + " with " + asked.schedule().amount(asked) + ": " + cost_of(asked);
}

/// For a plan that keeps everything in memory: its distance from the least possible cost within its bytes, and the best
/// plans with half and with twice as many bytes.
std::string what_the_memory_could_do(planned const& found) {
  auto work = workload_of(found.asked);
  work.steps = found.plan.steps();
  work.tapes_restart = found.plan.tapes_restart();
  cairn::planned const plan{found.plan, {}, {}, *found.sizes, {}, {}};
  auto const told = cairn::explain(plan, work, {.limit = found.asked.deadline->limit()});
  auto const& proof = told.plan.proof;
  std::string text = "Within " + bytes(*found.sizes) + " no plan takes fewer than " +
                     counted(proof.least_step_calls, "step call") + "; this one takes " +
                     cairn::percent_text(std::max(0.0, proof.step_calls_gap())) + " more.\n";
  std::string const least = cairn::to_short_text(told.least_bytes).c_str();
  text +=
      "Half the memory: " + (told.half ? cairn::plan_text(*told.half) : "too little, the least is " + least) + ".\n";
  if (told.twice) text += "Twice the memory: " + cairn::plan_text(*told.twice) + ".\n";
  return text;
}
std::string of_the_memory(planned const& found) {
  if (!found.sizes || found.cost || found.plan.steps() < 2 || found.sizes->stored_bytes > found.sizes->tier_bytes[0])
    return "";
  std::string const head = "\nWhat the memory could do\n";
  try {
    return head + what_the_memory_could_do(found);
  } catch (out_of_time const&) {
    return head + "The best plans of half and of twice as much: " + not_planned(*found.asked.deadline);
  }
}

}  // namespace

std::string explanation(request const& asked) {
  deadline_timer deadline{asked.time_limit.value_or(usual_time_limit)};
  request timed = asked;
  timed.deadline = &deadline;
  planned const found = plan_of(timed);
  std::string text = title(found) + '\n' + note(found) + "\nWhat it does\n" + what_it_does(found) +
                     "\nWhat it costs\n" + calls(found) + ".\nStoring every state: " + cost_of(storing_all(found));
  if (found.repetition_number)
    text += "No step is run more than " + counted(wide(*found.repetition_number), "time") + " unrecorded.\n";
  if (auto const bound = lower_bound(found); !bound.empty()) text += "\nWhat is the least\n" + bound;
  text += of_the_memory(found);
  if (found.kind == &list_kind()) return text + '\n' + slots_line(found);
  std::string const unit = found.asked.units ? "units" : "slots";
  text += "\nOther numbers of " + unit + '\n' + alternative("Half the " + unit + ": ", scaled(found, scale::half));
  if (found.kind != &store_all_kind())
    text += alternative("Twice the " + unit + ": ", scaled(found, scale::twice));
  return text + alternative("The fewest " + unit + ": ", scaled(found, scale::least)) + '\n' + slots_line(found);
}

}  // namespace tool
