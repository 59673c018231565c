// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>
#include <string>
#include <vector>
#include <cairn/plan/text/detail/aligned.hpp>
#include <cairn/plan/text/detail/planned_words.hpp>
#include <cairn/plan/text/detail/quantities.hpp>
#include <cairn/plan/text/pareto_text.hpp>
#include <cairn/plan/text/plan_text.hpp>

namespace cairn {

CAIRN_DECL std::string pareto_csv(std::vector<planned> const& front) {
  std::string text = "bytes,seconds,step_calls,least_step_calls,schedule,slots,far_bytes,leaf,period,units\n";
  for (auto const& plan : front) {
    wide elsewhere = 0;
    for (std::size_t k = 1; k < tier_count; ++k) elsewhere += plan.cost.tier_bytes[k];
    text += detail::digits_of(plan.cost.memory_bytes) + "," + detail::exact_text(plan.cost.seconds) + "," +
            detail::digits_of(plan.cost.step_calls) + "," + detail::digits_of(plan.proof.least_step_calls) + "," +
            name_of(plan.by) + "," + detail::digits_of(wide(plan.with.slots_said())) + "," +
            detail::digits_of(elsewhere) + "," + detail::digits_of(wide(plan.with.leaf)) + "," +
            detail::digits_of(wide(plan.with.period)) + "," + detail::digits_of(plan.with.units) + "\n";
  }
  return text;
}

CAIRN_DECL std::string pareto_text(std::vector<planned> const& front) {
  std::vector<std::vector<std::string>> rows{{"memory", "time", "calls/step", "plan"}};
  for (auto const& plan : front)
    rows.push_back({detail::bytes_text(plan.cost.memory_bytes),
                    detail::is_timed(plan) ? seconds_text(plan.cost.seconds) : "-",
                    number_text(plan.cost.forward_evaluations_per_step),
                    name_of(plan.by) + detail::parameter_words(plan)});
  return detail::aligned(rows);
}

}  // namespace cairn
